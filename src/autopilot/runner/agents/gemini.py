"""Gemini CLI, headless: how it is started, and what its stream means.

Must not pass a credential on a command line: the prompt goes in by stdin, the key by the environment.
"""

from __future__ import annotations

import secrets
from typing import TYPE_CHECKING, Any

from autopilot.config.plain import one_line
from autopilot.runner.agents.adapter import Launch
from autopilot.runner.agents.ends import KEPT_CHARS, ended
from autopilot.runner.agents.events import Acted, Spent, Spoke, UsedTool
from autopilot.runner.agents.framing import JsonLines
from autopilot.runner.agents.gemini_profile import (
    MODE,
    NOBODY,
    configured_by,
    policy_text,
    settings_text,
)
from autopilot.runner.agents.gemini_verdict import judge
from autopilot.runner.agents.kind import Kind
from autopilot.runner.agents.numbers import mapping, text
from autopilot.runner.agents.pricing import counted, priced, unpriced
from autopilot.runner.agents.release import Need, Release
from autopilot.runner.agents.sign_in import Outside, set_among
from autopilot.runner.agents.tools import Denials, ToolNames
from autopilot.runner.network.calls import CONTENTS
from autopilot.schemas.errors import ConfigError
from autopilot.schemas.run import Usage

if TYPE_CHECKING:
    from collections.abc import Mapping

    from autopilot.runner.agents.adapter import AgentReport, Ending, Order
    from autopilot.runner.agents.events import AgentEvent
    from autopilot.schemas.price import TokenCount, TokenPrice
    from autopilot.schemas.run import AgentSpec

_BASE, _KEY = "GOOGLE_GEMINI_BASE_URL", "GEMINI_API_KEY"
_URL = "https://generativelanguage.googleapis.com"
_TYPES = frozenset({"init", "message", "error"})
_COUNTS: Mapping[str, str] = {"input": "input", "output": "output_tokens", "cache_read": "cached"}
# What it was sent, and all: what stands in the total alone it has thought.
_SUMS: Mapping[str, str] = {"input": "input_tokens", "output": "total_tokens"}
# A use of a tool that ended like this never began: its policy comes after our hook, all else before it.
_NEVER_BEGAN = frozenset({"policy_violation", "tool_not_registered", "invalid_tool_params"})
_DENIED = frozenset({"policy_violation", "tool_not_registered"})
_BY_A_HOOK = "Tool execution blocked: "
_HOOK_BYTES = 16


class GeminiAgent:
    """One `gemini` process."""

    def __init__(self) -> None:
        """Start before the first byte."""
        self._lines = JsonLines()
        self._prices: Mapping[str, TokenPrice] = {}
        self._result: Mapping[str, Any] | None = None
        self._usage = Usage(cost_micro_usd=0, known=False)
        self._said = ""
        self._is_said = False
        self._denials = Denials()
        self._tools = ToolNames()

    def check(self, spec: AgentSpec) -> None:
        """Nothing of it is obligatory."""

    def launch(self, order: Order) -> Launch:
        """Ask for the event stream, under settings of ours and a policy that no other outranks.

        Raises:
            ConfigError: the repository's own settings would outrank them.
        """
        theirs = configured_by(order.worktree)
        if theirs is not None:
            what = f"the repository's {theirs} would outrank the settings under which Gemini CLI is held"
            hint = "take it out, all but `context` and `ui` of its settings, or let another agent work here"
            raise ConfigError("agent-configured-by-repository", what, hint=hint)
        self._prices = order.agent.prices
        home, policy = order.private / "gemini", order.private / "gemini-policy.toml"
        folder = home / ".gemini"
        return Launch(
            argv=(
                *(order.agent.argv or ("gemini",)),
                *("--output-format", "stream-json", "--approval-mode", MODE, "--admin-policy", str(policy)),
                *("--extensions", NOBODY, "--allowed-mcp-server-names", NOBODY),
                *(("--model", order.agent.model) if order.agent.model else ()),
            ),
            passes=(_BASE, _KEY, *order.agent.env_pass),
            extra={
                "GEMINI_CLI_HOME": str(home),
                # There are none: what a machine has for all of its users is not of a run.
                "GEMINI_CLI_SYSTEM_SETTINGS_PATH": str(home / "none" / "settings.json"),
                "GEMINI_CLI_TRUST_WORKSPACE": "true",
                # One process, so that it is its own to end; and no sandbox that a file of the worktree names.
                "GEMINI_CLI_NO_RELAUNCH": "1",
                "GEMINI_SANDBOX": "false",
            },
            stdin=order.prompt.read_bytes(),
            files={
                folder / "settings.json": settings_text(order.guard, secrets.token_hex(_HOOK_BYTES)),
                policy: policy_text(has_shell=order.is_confined),
            },
            writable=(folder,),
        )

    def feed(self, chunk: bytes) -> list[AgentEvent]:
        """Take the next piece of the stream."""
        return [event for line in self._lines.feed(chunk) for event in self._take(line)]

    def finish(self, ending: Ending) -> AgentReport:
        """Judge by its result, and by its exit code where there is none."""
        for line in self._lines.end():
            self._take(line)
        return ended(
            judge(self._result, self._lines, ending),
            usage=self._usage,
            lines=self._lines,
            said=self._said,
            denials=self._denials.told,
        )

    def usage(self) -> Usage:
        """Give its counters as they stand: it tells them at its end, so before that none is known."""
        return self._usage

    def _take(self, line: Mapping[str, Any] | str) -> list[AgentEvent]:
        if isinstance(line, str):
            return [Spoke(line)]
        match line.get("type"):
            case "message" if line.get("role") == "assistant":
                return self._speak(text(line.get("content")), is_more=line.get("delta") is True)
            case "tool_use":
                self._is_said = True
                return [UsedTool(self._tools.begin(line.get("tool_id"), line.get("tool_name")))]
            case "tool_result":
                return self._ended(line)
            case "result":
                self._result = line
                return [self._spend(mapping(line.get("stats")))]
            case other if text(other) not in _TYPES:
                self._lines.note_unknown(other)
        return []

    def _speak(self, words: str, *, is_more: bool) -> list[AgentEvent]:
        """Take a message, or one more piece of it: a use of a tool ends one, and the last alone is kept."""
        before = self._said if is_more and not self._is_said else ""
        self._said, self._is_said = (before + words)[-KEPT_CHARS:], False
        return [Spoke(words)]

    def _ended(self, line: Mapping[str, Any]) -> list[AgentEvent]:
        error = mapping(line.get("error"))
        tool = self._tools.end(line.get("tool_id"))
        how, why = text(error.get("type")), text(error.get("message"))
        if how in _DENIED and not why.startswith(_BY_A_HOOK):
            self._denials.add(tool)
        return [] if how in _NEVER_BEGAN else [Acted(tool)]

    def _spend(self, stats: Mapping[str, Any]) -> Spent:
        models = mapping(stats.get("models"))
        used = {one_line(name): tokens for name, each in models.items() if (tokens := _tokens(mapping(each)))}
        cost = priced(used, self._prices) if used and len(used) == len(models) else None
        self._usage = Usage(
            cost_micro_usd=cost or 0,
            known=cost is not None,
            input_tokens=sum(each.input for each in used.values()),
            output_tokens=sum(each.output for each in used.values()),
            cached_tokens=sum(each.cache_read for each in used.values()),
            turns=1,
            unpriced=unpriced(used, self._prices),
        )
        usage = self._usage
        return Spent(cost, usage.input_tokens, usage.output_tokens, usage.cached_tokens, is_priced=True)


def _tokens(shown: Mapping[str, Any]) -> TokenCount | None:
    """Read what a model used, its thoughts as output, as is paid; None where the numbers do not agree.

    Source: the code of 0.61.0: thoughts stand in `total_tokens` alone, which is the service's own sum.
    """
    counts, sums = counted(shown, _COUNTS), counted(shown, _SUMS)
    if counts is None or sums is None or counts.input + counts.cache_read < sums.input:
        return None
    answered = sums.output - sums.input
    return counts.model_copy(update={"output": answered}) if answered >= counts.output else None


def _sign_in(_: AgentSpec, environment: Mapping[str, str]) -> Outside | None:
    """Its settings are ours, and let it sign in by this key alone."""
    keys = set_among((_KEY,), environment)
    url = environment.get(_BASE) or _URL
    return Outside(url=url, base_variable=_BASE, calls=CONTENTS, keys=keys) if keys else None


KIND = Kind(
    adapter=GeminiAgent,
    sign_in=_sign_in,
    asks_guard=True,
    program="gemini",
    need=Need(
        Release(0, 61, 0),
        "how the hooks of older ones fail, and what their settings are called, is not known",
        "update it: npm install -g @google/gemini-cli@latest",
    ),
    variables=(_BASE, _KEY),
    keys=(_KEY,),
    paid=(_KEY,),
    homes=("GEMINI_CLI_HOME",),
    services=(_URL,),
    base_variable=_BASE,
)
