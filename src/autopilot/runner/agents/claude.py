"""Claude Code, headless: how it is started, and what its stream means.

Must not pass a credential on a command line: the prompt goes in by stdin, keys by the environment.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from autopilot.runner.agents.adapter import Launch
from autopilot.runner.agents.claude_profile import MODE, TOOLS, profile_text
from autopilot.runner.agents.claude_stream import ClaudeStream
from autopilot.runner.agents.claude_verdict import judge
from autopilot.runner.agents.kind import Kind
from autopilot.runner.agents.release import Need, Release
from autopilot.runner.agents.sign_in import ANTHROPIC_URL, Inside, Outside, set_among
from autopilot.runner.network.calls import MESSAGES
from autopilot.schemas.units import MICRO_PER_USD

if TYPE_CHECKING:
    from collections.abc import Mapping

    from autopilot.runner.agents.adapter import AgentReport, Ending, Order
    from autopilot.runner.agents.events import AgentEvent
    from autopilot.schemas.run import AgentSpec, Usage

_BASE, _TOKEN, _LOGIN = "ANTHROPIC_BASE_URL", "ANTHROPIC_AUTH_TOKEN", "CLAUDE_CODE_OAUTH_TOKEN"
_KEY = "ANTHROPIC_API_KEY"
_KEYS = (_KEY, _TOKEN, _LOGIN)
_AUTH_VARIABLES = (_BASE, *_KEYS)
_ELSEWHERE = "CLAUDE_CODE_USE_"
_QUIET: Mapping[str, str] = {
    "CLAUDE_CODE_DISABLE_BACKGROUND_TASKS": "1",
    "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
    "DISABLE_AUTOUPDATER": "1",
    "DISABLE_TELEMETRY": "1",
    "SHELL": "/bin/bash",
}
# Settings, hooks, MCP servers, commands and skills of the repository or the person are not looked for.
_NOTHING_OF_OTHERS = (
    *("--setting-sources", "", "--strict-mcp-config", "--disable-slash-commands", "--no-chrome"),
    *("--tools", ",".join(TOOLS)),
)
# The client sources it before each command of the model: a test does not see its keys, nor print them.
_WITHOUT_KEYS = f"unset {' '.join(_KEYS)}\n"


class ClaudeAgent:
    """One `claude -p` process."""

    def __init__(self) -> None:
        """Start with an unread stream."""
        self._stream = ClaudeStream()

    def check(self, spec: AgentSpec) -> None:
        """Nothing of it is obligatory."""

    def launch(self, order: Order) -> Launch:
        """Ask for the event stream, under a profile of ours and with nobody else's settings."""
        self._stream.prices = order.agent.prices
        self._stream.may_use_overage = order.agent.billing == "metered"
        self._stream.expects_hooks = bool(order.guard)
        settings, shell = order.private / "settings.json", order.private / "shell.sh"
        config = order.private / "claude"
        return Launch(
            argv=(
                *(order.agent.argv or ("claude",)),
                *("-p", "--output-format", "stream-json", "--verbose"),
                *("--permission-mode", MODE, "--settings", str(settings)),
                *_NOTHING_OF_OTHERS,
                *(("--model", order.agent.model) if order.agent.model else ()),
                *_budget(order.left_micro_usd),
            ),
            passes=(*_AUTH_VARIABLES, *order.agent.env_pass),
            extra={**_QUIET, "CLAUDE_CONFIG_DIR": str(config), "CLAUDE_ENV_FILE": str(shell)},
            stdin=order.prompt.read_bytes(),
            files={
                settings: profile_text(order.allowed_commands, order.guard, order.allowed_tools),
                shell: _WITHOUT_KEYS,
            },
            writable=(config,),
        )

    def feed(self, chunk: bytes) -> list[AgentEvent]:
        """Take the next piece of the stream."""
        return self._stream.feed(chunk)

    def finish(self, ending: Ending) -> AgentReport:
        """Judge how it ended."""
        self._stream.end()
        return judge(self._stream, ending)

    def usage(self) -> Usage:
        """Give its counters as they stand."""
        return self._stream.usage()


def _budget(left_micro_usd: int | None) -> tuple[str, ...]:
    """Let the client stop itself too: it knows its cost between turns, we only at the end of the run."""
    return () if left_micro_usd is None else ("--max-budget-usd", f"{left_micro_usd / MICRO_PER_USD:.6f}")


def _sign_in(spec: AgentSpec, environment: Mapping[str, str]) -> Outside | Inside | None:
    keys = set_among(_KEYS, environment)
    elsewhere = [name for name in spec.env_pass if name.startswith(_ELSEWHERE) and name in environment]
    if elsewhere:
        held = tuple(name for name in (*keys, *spec.env_pass) if environment.get(name))
        hint = "give it a credential that ends soon and may do nothing else"
        return Inside(held, f"{elsewhere[0]} names a service that is signed for otherwise", hint)
    if not keys:
        return None
    url = environment.get(_BASE) or ANTHROPIC_URL
    return Outside(url=url, base_variable=_BASE, calls=MESSAGES, keys=keys)


KIND = Kind(
    adapter=ClaudeAgent,
    sign_in=_sign_in,
    asks_guard=True,
    program="claude",
    need=Need(
        Release(2, 1, 295),
        'its hooks know no onFailure: "block", so a guard that fails would let every call run',
        "update it: npm install -g @anthropic-ai/claude-code@latest",
    ),
    variables=_AUTH_VARIABLES,
    keys=_KEYS,
    # Source: Claude Code's documentation, "Authentication precedence".
    paid=(_TOKEN, _KEY),
    subscribed=(_LOGIN,),
    homes=("CLAUDE_CONFIG_DIR",),
    services=(ANTHROPIC_URL,),
    base_variable=_BASE,
    brief=("--tools", "", "--system-prompt", "You answer with one word.", "--max-turns", "1"),
)
