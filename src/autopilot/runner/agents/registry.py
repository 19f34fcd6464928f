"""Every kind of agent, by the name that the configuration uses (`scripted` starts `scripted_player`).

The module of that name tells what it is. Must not import an adapter that is not asked for: each child is
started often, and needs one.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING

from autopilot.runner.agents.sign_in import Inside, Outside
from autopilot.schemas.errors import ConfigError

if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from autopilot.runner.agents.adapter import Agent
    from autopilot.runner.agents.kind import Kind
    from autopilot.schemas.run import AgentSpec

KINDS = (
    "claude",
    "codex",
    "command",
    "copilot",
    "gemini",
    "opencode",
    "scripted",
)


def kind_of(spec: AgentSpec) -> Kind:
    """Give what is known of this agent, with the model that it names.

    Raises:
        ConfigError: there is no agent of that kind.
    """
    if spec.kind not in KINDS:
        what = f"the agent {spec.name!r} is of the unknown kind {spec.kind!r}"
        raise ConfigError("agent-kind-unknown", what, hint=f"choose one of {', '.join(KINDS)}")
    module: Any = importlib.import_module(f"autopilot.runner.agents.{spec.kind}")
    kind: Kind = module.KIND
    return kind.of_model(kind, spec)


def new_agent(spec: AgentSpec) -> Agent:
    """Make the adapter for one process.

    Raises:
        ConfigError: there is no agent of that kind.
    """
    return kind_of(spec).adapter()


def own_variables(spec: AgentSpec) -> tuple[str, ...]:
    """Name the variables that are this agent's alone: what it signs in with, and what the operator lists.

    On a subscription no key that is paid by use is among them, whatever the surroundings hold.
    """
    kind, withheld = kind_of(spec), withheld_variables(spec)
    key = (spec.key_env,) if spec.key_env else ()
    return (*(name for name in kind.variables if name not in withheld), *spec.env_pass, *key)


def withheld_variables(spec: AgentSpec) -> frozenset[str]:
    """Name the variables that are paid by use, which an agent on a subscription does not get."""
    if spec.billing != "subscription":
        return frozenset()
    return frozenset(kind_of(spec).paid) - {*spec.env_pass, spec.key_env}


def services_of(spec: AgentSpec, environment: Mapping[str, str]) -> tuple[str, ...]:
    """Give the addresses of the agent's model: the operator's, else those of its variable, else the usual."""
    kind = kind_of(spec)
    named = environment.get(kind.base_variable) if kind.base_variable else None
    return spec.api or ((named,) if named else kind.services)


def program_of(spec: AgentSpec) -> str | None:
    """Name the program that must be found to start the agent; None where it is our own or not configured."""
    return spec.argv[0] if spec.argv else kind_of(spec).program


def sign_in_variables(spec: AgentSpec) -> tuple[str, ...]:
    """Name the variables of which one must be set for the agent to sign in; empty where we cannot know."""
    kind = kind_of(spec)
    passed = (name for name in spec.env_pass if name not in kind.homes)
    return (*kind.keys, *passed) if kind.keys else ()


def sign_in(spec: AgentSpec, environment: Mapping[str, str]) -> Outside | Inside | None:
    """Say where what signs an agent in is held; None: nothing of it is set.

    Args:
        spec: the agent.
        environment: where its variables are set.
    """
    found = kind_of(spec).sign_in(spec, environment)
    if spec.broker == "off" and isinstance(found, Outside):
        return Inside(found.variables, 'broker = "off"', 'set broker = "auto" for the agent')
    return found
