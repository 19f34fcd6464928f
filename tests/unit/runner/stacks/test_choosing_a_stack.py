from __future__ import annotations

import json
from typing import Any

import pytest

from autopilot.runner.stacks.registry import STACKS, choose
from autopilot.schemas.errors import ConfigError
from autopilot.schemas.policy import Policy
from tests.support.memory_tree import memory_tree

PYTHON = {"pyproject.toml": "", "tests/test_a.py": "import unittest\n"}
NODE = {"package.json": json.dumps({"scripts": {"test": "node --test"}})}


def policy(**values: Any) -> Policy:  # noqa: ANN401  any TOML value
    return Policy.model_validate(values)


def refusal(files: dict[str, str], **values: Any) -> ConfigError:  # noqa: ANN401  any TOML value
    with pytest.raises(ConfigError) as caught:
        choose(memory_tree(files), policy(**values))
    return caught.value


@pytest.mark.covers("K01")
@pytest.mark.parametrize(
    ("files", "expected"),
    [
        (PYTHON, "python"),
        ({"a.py": "", "tests/test_a.py": ""}, "python"),
        ({"requirements.txt": ""}, "python"),
        (NODE, "backend-node"),
        ({**NODE, "requirements.txt": ""}, "backend-node"),
        ({**PYTHON, "package.json": "{}"}, "python"),
    ],
)
def test_the_kind_that_knows_the_base_best_is_chosen(files: dict[str, str], expected: str) -> None:
    assert choose(memory_tree(files), policy()).name == expected


def test_a_base_that_is_two_kinds_alike_needs_the_word_of_its_policy() -> None:
    both = {**PYTHON, **NODE}
    fault = refusal(both)
    assert fault.code == "ambiguous-stack"
    assert 'stack = "python"' in fault.hint
    for name in ("python", "backend-node"):
        assert choose(memory_tree(both), policy(stack=name)).name == name


@pytest.mark.covers("K01")
@pytest.mark.parametrize("files", [{}, {"README.md": ""}, {"main.go": ""}, {"a.py": ""}])
def test_a_base_that_no_adapter_knows_runs_on_its_own_commands_or_not_at_all(files: dict[str, str]) -> None:
    assert refusal(files).code == "no-test-command"
    commands = {"test": ["make", "check"]}
    assert refusal(files, commands=commands).code == "no-report"
    assert choose(memory_tree(files), policy(commands=commands, report="out/*.xml")).name == "unknown"
    assert choose(memory_tree(files), policy(commands={"test": ["x", "--junit={report}"]})).name == "unknown"


@pytest.mark.parametrize("pattern", ["/tmp/x.xml", "../x.xml", "a/../../x.xml", "", "out/**.xml", "a\x01b"])
def test_a_report_outside_the_repository_is_refused(pattern: str) -> None:
    assert refusal({}, commands={"test": ["x"]}, report=pattern).code in {"bad-report", "no-report"}


def test_a_stack_that_does_not_exist_is_refused_with_the_nearest_name() -> None:
    fault = refusal(PYTHON, stack="pyton")
    assert (fault.code, fault.hint) == ("unknown-stack", "did you mean python?")
    assert "backend-node" in refusal(PYTHON, stack="cobol").hint


@pytest.mark.parametrize("argv", [["make", "check"], ["tox"], ["./run-tests.sh"]])
def test_a_test_command_that_leaves_no_report_is_refused_before_anybody_is_paid(argv: list[str]) -> None:
    assert refusal(PYTHON, commands={"test": argv}).code == "no-report"
    assert refusal(NODE, commands={"test": argv}).code == "no-report"


@pytest.mark.parametrize(
    "argv", [["pytest"], ["uv", "run", "pytest", "-x"], ["python3", "-m", "unittest"], ["/usr/bin/py.test"]]
)
def test_a_test_command_whose_reporter_we_know_needs_no_report(argv: list[str]) -> None:
    assert choose(memory_tree(PYTHON), policy(commands={"test": argv})).name == "python"


def test_a_node_project_whose_tests_give_no_report_is_refused_with_an_example() -> None:
    fault = refusal({"package.json": json.dumps({"scripts": {"test": "jest"}})})
    assert fault.code == "no-test-command"
    assert "jest" in fault.what
    assert "{report}" in fault.hint


def test_every_adapter_has_a_name_of_its_own_and_the_fallback_claims_nothing() -> None:
    assert len({stack.name for stack in STACKS}) == len(STACKS)
    assert [stack.name for stack in STACKS if stack.weight(memory_tree({**PYTHON, **NODE})) == 0] == [
        "unknown"
    ]
