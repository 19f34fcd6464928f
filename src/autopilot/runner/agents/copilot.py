"""Copilot CLI, headless, with a model of the operator's own: how it is started, and what its stream means.

Must not pass a credential on a command line: the prompt goes in by stdin, the key by the environment. It is
kept offline: no GitHub sign-in is looked for. Source: measured with 1.0.102, docs/decisions/0173.
"""

from __future__ import annotations

import json
import re
import shlex
from typing import TYPE_CHECKING, Any

from autopilot.config.plain import one_line
from autopilot.runner.agents.adapter import AgentReport, Launch
from autopilot.runner.agents.complaint import Row, complaint
from autopilot.runner.agents.events import Acted, Spoke, UsedTool
from autopilot.runner.agents.framing import JsonLines
from autopilot.runner.agents.kind import Kind
from autopilot.runner.agents.numbers import count, mapping, text
from autopilot.runner.agents.questions import questions_in
from autopilot.runner.agents.refused_host import refused_by_us
from autopilot.runner.agents.release import Need, Release
from autopilot.runner.agents.sign_in import ANTHROPIC_URL, Outside, set_among
from autopilot.runner.network.broker import MESSAGES
from autopilot.schemas.errors import ConfigError
from autopilot.schemas.run import Outcome, Usage

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from autopilot.runner.agents.adapter import Ending, Order
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
_MAX_DENIALS, _MAX_NAME_CHARS, _MOST_AT_ONCE, _KEPT_CHARS = 100, 64, 1000, 8000
_SIGN_IN = "set COPILOT_PROVIDER_API_KEY where the daemon is started"
# First match wins; the status of the service stands first. Source: recorded streams; docs/agents/copilot.md.
_WORDS: tuple[Row, ...] = (
    (re.compile(r"^40[13] "), Outcome.CREDENTIAL, "agent-not-authenticated", _SIGN_IN),
    (
        re.compile(r"^404 "),
        *(Outcome.CONFIGURATION, "agent-model-unknown", "set `model` of the agent to one that there is"),
    ),
    (
        re.compile(r"^429 "),
        *(Outcome.AGENT_FAILED, "agent-rate-limited", "the service asks for fewer requests"),
    ),
    (
        re.compile(r"^5\d\d "),
        *(Outcome.AGENT_FAILED, "agent-service-down", "the service is overloaded or broken"),
    ),
)
_LOG = "the whole stream is in the agent's log in the run's folder"


class CopilotAgent:
    """One `copilot` process."""

    def __init__(self) -> None:
        """Start before the first byte."""
        self._lines = JsonLines()
        self._ended: Mapping[str, Any] | None = None
        self._said = self._failure = ""
        self._turns = self._status = 0
        self._denials: list[str] = []
        self._tools: dict[str, str] = {}

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
        outcome, code, message, hint = self._judge(ending)
        note = self._lines.note()
        return AgentReport(
            outcome=outcome,
            code=code,
            message=message,
            hint=hint,
            usage=self.usage(),
            questions=questions_in(self._said) if outcome is None else (),
            denials=tuple(self._denials),
            final_text=self._said,
            warnings=(note,) if note else (),
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
                self._said = words[-_KEPT_CHARS:]
                return [Spoke(self._said)]
            case "assistant.turn_end":
                self._turns += 1
            case "tool.execution_start":
                name = one_line(text(data.get("toolName")), max_chars=_MAX_NAME_CHARS)
                if len(self._tools) < _MOST_AT_ONCE:
                    self._tools[text(data.get("toolCallId"))] = name
                return [UsedTool(name)]
            case "tool.execution_complete":
                return self._used(data)
            case "session.error":
                self._failure = text(data.get("message")) or "it gave no reason"
                self._status = count(data.get("statusCode"))
            case "result":
                self._ended = line
        return []

    def _used(self, data: Mapping[str, Any]) -> list[AgentEvent]:
        tool = self._tools.pop(text(data.get("toolCallId")), "a tool")
        error = mapping(data.get("error"))
        if text(error.get("code")) != "denied":
            return [Acted(tool)]
        # What the guard has refused it tells itself.
        is_told = text(error.get("message")).startswith(_BY_A_HOOK)
        if not is_told and len(self._denials) < _MAX_DENIALS:
            self._denials.append(f"{tool}: not allowed")
        return []

    def _judge(self, ending: Ending) -> tuple[Outcome | None, str, str, str]:
        is_whole = self._ended is not None and count(self._ended.get("exitCode")) == 0 and not self._failure
        if is_whole and ending.is_clean:
            return None, "agent-finished", "the agent came to its end", ""
        said = one_line(self._failure) or one_line(ending.tail) or "it said nothing"
        message = f"Copilot CLI ended ({ending}): {said}"
        if refused := refused_by_us(said):
            outcome, code, hint = refused
            return outcome, code, message, hint
        if ending.is_not_found:
            hint = "install it: npm install -g @github/copilot"
            return Outcome.AGENT_MISSING, "agent-missing", message, hint
        if found := complaint(f"{self._status} {self._failure}" if self._failure else "", _WORDS):
            outcome, code, hint = found
            return outcome, code, message, hint
        return Outcome.AGENT_FAILED, "agent-error" if self._failure else "agent-no-result", message, _LOG


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
