"""Understands the output of `opencode run --format json`, and decides what the end of its process means.

Must not trust one sign alone: it ends in 0 after an error of its service too. The matrix is in
docs/agents/opencode.md.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from autopilot.config.plain import one_line
from autopilot.runner.agents.ends import (
    KEPT_CHARS,
    RATE_LIMITED,
    SERVICE_DOWN,
    TOO_LONG,
    Judged,
    ended,
    finished,
    no_such_model,
    not_signed_in,
    unreachable,
    without_result,
)
from autopilot.runner.agents.events import Acted, AgentEvent, Spent, Spoke, UsedTool
from autopilot.runner.agents.framing import JsonLines
from autopilot.runner.agents.numbers import count, mapping, text
from autopilot.runner.agents.opencode_profile import REFUSED
from autopilot.runner.agents.pricing import counted, priced, unpriced, usable
from autopilot.runner.agents.refused_host import refused_by_us
from autopilot.runner.agents.status import sorted_out
from autopilot.runner.agents.tools import Denials, tool_name
from autopilot.schemas.price import TokenCount
from autopilot.schemas.run import Usage

if TYPE_CHECKING:
    from collections.abc import Mapping

    from autopilot.runner.agents.adapter import AgentReport, Ending
    from autopilot.runner.agents.complaint import Row
    from autopilot.schemas.price import TokenPrice

_TYPES = frozenset({"reasoning"})
_OUTSIDE_OF_A_RULE = ("The user has specified a rule which prevents", "The user rejected permission")
_NO_SUCH_TOOL = "Model tried to call unavailable tool"
_MAX_REASON_CHARS = 64
_DONE = "stop"
"""The one reason of a model that has come to its end; a cut, a filter or an error is another."""
_COUNTS: Mapping[str, str] = {
    "input": "input",
    "output": "output",
    "cache_read": "read",
    "cache_write": "write",
}
_THOUGHT: Mapping[str, str] = {"input": "input", "output": "reasoning"}
_SIGN_IN = "set the key of its provider where the daemon is started: ANTHROPIC_API_KEY or OPENAI_API_KEY"
_NO_SIGN_IN, _NO_MODEL = not_signed_in(_SIGN_IN), no_such_model("`opencode models` lists")
_TOO_LONG: Row = (re.compile(r"context.{0,10}(window|length|overflow)|prompt is too long"), TOO_LONG)
# Where no status is told. First match wins. Source: recorded streams; docs/agents/opencode.md.
_WORDS: tuple[Row, ...] = (
    (re.compile(r"unauthori[sz]ed|authentication|api key"), _NO_SIGN_IN),
    (re.compile(r"model.{0,60}not found|modelnotfound"), _NO_MODEL),
    _TOO_LONG,
    (re.compile(r"too many requests|rate.?limit|quota"), RATE_LIMITED),
    (re.compile(r"overloaded|internal server error"), SERVICE_DOWN),
    (re.compile(r"unable to connect|connection|socket|econn|fetch failed|terminated"), unreachable()),
)


class OpencodeStream:
    """Reads the stream of one process.

    Args:
        model: the model's name, by which it is priced.
        prices: by model.
    """

    def __init__(self, model: str = "", prices: Mapping[str, TokenPrice] | None = None) -> None:
        self.lines = JsonLines()
        self._model, self._prices = model, prices or {}
        self._used = TokenCount()
        self._turns = 0
        self._is_counted = True
        self._last_reason = ""
        self._failure: Mapping[str, Any] | None = None
        self._said = ""
        self._denials = Denials()

    def feed(self, chunk: bytes) -> list[AgentEvent]:
        """Take the next piece of output."""
        return [event for line in self.lines.feed(chunk) for event in self._take(line)]

    def end(self) -> list[AgentEvent]:
        """Take what came after the last newline."""
        return [event for line in self.lines.end() for event in self._take(line)]

    def usage(self, *, is_whole: bool) -> Usage:
        """Give the counters so far; `is_whole` tells that no request was under way."""
        used = {self._model: self._used} if self._turns else {}
        cost = priced(used, self._prices)
        return Usage(
            cost_micro_usd=cost or 0,
            known=is_whole and self._is_counted and cost is not None,
            input_tokens=self._used.input + self._used.cache_write,
            output_tokens=self._used.output,
            cached_tokens=self._used.cache_read,
            turns=self._turns,
            unpriced=unpriced(used, self._prices),
        )

    def report(self, ending: Ending) -> AgentReport:
        """Judge how its process ended by itself."""
        judged = self._judged(ending)
        return ended(
            judged,
            usage=self.usage(is_whole=judged.outcome is None),
            lines=self.lines,
            said=self._said,
            denials=self._denials.told,
        )

    def _take(self, line: Mapping[str, Any] | str) -> list[AgentEvent]:
        if isinstance(line, str):
            return [Spoke(line)]
        part = mapping(line.get("part"))
        match line.get("type"):
            case "text":
                self._said = text(part.get("text"))[-KEPT_CHARS:]
                return [Spoke(self._said)]
            case "tool_use":
                return self._tool(part)
            case "step_start":
                self._last_reason = ""
            case "step_finish":
                return [self._step(part)]
            case "error":
                self._failure = mapping(line.get("error"))
            case other if text(other) not in _TYPES:
                self.lines.note_unknown(other)
        return []

    def _tool(self, part: Mapping[str, Any]) -> list[AgentEvent]:
        """Take a use of a tool, which is told when it is over."""
        name, state = tool_name(part.get("tool")), mapping(part.get("state"))
        why = text(state.get("error")) if state.get("status") != "completed" else ""
        if why.startswith(_OUTSIDE_OF_A_RULE):
            self._denials.add(name)
        if why.startswith((REFUSED, *_OUTSIDE_OF_A_RULE)) or _NO_SUCH_TOOL in why:
            return [UsedTool(name)]
        return [UsedTool(name), Acted(name, text(part.get("callID")))]

    def _step(self, part: Mapping[str, Any]) -> Spent:
        shown, cache = mapping(part.get("tokens")), mapping(mapping(part.get("tokens")).get("cache"))
        flat = {"reasoning": 0, **shown, **{name: cache[name] for name in ("read", "write") if name in cache}}
        is_counted = None not in (counted(flat, _COUNTS), counted(flat, _THOUGHT))
        self._is_counted = self._is_counted and is_counted and isinstance(shown.get("cache", {}), dict)
        thought = usable(flat, {"output": "reasoning"}, last=TokenCount())
        self._used = self._used.plus(usable(flat, _COUNTS, last=TokenCount())).plus(thought)
        self._turns += 1
        self._last_reason = text(part.get("reason"))
        used = self._used
        cost = priced({self._model: used}, self._prices)
        return Spent(cost, used.input + used.cache_write, used.output, used.cache_read, is_priced=True)

    def _judged(self, ending: Ending) -> Judged:
        if self._failure is not None:
            return _failed(self._failure)
        if self._last_reason == _DONE:
            return finished(ending)
        said = one_line(ending.tail) or self._last_step()
        found = without_result(self.lines, ending, install="install it: npm install -g opencode-ai")
        message = f"opencode ended ({ending}) without a result: {said}"
        return found.told(message)

    def _last_step(self) -> str:
        if not self._turns:
            return "it said nothing"
        return f"its last step ended by {one_line(self._last_reason, max_chars=_MAX_REASON_CHARS)!r}"


def _failed(failure: Mapping[str, Any]) -> Judged:
    data = mapping(failure.get("data"))
    name = text(failure.get("name"))
    said = one_line(text(data.get("message")) or name) or "it gave no reason"
    status = count(data.get("statusCode"))
    found = refused_by_us(f"{said} {text(data.get('responseBody'))}", status) or sorted_out(
        status,
        f"{name} {said}",
        _WORDS,
        of_request=(_TOO_LONG,),
        no_sign_in=_NO_SIGN_IN,
        no_model=_NO_MODEL,
    )
    return found.told(f"opencode: {said}")
