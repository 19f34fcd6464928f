"""Claude Code, headless: how it is started, and what its stream means.

Must not pass a credential on a command line: the prompt goes in by stdin, keys by the environment.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from autopilot.runner.agents.adapter import AgentReport, Launch
from autopilot.runner.agents.claude_stream import ClaudeStream
from autopilot.runner.agents.claude_verdict import give_up, judge
from autopilot.runner.agents.events import Hopeless
from autopilot.schemas.units import MICRO_PER_USD

if TYPE_CHECKING:
    from collections.abc import Mapping

    from autopilot.runner.agents.adapter import Ending, Order
    from autopilot.runner.agents.events import AgentEvent
    from autopilot.schemas.run import AgentSpec, Usage

AUTH_VARIABLES = (
    "ANTHROPIC_API_KEY",
    "ANTHROPIC_AUTH_TOKEN",
    "ANTHROPIC_BASE_URL",
    "CLAUDE_CODE_OAUTH_TOKEN",
)
_QUIET: Mapping[str, str] = {
    "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
    "DISABLE_AUTOUPDATER": "1",
    "DISABLE_TELEMETRY": "1",
}
_DENIED = ("Bash(git push:*)", "Bash(git remote:*)", "Bash(gh:*)", "WebFetch", "WebSearch")


class ClaudeAgent:
    """One `claude -p` process."""

    def __init__(self) -> None:
        """Start with an unread stream."""
        self._stream = ClaudeStream()
        self._hopeless: str | None = None

    def check(self, spec: AgentSpec) -> None:
        """Nothing of it is obligatory."""

    def launch(self, order: Order) -> Launch:
        """Ask for the event stream; edits in the worktree and the repository's own commands are allowed."""
        self._stream.prices = order.agent.prices
        return Launch(
            argv=(
                *(order.agent.argv or ("claude",)),
                *("-p", "--output-format", "stream-json", "--verbose"),
                *("--permission-mode", "acceptEdits"),
                *("--settings", json.dumps(_permissions(order.allowed_commands))),
                *(("--model", order.agent.model) if order.agent.model else ()),
                *_budget(order.left_micro_usd),
            ),
            passes=(*AUTH_VARIABLES, *order.agent.env_pass),
            extra=_QUIET,
            stdin=order.prompt.read_bytes(),
        )

    def feed(self, chunk: bytes) -> list[AgentEvent]:
        """Take the next piece of the stream."""
        return self._note(self._stream.feed(chunk))

    def finish(self, ending: Ending) -> AgentReport:
        """Judge how it ended."""
        self._note(self._stream.end())
        if self._hopeless:
            return give_up(self._stream, self._hopeless)
        return judge(self._stream, ending)

    def usage(self) -> Usage:
        """Give its counters as they stand."""
        return self._stream.usage()

    def _note(self, events: list[AgentEvent]) -> list[AgentEvent]:
        for event in events:
            if isinstance(event, Hopeless):
                self._hopeless = event.code
        return events


def _permissions(commands: tuple[tuple[str, ...], ...]) -> dict[str, dict[str, list[str]]]:
    """Allow exactly the repository's own commands beside what `acceptEdits` allows."""
    plain = (" ".join(argv) for argv in commands if all(_is_plain(word) for word in argv))
    allowed = [rule for command in plain for rule in (f"Bash({command})", f"Bash({command}:*)")]
    return {"permissions": {"allow": allowed, "deny": list(_DENIED)}}


def _is_plain(word: str) -> bool:
    return bool(word) and all(char.isalnum() or char in "-_./=:@+," for char in word)


def _budget(left_micro_usd: int | None) -> tuple[str, ...]:
    """Let the client stop itself too: it knows its cost between turns, we only at the end of the run."""
    return () if left_micro_usd is None else ("--max-budget-usd", f"{left_micro_usd / MICRO_PER_USD:.6f}")
