"""Any executable as the agent: the prompt is a file, the worktree its folder, JSON lines are welcome.

Must not need anything of the program but that it ends. It finds the prompt by AUTOPILOT_PROMPT_FILE
and in place of `{prompt}` among its arguments. On stdout it may write, one JSON object a line:
`{"type":"usage","cost_usd":0.12,"input_tokens":9,"output_tokens":4}` (totals of this process so far; without
`cost_usd` its tokens are priced: those of `model`, with `cache_read_tokens` and `cache_write_tokens`),
`{"type":"message","text":"…"}`, `{"type":"tool","name":"…"}`, `{"type":"question","text":"…"}`,
`{"type":"result","ok":true,"summary":"…"}`. Anything else is taken for plain text.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from autopilot.config.plain import one_line, plain
from autopilot.runner.agents.adapter import AgentReport, Launch
from autopilot.runner.agents.ends import ERROR, KEPT_CHARS, SILENT, Judged, finished
from autopilot.runner.agents.events import Asked, Spent, Spoke, UsedTool
from autopilot.runner.agents.framing import JsonLines
from autopilot.runner.agents.kind import Kind
from autopilot.runner.agents.numbers import cost_micro_usd, text
from autopilot.runner.agents.pricing import Tally, counted, usable
from autopilot.runner.agents.questions import MAX_QUESTIONS, clean_question, questions_in
from autopilot.runner.agents.sign_in import Inside, Outside, set_among
from autopilot.runner.network.calls import MESSAGES, RESPONSES
from autopilot.schemas.errors import ConfigError
from autopilot.schemas.run import Outcome, Usage

if TYPE_CHECKING:
    from collections.abc import Mapping

    from autopilot.runner.agents.adapter import Ending, Order
    from autopilot.runner.agents.events import AgentEvent
    from autopilot.schemas.price import TokenPrice
    from autopilot.schemas.run import AgentSpec

PROMPT_PLACEHOLDER = "{prompt}"
PROMPT_VARIABLE = "AUTOPILOT_PROMPT_FILE"
_COUNTS: Mapping[str, str] = {
    "input": "input_tokens",
    "output": "output_tokens",
    "cache_read": "cache_read_tokens",
    "cache_write": "cache_write_tokens",
}


def passed(agent: AgentSpec) -> tuple[str, ...]:
    """Name the variables of ours that its program may see."""
    return (*agent.env_pass, *((agent.key_env,) if agent.key_env else ()))


def told(order: Order) -> Mapping[str, str]:
    """Tell its program where the prompt is, and its service where a variable is named for it."""
    agent = order.agent
    service = {agent.base_url_env: agent.api[0]} if agent.base_url_env and agent.api else {}
    return {PROMPT_VARIABLE: str(order.prompt), **service}


class CommandAgent:
    """One process of the operator's command."""

    def __init__(self) -> None:
        """Start before the first byte."""
        self._lines = JsonLines()
        self._usage = Usage()
        self._tally = Tally()
        self._prices: Mapping[str, TokenPrice] = {}
        self._model = ""
        self._has_told_cost = False
        self._is_cost_bad = False
        self._questions: list[str] = []
        self._said = ""
        self._result: Mapping[str, Any] | None = None

    def check(self, spec: AgentSpec) -> None:
        """Make sure that there is a program to start.

        Raises:
            ConfigError: the agent has no argv.
        """
        if not spec.argv:
            what = f"the agent {spec.name!r} has no argv"
            raise ConfigError("agent-without-argv", what, hint='set argv = ["program", …] in its table')

    def launch(self, order: Order) -> Launch:
        """Start the operator's argv with the prompt's path in it.

        Raises:
            ConfigError: the agent has no argv.
        """
        self.check(order.agent)
        self._reckon_by(order.agent)
        prompt = str(order.prompt)
        return Launch(
            argv=tuple(word.replace(PROMPT_PLACEHOLDER, prompt) for word in order.agent.argv),
            passes=passed(order.agent),
            extra=told(order),
        )

    def feed(self, chunk: bytes) -> list[AgentEvent]:
        """Take the next piece of its output."""
        return self._read(self._lines.feed(chunk))

    def finish(self, ending: Ending) -> AgentReport:
        """Judge by its own result line where there is one, else by its exit code."""
        self._read(self._lines.end())
        judged = self._judge(ending)
        return AgentReport(
            outcome=judged.outcome,
            code=judged.code,
            message=judged.message,
            hint=judged.hint,
            usage=self._usage,
            questions=self._asked() if judged.outcome is None else (),
            final_text=self._final_text(),
            # Lines that are no JSON are its right.
            warnings=(judged.warning,) if judged.warning else (),
        )

    def usage(self) -> Usage:
        """Give its counters as they stand."""
        return self._usage

    def _read(self, lines: list[Mapping[str, Any] | str]) -> list[AgentEvent]:
        return [event for line in lines for event in self._take(line)]

    def _take(self, line: Mapping[str, Any] | str) -> list[AgentEvent]:
        if isinstance(line, str):
            self._say(line)
            return [Spoke(line)]
        words = text(line.get("text"))
        match line.get("type"):
            case "usage":
                return [self._spend(line)]
            case "message":
                self._say(words)
                return [Spoke(words)]
            case "tool":
                return [UsedTool(text(line.get("name")))]
            case "question" if words:
                self._questions.append(words)
                return [Asked(clean_question(words))]
            case "result":
                self._result = line
        return []

    def _reckon_by(self, agent: AgentSpec) -> None:
        """Take over what its tokens cost where it tells no cost."""
        self._prices, self._model = agent.prices, agent.model or ""

    def _spend(self, line: Mapping[str, Any]) -> Spent:
        shown = usable(line, _COUNTS, last=self._tally.last)
        self._tally.read(shown, text(line.get("model")) or self._model)
        told = line.get("cost_usd")
        self._has_told_cost = self._has_told_cost or told is not None
        # One without a cost after one with it has lost its total: its tokens alone are not asked then.
        is_priced = not self._has_told_cost and counted(line, _COUNTS) is not None
        cost = self._tally.cost_micro_usd(self._prices) if is_priced else cost_micro_usd(told)
        self._is_cost_bad = self._is_cost_bad or (cost is None and not is_priced)
        used = self._tally.total
        self._usage = Usage(
            cost_micro_usd=self._usage.cost_micro_usd if cost is None else cost,
            known=cost is not None and not self._is_cost_bad,
            input_tokens=used.input + used.cache_write,
            output_tokens=used.output,
            cached_tokens=used.cache_read,
            turns=self._usage.turns + 1,
            unpriced=self._tally.unpriced(self._prices) if is_priced else (),
        )
        return Spent(
            cost,
            self._usage.input_tokens,
            self._usage.output_tokens,
            self._usage.cached_tokens,
            is_priced=is_priced,
        )

    def _say(self, words: str) -> None:
        self._said = f"{self._said}\n{words}"[-KEPT_CHARS:]

    def _final_text(self) -> str:
        return text((self._result or {}).get("summary")) or plain(self._said)

    def _asked(self) -> tuple[str, ...]:
        asked = (clean_question(question) for question in self._questions)
        both = dict.fromkeys((*asked, *questions_in(self._final_text())))
        return tuple(question for question in both if question)[:MAX_QUESTIONS]

    def _judge(self, ending: Ending) -> Judged:
        result_ok = (self._result or {}).get("ok")
        if result_ok is not None and result_ok is not True:
            said = one_line(self._final_text()) or "it gave no reason"
            how = "that it failed" if result_ok is False else "neither `true` nor `false` of its end"
            message = f"the agent says {how}: {said}"
            return Judged(Outcome.AGENT_FAILED, "agent-gave-up", message, ERROR.hint)
        if ending.is_clean or result_ok is True:
            return finished(ending)
        said = one_line(ending.tail) or one_line(self._said)
        if ending.is_not_found:
            hint = "install it where the daemon's PATH finds it, or set argv of the agent"
            message = f"the agent cannot be started ({ending}): {said}"
            return Judged(Outcome.AGENT_MISSING, "agent-missing", message, hint)
        if not said:
            return SILENT.told(f"the agent ended ({ending}): it said nothing")
        return Judged(Outcome.AGENT_FAILED, "agent-failed", f"the agent ended ({ending}): {said}", ERROR.hint)


def sign_in_of_a_command(spec: AgentSpec, environment: Mapping[str, str]) -> Outside | Inside | None:
    """Keep its key outside where the operator names the two variables."""
    if spec.base_url_env and spec.key_env and spec.api:
        keys, calls = set_among((spec.key_env,), environment), (*MESSAGES, *RESPONSES)
        if not keys:
            return None
        return Outside(url=spec.api[0], base_variable=spec.base_url_env, calls=calls, keys=keys)
    held = set_among(spec.env_pass, environment)
    hint = "set base_url_env and key_env of the agent, if its program asks where a variable says"
    return Inside(tuple(held), "it is not known how its program is told an address", hint) if held else None


KIND = Kind(adapter=CommandAgent, sign_in=sign_in_of_a_command, asks_guard=False)
