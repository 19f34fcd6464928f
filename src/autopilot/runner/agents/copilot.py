"""Copilot CLI, headless, with a model of the operator's own: how it is started, and what its stream means.

Must not pass a credential on a command line: the prompt goes in by stdin, the key by the environment. It is
kept offline: no GitHub sign-in is looked for. Source: measured with 1.0.102, docs/decisions/0173.
"""

from __future__ import annotations

import json
import shlex
from typing import TYPE_CHECKING, Any

from autopilot.config.plain import one_line
from autopilot.runner.agents.adapter import Launch
from autopilot.runner.agents.ends import (
    KEPT_CHARS,
    Found,
    Judged,
    ended,
    finished,
    no_such_model,
    not_signed_in,
    without_result,
)
from autopilot.runner.agents.events import Acted, Spoke, UsedTool
from autopilot.runner.agents.framing import JsonLines
from autopilot.runner.agents.kind import Kind
from autopilot.runner.agents.numbers import count, is_zero, mapping, text
from autopilot.runner.agents.refused_host import refused_by_us
from autopilot.runner.agents.release import Need, Release
from autopilot.runner.agents.sign_in import ANTHROPIC_URL, Outside, set_among
from autopilot.runner.agents.status import sorted_out
from autopilot.runner.agents.tools import Denials, ToolNames
from autopilot.runner.network.calls import MESSAGES
from autopilot.schemas.errors import ConfigError
from autopilot.schemas.run import Usage

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from autopilot.runner.agents.adapter import AgentReport, Ending, Order
    from autopilot.runner.agents.events import AgentEvent
    from autopilot.schemas.run import AgentSpec

_BASE, _KEY = "COPILOT_PROVIDER_BASE_URL", "COPILOT_PROVIDER_API_KEY"
HOOK_TIMEOUT_S = 86_400
"""A late hook lets the call run, so none is ever late: the guard's client has a deadline of its own."""
_FILE_TOOLS = ("create", "edit", "glob", "grep", "view")
_NEVER = ("shell(git push)", "shell(gh:*)", "shell(ssh)", "shell(sudo)", "url")
_FLAGS = (
    *("--output-format", "json", "--no-ask-user", "--no-auto-update", "--no-color", "--no-remote"),
    *("--no-experimental", "--no-bash-env", "--disable-builtin-mcps", "--disable-client-telemetry"),
    *(word for each in _NEVER for word in ("--deny-tool", each)),
)
_BY_A_HOOK = "Denied by preToolUse hook"
# Its types are many, and more come with each release: a new family of them is news, a new member is not.
_FAMILIES = frozenset({"abort", "agent", "assistant", "model", "result", "session", "tool", "user"})
_SIGN_IN = "set COPILOT_PROVIDER_API_KEY where the daemon is started"


class CopilotAgent:
    """One `copilot` process."""

    def __init__(self) -> None:
        """Start before the first byte."""
        self._lines = JsonLines()
        self._ended: Mapping[str, Any] | None = None
        self._said = self._failure = ""
        self._turns = self._status = 0
        self._denials = Denials()
        self._tools = ToolNames()

    def check(self, spec: AgentSpec) -> None:
        """Make sure that it names a model: there is no choice of its own offline.

        Raises:
            ConfigError: it does not.
        """
        if not spec.model:
            what = f"the agent {spec.name!r} names no model"
            raise ConfigError("agent-model-unknown", what, hint="set model of the agent")

    def launch(self, order: Order) -> Launch:
        """Ask for the event stream, with a hook and a home of ours.

        Raises:
            ConfigError: it names no model.
        """
        self.check(order.agent)
        home = order.private / "copilot"
        return Launch(
            argv=(
                *(order.agent.argv or ("copilot",)),
                *(*_FLAGS, *_tools(has_shell=order.is_confined), "--model", order.agent.model or ""),
            ),
            passes=(_BASE, _KEY, *order.agent.env_pass),
            extra={
                "COPILOT_HOME": str(home),
                "COPILOT_OFFLINE": "true",
                "COPILOT_PROVIDER_TYPE": "anthropic",
                "SHELL": "/bin/bash",
            },
            stdin=order.prompt.read_bytes(),
            files={home / "hooks" / "guard.json": hooks_text(order.guard)},
            writable=(home, home / "hooks"),
        )

    def feed(self, chunk: bytes) -> list[AgentEvent]:
        """Take the next piece of the stream."""
        return [event for line in self._lines.feed(chunk) for event in self._take(line)]

    def finish(self, ending: Ending) -> AgentReport:
        """Judge by its result, its failure and its exit code."""
        for line in self._lines.end():
            self._take(line)
        return ended(
            self._judge(ending),
            usage=self.usage(),
            lines=self._lines,
            said=self._said,
            denials=self._denials.told,
        )

    def usage(self) -> Usage:
        """Give what is known: its turns. It tells no tokens in its stream, so its cost is not known."""
        return Usage(cost_micro_usd=0, known=False, turns=self._turns)

    def _take(self, line: Mapping[str, Any] | str) -> list[AgentEvent]:
        if isinstance(line, str):
            return [Spoke(line)]
        data = mapping(line.get("data"))
        match line.get("type"):
            case "assistant.message" if words := text(data.get("content")):
                self._said = words[-KEPT_CHARS:]
                return [Spoke(self._said)]
            case "assistant.turn_end":
                self._turns += 1
            case "tool.execution_start":
                return [UsedTool(self._tools.begin(data.get("toolCallId"), data.get("toolName")))]
            case "tool.execution_complete":
                return self._used(data)
            case "session.error":
                self._failure = text(data.get("message")) or "it gave no reason"
                self._status = count(data.get("statusCode"))
            case "result":
                self._ended = line
            case other if text(other).partition(".")[0] not in _FAMILIES:
                self._lines.note_unknown(other)
        return []

    def _used(self, data: Mapping[str, Any]) -> list[AgentEvent]:
        tool = self._tools.end(data.get("toolCallId"))
        error = mapping(data.get("error"))
        if text(error.get("code")) != "denied":
            return [Acted(tool)]
        if not text(error.get("message")).startswith(_BY_A_HOOK):
            self._denials.add(tool)
        return []

    def _judge(self, ending: Ending) -> Judged:
        is_done = self._ended is not None and is_zero(self._ended.get("exitCode"))
        if is_done and not self._failure:
            return finished(ending)
        said = one_line(self._failure) or one_line(ending.tail) or "it said nothing"
        return self._found(ending).told(f"Copilot CLI ended ({ending}): {said}")

    def _found(self, ending: Ending) -> Found:
        if self._failure:
            return refused_by_us(self._failure, self._status) or sorted_out(
                self._status,
                self._failure,
                no_sign_in=not_signed_in(_SIGN_IN),
                no_model=no_such_model(),
            )
        install = "install it: npm install -g @github/copilot"
        return refused_by_us(ending.tail) or without_result(self._lines, ending, install=install)


def _tools(*, has_shell: bool) -> tuple[str, ...]:
    """Name the tools that there are, and those that it is not asked about."""
    tools = ("bash", *_FILE_TOOLS) if has_shell else _FILE_TOOLS
    allowed = ("write", "shell") if has_shell else ("write",)
    return ("--available-tools", *tools, *(word for each in allowed for word in ("--allow-tool", each)))


def hooks_text(guard: Sequence[str]) -> str:
    """Give the hook that asks the guard before every tool; every end but 0 is a refusal to the client."""
    ask = {"type": "command", "bash": shlex.join(guard), "timeoutSec": HOOK_TIMEOUT_S}
    return json.dumps({"version": 1, "hooks": {"preToolUse": [ask] if guard else []}}, indent=2) + "\n"


def _sign_in(_: AgentSpec, environment: Mapping[str, str]) -> Outside | None:
    """With a provider of the operator's own, which speaks the Messages API."""
    keys = set_among((_KEY,), environment)
    url = environment.get(_BASE) or ANTHROPIC_URL
    return Outside(url=url, base_variable=_BASE, calls=MESSAGES, keys=keys) if keys else None


KIND = Kind(
    adapter=CopilotAgent,
    sign_in=_sign_in,
    asks_guard=True,
    program="copilot",
    need=Need(
        Release(1, 0, 102),
        "how the hooks of older ones fail is not known",
        "update it: npm install -g @github/copilot@latest",
    ),
    variables=(_BASE, _KEY),
    keys=(_KEY,),
    paid=(_KEY,),
    homes=("COPILOT_HOME",),
    services=(ANTHROPIC_URL,),
    base_variable=_BASE,
)
