"""The lines that `init` shows for `.autopilot.toml` are lines that autopilot would accept."""

from __future__ import annotations

import tomllib

import pytest

from autopilot.daemon import policy_example
from autopilot.runner.stacks import custom
from autopilot.schemas.errors import ConfigError
from autopilot.schemas.policy import Policy

NO_COMMAND = ConfigError("no-test-command", "there is no test command")
FILES = [
    "vitest.config.ts",
    "package.json",
    "go.mod",
    "Cargo.toml",
    "pom.xml",
    "build.gradle.kts",
    "Gemfile",
    "composer.json",
    "README.md",
]


@pytest.mark.parametrize("name", FILES)
def test_every_example_is_a_policy_whose_tests_could_be_judged(name: str) -> None:
    policy = Policy.model_validate(tomllib.loads(policy_example.lines([name], NO_COMMAND)))
    assert custom.refusal(policy) is None


@pytest.mark.parametrize("code", ["ambiguous-stack", "unknown-stack"])
def test_a_stack_that_cannot_be_chosen_is_named_by_a_line(code: str) -> None:
    text = policy_example.lines(["package.json"], ConfigError(code, "which?"))
    assert Policy.model_validate(tomllib.loads(text)).stack is not None
