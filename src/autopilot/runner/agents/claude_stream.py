"""Understands the `stream-json` output of Claude Code.

Must not decide what the run's end means (`claude_verdict`). Unknown event types and keys are tolerated: the
client adds some with every release. What was measured is in docs/agents/claude.md.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from autopilot.config.plain import one_line
from autopilot.runner.agents.claude_profile import GUARDED
from autopilot.runner.agents.events import Acted, AgentEvent, Hopeless, Limited, Spent, Spoke, UsedTool
from autopilot.runner.agents.framing import JsonLines
from autopilot.runner.agents.numbers import cost_micro_usd, count, epoch_ms, is_zero, items, mapping, text
from autopilot.runner.agents.pricing import counted, priced, unpriced
from autopilot.runner.agents.tools import MAX_DENIALS, tool_name
from autopilot.schemas.run import Usage

if TYPE_CHECKING:
    from collections.abc import Mapping

    from autopilot.schemas.price import TokenPrice

_KNOWN_TYPES = frozenset({"system", "assistant", "user", "result", "rate_limit_event", "stream_event"})
_MAX_ABOUT_CHARS = 200
_GUARDED = re.compile("|".join(f"(?:{matcher})" for matcher in GUARDED))
_SYNTHETIC = "<synthetic>"
_RAN_AND_FAILED = "Exit code "
# One refusal may be a login being renewed; at the third the client would go on for minutes.
_HOPELESS_RETRIES = 3
_KEPT_PROSE_CHARS = 2000
_COUNTS: Mapping[str, str] = {
    "input": "inputTokens",
    "output": "outputTokens",
    "cache_read": "cacheReadInputTokens",
    "cache_write": "cacheCreationInputTokens",
}


class ClaudeFacts:
    """What the stream has told so far."""

    def __init__(self) -> None:
        """Start with nothing told."""
        self.result: Mapping[str, Any] | None = None
        self.error = ""
        self.refused_logins = 0
        self.has_asked_guard = False
        self.last_text = ""
        self.last_prose = ""
        self.limit: Limited | None = None
        self.denials: dict[str, str] = {}
        self.hopeless = ""
        self.cost_micro_usd: int | None = None
        self.is_cost_known = False
        self.is_priced = False
        self.unpriced: tuple[str, ...] = ()


class ClaudeStream:
    """Reads the stream of one process."""

    def __init__(self) -> None:
        """Start before the first byte."""
        self.lines = JsonLines()
        self.facts = ClaudeFacts()
        self.prices: Mapping[str, TokenPrice] = {}
        self.expects_hooks = False
        self.may_use_overage = True
        self._guarded: dict[str, str] = {}
        self._usages: dict[str, tuple[int, int, int]] = {}
        self._counted = (0, 0, 0)

    def feed(self, chunk: bytes) -> list[AgentEvent]:
        """Take the next piece of output."""
        return self._read(self.lines.feed(chunk))

    def end(self) -> list[AgentEvent]:
        """Take what came after the last newline."""
        return self._read(self.lines.end())

    def usage(self) -> Usage:
        """Give the counters so far: those of the result, else the sum over the messages, each once."""
        facts = self.facts
        turns = count(facts.result.get("num_turns")) if facts.result else len(self._usages)
        spent = self._spent()
        return Usage(
            cost_micro_usd=spent.cost_micro_usd or 0,
            known=facts.is_cost_known,
            input_tokens=spent.input_tokens,
            output_tokens=spent.output_tokens,
            cached_tokens=spent.cached_tokens,
            turns=turns,
            unpriced=facts.unpriced,
        )

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
            case "assistant":
                return self._assistant(event)
            case "user":
                return self._results(event)
            case "result":
                return self._result(event)
            case "rate_limit_event":
                return self._limit(mapping(event.get("rate_limit_info")))
            case "system":
                return self._system(event)
            case other if text(other) not in _KNOWN_TYPES:
                self.lines.note_unknown(other)
        return []

    def _assistant(self, event: Mapping[str, Any]) -> list[AgentEvent]:
        message = mapping(event.get("message"))
        self.facts.error = text(event.get("error")) or self.facts.error
        said: list[AgentEvent] = []
        if message.get("model") != _SYNTHETIC:
            # The blocks of one message repeat its id and its usage: counted once.
            said += self._count(text(message.get("id")), mapping(message.get("usage")))
        for block in items(message.get("content")):
            if block.get("type") == "text" and (words := text(block.get("text"))):
                said.append(Spoke(words))
                self.facts.last_text = words
            elif block.get("type") == "tool_use":
                said.append(UsedTool(tool_name(block.get("name"))))
                if _GUARDED.fullmatch(text(block.get("name"))):
                    self._guarded[text(block.get("id"))] = text(block.get("name"))
        return said

    def _results(self, event: Mapping[str, Any]) -> list[AgentEvent]:
        """Take what tools gave back."""
        content = mapping(event.get("message")).get("content")
        found: list[AgentEvent] = []
        for block in items(content):
            if block.get("type") == "tool_result":
                found.append(UsedTool(""))
                use_id = text(block.get("tool_use_id"))
                if (tool := self._guarded.get(use_id)) is not None and _has_run(tool, block):
                    found.append(Acted(tool, use_id))
        return found

    def _system(self, event: Mapping[str, Any]) -> list[AgentEvent]:
        match event.get("subtype"):
            case "hook_response" if event.get("hook_event") == "SessionStart":
                self.facts.has_asked_guard = is_zero(event.get("exit_code"))
            case "init" if self.expects_hooks and not self.facts.has_asked_guard:
                # It comes before the first request to the model, and after the hooks of the start.
                return [self._give_up("agent-hooks-ignored")]
            case "permission_denied":
                tool = tool_name(event.get("tool_name"))
                self._deny(text(event.get("tool_use_id")) or tool, tool)
            case "api_retry" if event.get("error") == "authentication_failed":
                self.facts.error = "authentication_failed"
                self.facts.refused_logins += 1
                if self.facts.refused_logins >= _HOPELESS_RETRIES:
                    return [self._give_up("agent-not-authenticated")]
        return []

    def _deny(self, use: str, words: str) -> None:
        """Take a refusal, which may be told twice: when it is made, and with its argument at the end."""
        if use in self.facts.denials or len(self.facts.denials) < MAX_DENIALS:
            self.facts.denials[use] = words

    def _give_up(self, code: str) -> Hopeless:
        self.facts.hopeless = code
        return Hopeless(code)

    def _limit(self, info: Mapping[str, Any]) -> list[AgentEvent]:
        limit = Limited(
            is_refused=info.get("status") == "rejected",
            resets_ms=epoch_ms(info.get("resetsAt")),
            window=text(info.get("rateLimitType")),
        )
        if limit.is_refused or self.facts.limit is None:
            self.facts.limit = limit
        # Paid from here on, beside the subscription, where nobody counts dollars.
        is_overage = info.get("isUsingOverage") is True and not self.may_use_overage
        return [limit, self._give_up("agent-overage")] if is_overage else [limit]

    def _result(self, event: Mapping[str, Any]) -> list[AgentEvent]:
        facts = self.facts
        facts.result = event
        for denial in items(event.get("permission_denials")):
            self._deny(text(denial.get("tool_use_id")) or str(len(facts.denials)), _denied(denial))
        told = event.get("total_cost_usd")
        cost = cost_micro_usd(told) if told is not None else self._price()
        facts.is_cost_known = cost is not None
        facts.cost_micro_usd = cost if cost is not None else facts.cost_micro_usd
        return [self._spent(cost)]

    def _price(self) -> int | None:
        """Price a result without a total: its tokens are complete, and told by model."""
        shown = {name: mapping(model) for name, model in self._model_usage().items()}
        used = {
            one_line(name): tokens for name, model in shown.items() if (tokens := counted(model, _COUNTS))
        }
        self.facts.unpriced = unpriced(used, self.prices)
        self.facts.is_priced = len(used) == len(shown)
        return priced(used, self.prices) if self.facts.is_priced else None

    def _model_usage(self) -> Mapping[str, Any]:
        return mapping((self.facts.result or {}).get("modelUsage"))

    def _spent(self, cost: int | None = None) -> Spent:
        models = [mapping(model) for model in self._model_usage().values()]
        known = cost if cost is not None else self.facts.cost_micro_usd
        if models:
            # `usage` of a result leaves out requests that were cut short; `modelUsage` has them.
            return Spent(
                known,
                sum(count(m.get("inputTokens")) + count(m.get("cacheCreationInputTokens")) for m in models),
                sum(count(m.get("outputTokens")) for m in models),
                sum(count(m.get("cacheReadInputTokens")) for m in models),
                is_priced=self.facts.is_priced,
            )
        return Spent(known, *self._counted)

    def _count(self, message_id: str, usage: Mapping[str, Any]) -> list[AgentEvent]:
        """Take a message's usage in place of what it told before; only a change is told on."""
        now = (
            count(usage.get("input_tokens")) + count(usage.get("cache_creation_input_tokens")),
            count(usage.get("output_tokens")),
            count(usage.get("cache_read_input_tokens")),
        )
        before = self._usages.get(message_id, (0, 0, 0))
        self._usages[message_id] = now
        if now == before:
            return []
        fresh, written, cached = (
            total - old + new for total, old, new in zip(self._counted, before, now, strict=True)
        )
        self._counted = (fresh, written, cached)
        return [Spent(None, *self._counted)]


def _has_run(tool: str, result: Mapping[str, Any]) -> bool:
    """Tell whether a tool has run; one that was refused, or not even begun, has an error for a result.

    So has a command that failed, whose text begins with its exit code. Source: measured, 2.1.197 to 2.1.332.
    """
    if not result.get("is_error"):
        return True
    content = result.get("content")
    words = (
        content if isinstance(content, str) else "".join(text(part.get("text")) for part in items(content))
    )
    return tool == "Bash" and words.startswith(_RAN_AND_FAILED)


def _denied(denial: Mapping[str, Any]) -> str:
    """Name a refused tool with the one argument that tells what it was about."""
    asked = mapping(denial.get("tool_input"))
    about = next((text(asked[key]) for key in ("command", "file_path", "url") if text(asked.get(key))), "")
    tool = tool_name(denial.get("tool_name")) or "a tool"
    return f"{tool}({one_line(about, max_chars=_MAX_ABOUT_CHARS)})" if about else tool
