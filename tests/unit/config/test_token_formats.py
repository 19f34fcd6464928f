"""One table: what stops a publication, a log and a child go without, and an agent may not write."""

from __future__ import annotations

import json
import re
from importlib import resources
from pathlib import Path

import pytest

from autopilot.config import environ
from autopilot.config.detector import find, rules
from autopilot.config.redactor import Redactor
from autopilot.config.tokens import BEGINNINGS, holds_secret, redact
from autopilot.schemas.token_formats import TOKEN_FORMATS, TokenFormat
from tests.support.token_examples import token_examples

CASES = [
    pytest.param(each, token, id=f"{each.name}-{number}")
    for each in TOKEN_FORMATS
    for number, token in enumerate(token_examples().get(each.name, ()))
]


def samples() -> list[tuple[str, str]]:
    """Give each made-up secret with the text that it stands in."""
    lines = resources.files(__package__).joinpath("secret_samples.jsonl").read_text("utf-8").splitlines()
    rows = [json.loads(line) for line in lines]
    return [
        (
            row["kind"],
            "".join(row["text_parts"]).strip() if len(row["text_parts"]) > 1 else "".join(row["path_parts"]),
        )
        for row in rows
        if row["label"] == "secret"
    ]


def test_every_format_has_examples_and_a_name_of_its_own() -> None:
    names = [each.name for each in TOKEN_FORMATS]
    assert len(set(names)) == len(names)
    assert set(token_examples()) == set(names)


@pytest.mark.parametrize(
    "each", [each for each in TOKEN_FORMATS if each.beginnings], ids=lambda each: each.name
)
def test_each_beginning_that_a_format_names_is_one(each: TokenFormat) -> None:
    begins = {
        start for start in each.beginnings for token in token_examples()[each.name] if token.startswith(start)
    }
    pattern = re.compile(each.loose_pattern)
    for start in set(each.beginnings) - begins:
        like = next(token for token in token_examples()[each.name] if not token.startswith("github"))
        other = next(known for known in each.beginnings if like.startswith(known))
        assert pattern.fullmatch(start + like.removeprefix(other)), start


@pytest.mark.covers("I20", "N10")
@pytest.mark.parametrize(("each", "token"), CASES)
def test_what_stops_a_publication_reaches_no_child(each: TokenFormat, token: str) -> None:
    assert each.name in {hit.rule for hit in find(f"x = {token}\n".encode())}
    for value in (token, f"before {token} after", f"https://x.invalid/?q={token}"):
        assert holds_secret(value)
        assert environ.refusal("GOPROXY", value) == "holds what looks like a credential"
        assert "GOPROXY" not in environ.child_environment(
            {"GOPROXY": value}, home=Path("/private"), passed=["GOPROXY"]
        )


@pytest.mark.parametrize(("each", "token"), [case for case in CASES if case.values[0].beginnings])  # type: ignore[union-attr]
def test_what_stops_a_publication_reaches_no_log(each: TokenFormat, token: str) -> None:
    assert any(token.startswith(start) for start in BEGINNINGS)
    assert redact(f"before {token} after") == "before *** after"
    for at in range(1, len(token)):
        stream = Redactor()
        whole = f"before {token} after\n".encode()
        said = stream.feed(whole[: 7 + at]) + stream.feed(whole[7 + at :]) + stream.end()
        assert said == b"before *** after\n", (each.name, at)


@pytest.mark.parametrize(("kind", "text"), samples())
def test_no_rule_of_publishing_is_unknown_where_children_are_made(kind: str, text: str) -> None:
    if find(text.encode()):
        assert environ.refusal("GOPROXY", text), kind


def test_every_rule_has_been_seen_to_find_something() -> None:
    seen = {hit.rule for _, text in samples() for hit in find(text.encode())}
    seen |= {each.name for each in TOKEN_FORMATS}
    assert {rule.name for rule in rules()} == seen
