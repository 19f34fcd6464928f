"""What is told of each kind of agent is whole, and the configuration knows the same kinds."""

from __future__ import annotations

from typing import get_args

import pytest

from autopilot.config.agent_settings import Agent
from autopilot.runner.agents.kind import Kind
from autopilot.runner.agents.registry import (
    KINDS,
    kind_of,
    new_agent,
    own_variables,
    program_of,
    services_of,
    sign_in_variables,
)
from autopilot.schemas.errors import ConfigError
from autopilot.schemas.run import AgentSpec

EACH = pytest.mark.parametrize("name", KINDS)


def of(name: str) -> Kind:
    return kind_of(AgentSpec(name="x", kind=name))


def test_the_configuration_knows_the_same_kinds() -> None:
    assert get_args(Agent.model_fields["kind"].annotation) == KINDS


def test_an_unknown_kind_is_refused_with_the_names_of_all() -> None:
    with pytest.raises(ConfigError, match="unknown kind") as caught:
        new_agent(AgentSpec(name="x", kind="psychic"))
    assert "claude, codex, command, copilot, gemini, opencode, scripted" in caught.value.hint


@EACH
def test_of_every_key_it_is_told_whether_it_is_paid_by_use(name: str) -> None:
    kind = of(name)
    assert sorted((*kind.paid, *kind.subscribed)) == sorted(kind.keys)
    assert {*kind.keys} <= {*kind.variables}
    assert not {*kind.homes} & {*kind.variables}


@EACH
def test_an_agent_that_asks_the_guard_has_a_release_by_which_it_can_be_believed(name: str) -> None:
    kind = of(name)
    assert kind.asks_guard is (kind.need is not None) is (kind.program is not None) is bool(kind.keys)


@EACH
def test_its_program_is_its_own_or_the_operators(name: str) -> None:
    spec = AgentSpec(name="x", kind=name)
    assert program_of(spec) == (None if name in {"command", "scripted"} else name)
    assert program_of(spec.model_copy(update={"argv": ("/opt/mine", "-v")})) == "/opt/mine"


@EACH
def test_an_address_of_the_operators_stands_for_the_usual_one(name: str) -> None:
    spec, variable = AgentSpec(name="x", kind=name), of(name).base_variable
    named = {variable or "": "https://gateway.lan"}
    assert services_of(spec, {}) == of(name).services
    assert services_of(spec, named) == (("https://gateway.lan",) if variable else of(name).services)
    own = spec.model_copy(update={"api": ("https://mine.lan",)})
    assert services_of(own, named) == ("https://mine.lan",)


@pytest.mark.parametrize("home", ["CLAUDE_CONFIG_DIR", "CODEX_HOME", "GEMINI_CLI_HOME", "COPILOT_HOME"])
def test_a_folder_with_the_persons_own_login_signs_nobody_in(home: str) -> None:
    (name,) = (each for each in KINDS if home in of(each).homes)
    spec = AgentSpec(name="x", kind=name, env_pass=(home, "X_PASSED"))
    assert home not in sign_in_variables(spec)
    assert "X_PASSED" in sign_in_variables(spec)
    assert home in own_variables(spec)


@pytest.mark.parametrize(
    ("model", "key", "host"),
    [
        ("anthropic/m", "ANTHROPIC_API_KEY", "https://api.anthropic.com"),
        ("openai/m", "OPENAI_API_KEY", "https://api.openai.com/v1"),
    ],
)
def test_opencode_has_the_key_and_the_host_of_the_model_that_it_names_and_no_others(
    model: str, key: str, host: str
) -> None:
    spec = AgentSpec(name="x", kind="opencode", model=model)
    assert (own_variables(spec), sign_in_variables(spec), services_of(spec, {})) == ((key,), (key,), (host,))
    assert services_of(spec.model_copy(update={"model": None}), {}) == ()
