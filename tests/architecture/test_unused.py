"""Nothing stands in the product that the product does not use, and the look for it bites."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator

import pytest

from tests.architecture.source import SRC, Module, parse
from tests.architecture.unused import unused
from tests.support.tree import ROOT

# Alembic asks each migration for these.
MIGRATIONS = f"{SRC}/daemon/store/migrations/versions/"
OF_ALEMBIC = frozenset({"revision", "down_revision", "branch_labels", "depends_on", "upgrade", "downgrade"})
# The record of a run is for people and their tools too: one that decides on what it read needs this door.
KEPT = frozenset({f"{SRC}/runner/state.py:merge_state"})


def commands() -> Iterator[str]:
    """What an installation makes commands of."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    for target in project["scripts"].values():
        module, name = target.split(":")
        yield f"src/{module.replace('.', '/')}.py:{name}"


def test_every_name_at_the_top_of_a_module_is_used_by_the_product(checkout: list[Module]) -> None:
    found = unused([module for module in checkout if module.is_in("src/")])
    named = {
        f"{each.path}:{each.name}": f"{each.path}:{each.line}: nothing in src uses {each.name}"
        for each in found
        if not (each.path.startswith(MIGRATIONS) and each.name in OF_ALEMBIC)
    }
    assert [words for name, words in named.items() if name not in {*commands(), *KEPT}] == []
    assert named.keys() >= KEPT, "an exception that is needed no longer"


@pytest.mark.parametrize(
    "text",
    [
        "def spare():\n    pass",
        "SPARE = 1",
        "SPARE: int = 1",
        "class Spare:\n    pass",
        "def spare():\n    spare()",
        "__all__ = ['SPARE']\nSPARE = 1",
    ],
)
def test_a_name_that_nothing_uses_is_found(text: str) -> None:
    (found,) = unused([parse("src/x.py", text), parse("src/y.py", "z = 1\nz")])
    assert re.fullmatch("spare", found.name, re.IGNORECASE)


def test_a_private_name_is_not_used_by_another_module_that_has_the_same() -> None:
    mine, other = parse("src/x.py", "_at = 1"), parse("src/y.py", "def f(x):\n    return x._at\nf")
    assert [each.path for each in unused([mine, other])] == ["src/x.py"]


@pytest.mark.parametrize(
    "text",
    ["from x import NAME", "import x\nx.NAME", "def f(x):\n    return x.NAME\nf"],
)
def test_a_name_that_another_module_takes_is_used(text: str) -> None:
    assert unused([parse("src/x.py", "NAME = 1"), parse("src/y.py", text)]) == []


def test_what_a_decorator_is_handed_is_used() -> None:
    assert unused([parse("src/x.py", "import a\n@a.handler\ndef f():\n    pass")]) == []
