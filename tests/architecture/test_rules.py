"""The source keeps the house rules, and each rule is shown to bite."""

from __future__ import annotations

import pytest

from tests.architecture.rules import commands, hints, places, prompts, size, state, tests
from tests.architecture.source import Module, Rule, parse

RULES = [
    *size.RULES,
    *state.RULES,
    *places.RULES,
    *commands.RULES,
    *prompts.RULES,
    *hints.RULES,
    *tests.RULES,
]


def examples(kind: str) -> list[object]:
    return [
        pytest.param(rule, path, text, id=f"{rule.name}-{position}")
        for rule in RULES
        for position, (path, text) in enumerate(rule.bad if kind == "bad" else rule.good)
    ]


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.name)
def test_the_checkout_keeps_the_rule(rule: Rule, checkout: list[Module]) -> None:
    found = [
        f"{module.path}:{breach.line}: {breach.what}"
        for module in checkout
        for breach in rule.breaches(module)
    ]
    assert not found, f"{rule.name}:\n" + "\n".join(found)


@pytest.mark.parametrize(("rule", "path", "text"), examples("bad"))
def test_the_rule_refuses_its_bad_example(rule: Rule, path: str, text: str) -> None:
    assert rule.breaches(parse(path, text))


@pytest.mark.parametrize(("rule", "path", "text"), examples("good"))
def test_the_rule_accepts_its_good_example(rule: Rule, path: str, text: str) -> None:
    assert not rule.breaches(parse(path, text))


def test_every_rule_comes_with_a_bad_example() -> None:
    assert all(rule.bad for rule in RULES)
    assert len({rule.name for rule in RULES}) == len(RULES)
