"""An answer does not depend on the company a command is in, or on how its words are written down."""

from __future__ import annotations

import random
from collections.abc import Mapping
from typing import Any

import pytest

from autopilot.runner.guard.grammar import Simple, Word
from autopilot.runner.guard.judge import Guard
from autopilot.runner.guard.lexer import parse
from autopilot.runner.guard.verdict import Decision, GuardRequest, Refused
from tests.eval.guard import CORPUS, context_of, rows_of
from tests.fuzz.strings import in_other_words

COMPANY = (
    "true && {}", "true; {}", "true || {}", "ls | {}", "echo 'a;b' && {}",
    "ls # note\n{}", "cat <<'X'\ngit\nX\n{}",
    "{}\nls", "{}; true", "{} && ls", "{} 2>&1", "{} 2>/dev/null", "{} > out.txt", "{} | cat", "{} || true",
    "CI=1 {}", "timeout 60 {}", "  {}", "{} # note",
)  # fmt: skip
BEFORE = (
    "true && {}", "true; {}", "ls\n{}", "ls # note\n{}", "echo 'a;b' && {}", "  {}", "\n\n{}",
    "cat <<'X'\ngit\nX\n{}",
)  # fmt: skip
# What could be finished by the company.
UNFINISHED = frozenset({"no-command", "quote-open", "escape", "heredoc-open"})


def lines(expected: str) -> list[Mapping[str, Any]]:
    rows = [*rows_of(CORPUS / "commands.jsonl"), *rows_of(CORPUS / "variants.jsonl")]
    return [row for row in rows if row["tool"] == "Bash" and row["expected"] == expected]


def decide(row: Mapping[str, Any], command: str, guard: Guard) -> Decision:
    context = row.get("context", {})
    written = frozenset(context.get("written_by_run", ()))
    return guard.decide(GuardRequest("Bash", {"command": command}, context.get("cwd"), written))


def allowed(row: Mapping[str, Any], command: str, guard: Guard) -> bool:
    return decide(row, command, guard).allowed


@pytest.fixture
def chance() -> random.Random:
    return random.Random(20261201)  # noqa: S311 - chance that can be replayed is the point


@pytest.fixture(scope="module")
def guard() -> Guard:
    return Guard(context_of({}))


@pytest.mark.covers("H02", "H14")
def test_what_is_refused_alone_is_refused_in_any_company(guard: Guard, chance: random.Random) -> None:
    for row in lines("deny"):
        if decide(row, row["command"], guard).code in UNFINISHED:
            continue
        for frame in chance.sample(COMPANY, 3):
            command = frame.replace("{}", row["command"])
            assert not allowed(row, command, guard), command


def test_what_is_allowed_alone_is_allowed_behind_something_harmless(
    guard: Guard, chance: random.Random
) -> None:
    for row in lines("allow"):
        command = chance.choice(BEFORE).replace("{}", row["command"])
        assert allowed(row, command, guard), command


def test_other_quotes_change_no_answer(guard: Guard, chance: random.Random) -> None:
    for expected in ("deny", "allow"):
        for row in lines(expected):
            try:
                commands = parse(row["command"])
            except Refused:
                continue
            command = "".join(spelled(one, chance) for one in commands)
            assert allowed(row, command, guard) is (expected == "allow"), (row["command"], command)


def spelled(command: Simple, chance: random.Random) -> str:
    """Write a command down again, its words in other quotes, its wildcards as they were."""
    words = [f"{name}={in_other_words(chance, value)}" for name, value in command.assignments]
    words += [word_again(word, chance) for word in command.argv]
    words += [
        f"{redirect.kind} {in_other_words(chance, redirect.target.text)}" for redirect in command.redirects
    ]
    text = " ".join(words)
    if command.heredoc is not None:
        joint = "" if command.after == "\n" else command.after
        return f"{text} <<'SPELLED' {joint}\n{command.heredoc}SPELLED\n"
    return f"{text} {command.after} "


def word_again(word: Word, chance: random.Random) -> str:
    if word.is_computed:
        return '"$?"'
    if word.pattern is None:
        return in_other_words(chance, word.text)
    escaped = ("\\" + char if char in " '\"\\$`(){};&|<>#~!\n" else char for char in word.text)
    return "".join(escaped)
