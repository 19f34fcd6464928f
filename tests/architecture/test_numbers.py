"""How much is tried is said in documents in figures: they are those of the constants that tests go by."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.crash.test_every_step import LEAST_KILLS
from tests.crash.test_power_cut import CUTS_PER_PART, PARTS
from tests.fuzz.seeds import COUNT, FIXED_PARTS, FRESH_PARTS, WILDCARDS
from tests.simulation.test_seeds import FEW, MANY
from tests.simulation.test_week import WEEKS
from tests.support.tree import ROOT

_CORPUS = ("commands.jsonl", "variants.jsonl", "fresh.jsonl")
_LINES, _FRESH, _WILDCARDS = COUNT * (FIXED_PARTS + FRESH_PARTS), COUNT * FRESH_PARTS, 2 * WILDCARDS
_ADR = "docs/decisions/0110-an-own-strict-lexer-for-command-lines.md"
_TABLES = "docs/decisions/0111-programs-are-judged-by-what-they-may-not-by-what-they-must-not.md"
_SAID = (
    ("docs/reliability.md", f"| {FEW:,} seeds, with every test run |"),
    ("docs/reliability.md", f"| {MANY:,} seeds and all mutants that show themselves soon, as CI does |"),
    ("docs/reliability.md", f"CI plays {WEEKS:,} such weeks"),
    ("docs/reliability.md", f"there are at least {LEAST_KILLS:,} kills"),
    ("docs/reliability.md", f"a daemon on {PARTS * CUTS_PER_PART:,} disks that a fixed seed picks"),
    ("docs/security.md", f"{_LINES:,} random lines in each run of CI"),
    (
        "docs/security.md",
        f"{_WILDCARDS:,} random wildcards; {_FRESH:,} of the lines and half",
    ),
    (_ADR, f"CI tries {_LINES:,} lines"),
    (_ADR, f"{_FRESH:,} of them are others every day"),
    (_ADR, f"{_WILDCARDS:,} random wildcards"),
)


@pytest.mark.parametrize(("page", "words"), _SAID)
def test_a_page_says_how_much_is_tried(page: str, words: str) -> None:
    assert words in _text(page)


@pytest.mark.parametrize("page", ["docs/security.md", _TABLES])
def test_a_page_says_how_many_uses_are_labelled_to_the_last_full_thousand(page: str) -> None:
    folder = ROOT / "tests" / "guard_corpus"
    number = sum(len((folder / name).read_text(encoding="utf-8").splitlines()) for name in _CORPUS)
    (said,) = re.findall(r"ore than ([0-9,]+) labelled uses", _text(page))
    assert int(said.replace(",", "")) == number // 1000 * 1000


def _text(page: str) -> str:
    return " ".join(Path(ROOT / page).read_text(encoding="utf-8").split())
