"""Understands the `--json` output of `codex exec`, and its record of tokens.

Must not decide what the run's end means (`codex_verdict`). Unknown event types and keys are tolerated. What
was measured is in docs/agents/codex.md.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from autopilot.config.plain import one_line
from autopilot.runner.agents.events import Acted, AgentEvent, Hopeless, Spent, Spoke, UsedTool
from autopilot.runner.agents.framing import JsonLines
from autopilot.runner.agents.numbers import count, mapping, text
from autopilot.runner.agents.pricing import Tally, counted
from autopilot.runner.agents.tools import tool_name
from autopilot.schemas.price import TokenCount
from autopilot.schemas.run import Usage

if TYPE_CHECKING:
    from collections.abc import Mapping

    from autopilot.runner.agents.codex_ledger import CodexLedger
    from autopilot.schemas.price import TokenPrice

_TYPES = frozenset({"thread.started", "turn.started", "turn.completed", "turn.failed", "error"})
_TOOLS: Mapping[str, str] = {"command_execution": "Bash", "file_change": "apply_patch"}
_COUNTS: Mapping[str, str] = {
    "input": "input_tokens",
    "output": "output_tokens",
    "cache_read": "cached_input_tokens",
    "cache_write": "cache_write_input_tokens",
}
_BASH = re.compile(r"(/usr)?(/bin/)?bash\s")
_MAX_NOTES = 5
_KEPT_PROSE_CHARS = 2000


class CodexFacts:
    """What the stream has told so far."""

    def __init__(self) -> None:
        """Start with nothing told."""
        self.is_complete = False
        self.failure = ""
        self.last_text = ""
        self.last_prose = ""
        self.turns = 0
        self.notes: list[str] = []
        self.hopeless = ""


class CodexStream:
    """Reads the stream of one process."""

    def __init__(self, ledger: CodexLedger | None = None, *, before: TokenCount | None = None) -> None:
        """Start before the first byte.

        Args:
            ledger: the record that the process keeps; None = there is none to look at.
            before: what its thread had used already: a resumed one goes on counting from there.
        """
        self.lines = JsonLines()
        self.facts = CodexFacts()
        self.prices: Mapping[str, TokenPrice] = {}
        self.model = ""
        self._ledger = ledger
        self._unread: set[str] = set()
        self._tally = Tally()
        self._tally.last = before or TokenCount()

    def feed(self, chunk: bytes) -> list[AgentEvent]:
        """Take the next piece of output, and look at the record."""
        return [*self._read(self.lines.feed(chunk)), *self.look()]

    def end(self) -> list[AgentEvent]:
        """Take what came after the last newline."""
        return [*self._read(self.lines.end()), *self.look()]

    def look(self) -> list[AgentEvent]:
        """Read what the record has to add."""
        news = self._ledger.news() if self._ledger else []
        return [self._spent(totals, "record") for totals in news]

    def usage(self, *, is_whole: bool) -> Usage:
        """Give the counters so far; `is_whole` tells that nothing can have been used beside them."""
        used, cost = self._tally.total, self._cost()
        has_used = used != TokenCount()
        return Usage(
            cost_micro_usd=cost or 0,
            known=is_whole and not self._unread and (cost is not None or not has_used),
            input_tokens=used.input + used.cache_write,
            output_tokens=used.output,
            cached_tokens=used.cache_read,
            turns=self.facts.turns,
            unpriced=self._tally.unpriced(self.prices) if has_used else (),
        )

    def _cost(self) -> int | None:
        return self._tally.cost_micro_usd(self.prices)

    def _read(self, lines: list[Mapping[str, Any] | str]) -> list[AgentEvent]:
        events: list[AgentEvent] = []
        for line in lines:
            if isinstance(line, str):
                self.facts.last_prose = line[:_KEPT_PROSE_CHARS]
            else:
                events += self._take(line)
        return events

    def _take(self, event: Mapping[str, Any]) -> list[AgentEvent]:
        match event.get("type"):
            case "item.started" | "item.updated" | "item.completed" as name:
                return self._item(name, mapping(event.get("item")))
            case "turn.started":
                self.facts.is_complete = False
            case "turn.completed":
                self.facts.is_complete = True
                self.facts.turns += 1
                return [self._spent(mapping(event.get("usage")), "stream")]
            case "turn.failed":
                self.facts.failure = text(mapping(event.get("error")).get("message")) or "it gave no reason"
            case "error":
                self.facts.failure = text(event.get("message")) or self.facts.failure
            case other if text(other) not in _TYPES:
                self.lines.note_unknown(other)
        return []

    def _item(self, name: str, item: Mapping[str, Any]) -> list[AgentEvent]:
        words = text(item.get("text"))
        match text(item.get("type")):
            case "agent_message" if name == "item.completed" and words:
                self.facts.last_text = words
                return [Spoke(words)]
            case "error":
                # A remark about its configuration, not a failure of the turn.
                if len(self.facts.notes) < _MAX_NOTES:
                    self.facts.notes.append(one_line(text(item.get("message"))))
            case "command_execution" | "file_change" as kind if name == "item.started":
                command = text(item.get("command"))
                if kind == "command_execution" and not _BASH.match(command):
                    # The guard has read the command as bash does; another shell may read it otherwise.
                    self.facts.hopeless = "agent-other-shell"
                    return [Hopeless(self.facts.hopeless)]
                return [UsedTool(_TOOLS[kind]), Acted()]
            case kind if name == "item.completed":
                return [UsedTool("" if kind in _TOOLS else tool_name(kind))]
        return []

    def _spent(self, totals: Mapping[str, Any], source: str) -> Spent:
        """Take a reading of the thread's counters; only what is new in it was used since the last.

        One that cannot be read is made good by the next of its source, and by every one of the stream, whose
        come last: each is the total.
        """
        if counted(totals, _COUNTS) is None:
            self._unread.add(source)
        else:
            self._unread -= {source, "record"}
        cached, written = (
            count(totals.get("cached_input_tokens")),
            count(totals.get("cache_write_input_tokens")),
        )
        shown = TokenCount(
            # Its input holds what came from the cache and went into it.
            input=max(0, count(totals.get("input_tokens")) - cached - written),
            output=count(totals.get("output_tokens")),
            cache_read=cached,
            cache_write=written,
        )
        if self._is_older(shown):
            shown = self._tally.last
        self._tally.read(shown, self.model or (self._ledger.model if self._ledger else ""))
        used = self._tally.total
        return Spent(
            self._cost(), used.input + used.cache_write, used.output, used.cache_read, is_priced=True
        )

    def _is_older(self, shown: TokenCount) -> bool:
        """Tell whether a reading is from before the last: record and stream are read one after the other."""
        last = self._tally.last
        now = shown.input + shown.output + shown.cache_read + shown.cache_write
        return now <= last.input + last.output + last.cache_read + last.cache_write
