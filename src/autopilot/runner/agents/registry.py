"""Every kind of agent, by the name that the configuration uses (`scripted` starts `scripted_player`)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from autopilot.runner.agents import claude, codex, copilot, gemini, opencode
from autopilot.runner.agents.claude import ClaudeAgent
from autopilot.runner.agents.codex import CodexAgent
from autopilot.runner.agents.command import CommandAgent
from autopilot.runner.agents.copilot import CopilotAgent
from autopilot.runner.agents.gemini import GeminiAgent
from autopilot.runner.agents.opencode import OpencodeAgent
from autopilot.runner.agents.release import Need, Release
from autopilot.runner.agents.scripted import ScriptedAgent
from autopilot.runner.agents.sign_in import (
    ANTHROPIC_URL,
    CHATGPT_URL,
    CLAUDE_BASE,
    CLAUDE_KEYS,
    CODEX_BASE,
    COPILOT_BASE,
    COPILOT_KEY,
    GEMINI_BASE,
    GEMINI_KEY,
    GEMINI_URL,
    OPENAI_URL,
)
from autopilot.schemas.errors import ConfigError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from autopilot.runner.agents.adapter import Agent
    from autopilot.schemas.run import AgentSpec

_KINDS: Mapping[str, type[Agent]] = {
    "claude": ClaudeAgent,
    "codex": CodexAgent,
    "command": CommandAgent,
    "copilot": CopilotAgent,
    "gemini": GeminiAgent,
    "opencode": OpencodeAgent,
    "scripted": ScriptedAgent,
}
_PROGRAMS: Mapping[str, str] = {
    "claude": "claude",
    "codex": "codex",
    "copilot": "copilot",
    "gemini": "gemini",
    "opencode": "opencode",
}
_OWN_VARIABLES: Mapping[str, tuple[str, ...]] = {
    "claude": claude.AUTH_VARIABLES,
    "codex": codex.AUTH_VARIABLES,
    "copilot": copilot.AUTH_VARIABLES,
    "gemini": gemini.AUTH_VARIABLES,
    "opencode": opencode.AUTH_VARIABLES,
}
# Where its model's service is, and the variable that says otherwise.
_SERVICES: Mapping[str, tuple[str, tuple[str, ...]]] = {
    "claude": (CLAUDE_BASE, (ANTHROPIC_URL,)),
    "codex": (CODEX_BASE, (OPENAI_URL, CHATGPT_URL)),
    "copilot": (COPILOT_BASE, (ANTHROPIC_URL,)),
    "gemini": (GEMINI_BASE, (GEMINI_URL,)),
    "opencode": ("", (ANTHROPIC_URL, OPENAI_URL)),
}
# Any one of these signs it in. An agent that is not named here is not asked: it may need nothing.
_SIGN_IN: Mapping[str, tuple[str, ...]] = {
    "claude": CLAUDE_KEYS,
    "codex": codex.AUTH_VARIABLES,
    "copilot": (COPILOT_KEY,),
    "gemini": (GEMINI_KEY,),
    "opencode": opencode.AUTH_VARIABLES,
}
# A file that names where the person's own login lies: a run has a folder of its own instead.
_NOT_A_SIGN_IN = frozenset({"CLAUDE_CONFIG_DIR", "CODEX_HOME"})
_NEEDS: Mapping[str, Need] = {
    "claude": Need(
        Release(2, 1, 295),
        'its hooks know no onFailure: "block", so a guard that fails would let every call run',
        "update it: npm install -g @anthropic-ai/claude-code@latest",
    ),
    "codex": Need(
        Release(0, 171, 0),
        "how the hooks of older ones fail, and what their settings are called, is not known",
        "update it: npm install -g @openai/codex@latest",
    ),
    "gemini": Need(
        Release(0, 61, 0),
        "how the hooks of older ones fail, and what their settings are called, is not known",
        "update it: npm install -g @google/gemini-cli@latest",
    ),
    "copilot": Need(
        Release(1, 0, 102),
        "how the hooks of older ones fail is not known",
        "update it: npm install -g @github/copilot@latest",
    ),
    "opencode": Need(
        Release(1, 18, 33),
        "whether the plugins of older ones can refuse a tool is not known",
        "update it: npm install -g opencode-ai@latest",
    ),
}
KINDS = tuple(_KINDS)


def new_agent(spec: AgentSpec) -> Agent:
    """Make the adapter for one process.

    Raises:
        ConfigError: there is no agent of that kind.
    """
    kind = _KINDS.get(spec.kind)
    if kind is None:
        what = f"the agent {spec.name!r} is of the unknown kind {spec.kind!r}"
        raise ConfigError("agent-kind-unknown", what, hint=f"choose one of {', '.join(KINDS)}")
    return kind()


def has_hooks(kind: str) -> bool:
    """Tell whether this kind of agent asks the guard before it uses a tool."""
    return kind in _NEEDS


def own_variables(spec: AgentSpec) -> tuple[str, ...]:
    """Name the variables that are this agent's alone: what it signs in with, and what the operator lists."""
    key = (spec.key_env,) if spec.key_env else ()
    return (*_OWN_VARIABLES.get(spec.kind, ()), *spec.env_pass, *key)


def services_of(spec: AgentSpec, environment: Mapping[str, str]) -> tuple[str, ...]:
    """Give the addresses of the agent's model: the operator's, else those of its variable, else the usual."""
    variable, usual = _SERVICES.get(spec.kind, ("", ()))
    named = environment.get(variable, "")
    return spec.api or ((named,) if named else usual)


def program_of(spec: AgentSpec) -> str | None:
    """Name the program that must be found to start the agent; None where it is our own or not configured."""
    return spec.argv[0] if spec.argv else _PROGRAMS.get(spec.kind)


def sign_in_variables(spec: AgentSpec) -> tuple[str, ...]:
    """Name the variables of which one must be set for the agent to sign in; empty where we cannot know."""
    known = _SIGN_IN.get(spec.kind, ())
    passed = (name for name in spec.env_pass if name not in _NOT_A_SIGN_IN)
    return (*known, *passed) if known else ()


def need_of(spec: AgentSpec) -> Need | None:
    """Say which release of its program is the oldest that will do; None where any does."""
    return _NEEDS.get(spec.kind)
