"""The guard of one run: proven before each launch, its refusals told, and nobody walks past it.

Must not judge (`guard/`) or start an agent (`session`). An agent without hooks has none.
"""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING

from autopilot.config.plain import one_line
from autopilot.runner.agents.registry import kind_of
from autopilot.runner.allowed import own_commands
from autopilot.runner.failure import RunFailure
from autopilot.runner.guard.event import MAX_ID_CHARS
from autopilot.runner.guard.selftest import client_command, fault_of
from autopilot.schemas.events import Event
from autopilot.schemas.run import Outcome

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from autopilot.config.proc import Exit
    from autopilot.runner.agents.events import Acted
    from autopilot.runner.guard.service import GuardService
    from autopilot.runner.guard.verdict import GuardContext
    from autopilot.runner.phases.init import Ready
    from autopilot.runner.shop import Shop

BYPASSED = "guard-bypassed"
_TRIES = 3
_NS_PER_MS = 1_000_000
_MAX_ABOUT_CHARS = 200


class Sentry:
    """The guard as the sessions of one run use it."""

    def __init__(self, shop: Shop, service: GuardService) -> None:
        """Take the service, which listens already."""
        self._shop, self._service = shop, service
        self._told = self._told_before = self._asked_before = self._acts = 0
        self.unasked = ""
        """The use of a tool that the guard had not allowed, by the name that the client gave it."""
        self.command = client_command(str(service.socket))

    @property
    def socket(self) -> Path:
        """Where it listens."""
        return self._service.socket

    def prove(self, ask: Callable[[bytes], Exit]) -> None:
        """Send what it must refuse and what it must allow by the hook's own command, before a launch.

        Args:
            ask: starts that command as the agent will, with an event for its input.

        Raises:
            RunFailure: it answers wrongly, also when asked again; infrastructure.
        """
        faults = (fault_of(ask, cwd=self._shop.spec.worktree) for _ in range(_TRIES))
        last = None
        for fault in faults:
            last = fault
            if fault is None:
                break
        # What the proof itself asked is nobody's attempt.
        self._told = self._told_before = len(self._service.blocked)
        self._asked_before, self._acts = self._service.asked, 0
        if last is not None:
            hint = "nothing was started; agent-hook.log in the run's folder has the hook's words"
            raise RunFailure(Outcome.INFRASTRUCTURE, "guard-selftest", last, hint=hint)

    def acted(self, act: Acted) -> str | None:
        """Take a tool that has run; give a reason to stop the agent where the guard did not allow just that.

        Where the client's stream names no use, as many must have been asked about as have run.
        """
        self._acts += 1
        if act.use_id:
            was_asked = self._service.has_allowed(act.use_id[:MAX_ID_CHARS])
        else:
            was_asked = self._acts <= self._service.asked - self._asked_before
        if was_asked:
            return None
        self.unasked = one_line(f"{act.tool} {act.use_id}".strip(), max_chars=_MAX_ABOUT_CHARS)
        return BYPASSED

    def tell(self) -> None:
        """Tell what was refused since the last time."""
        fresh = self._service.blocked[self._told :]
        self._told += len(fresh)
        for one in fresh:
            about = one_line(one.about, max_chars=_MAX_ABOUT_CHARS)
            what = f"{one.tool or 'a tool'}({about})" if about else one.tool or "a tool"
            self._shop.notebook.barrier.add(by="guard", what=what, code=one.code)
            reason = one_line(one.reason)
            self._shop.tell(Event.GUARD_REFUSED, tool=one.tool, about=about, code=one.code, reason=reason)

    def denials(self) -> tuple[str, ...]:
        """Name what was refused since the proof, each once."""
        named = (
            f"{one.tool}({one_line(one.about, max_chars=_MAX_ABOUT_CHARS)})"
            for one in self._service.blocked[self._told_before :]
        )
        return tuple(dict.fromkeys(named))


@contextmanager
def sentry(shop: Shop, ready: Ready) -> Iterator[Sentry | None]:
    """Let the guard stand while agents of a run work; None for a kind of agent that has no hooks.

    Raises:
        OSError: its socket cannot be made.
    """
    spec = shop.spec
    if not kind_of(spec.agent).asks_guard:
        yield None
        return
    from autopilot.runner.guard.service import GuardService  # noqa: PLC0415 - all tables of all programs

    with GuardService(_context(shop, ready), spec.run_dir / "guard.sock", clock=shop.clock) as service:
        yield Sentry(shop, service)


def bypassed(use: str) -> RunFailure:
    """Give the failure of an agent that used a tool without the guard's leave."""
    named = f" ({use})" if use else ""
    what = f"a tool of the agent ran that the guard had not been asked about and allowed{named}; it was ended"
    hint = "look at the agent's log: something turned its hooks off; an organisation's settings may do so"
    return RunFailure(Outcome.CONFIGURATION, BYPASSED, what, hint=hint)


def _context(shop: Shop, ready: Ready) -> GuardContext:
    from autopilot.runner.guard.verdict import GuardContext  # noqa: PLC0415 - as above

    spec, earlier = shop.spec, ready.earlier
    # What an earlier attempt left is as new as what this one writes; its list of names may be cut.
    is_all_new = earlier is not None and earlier.is_carried_on
    return GuardContext(
        worktree=str(spec.worktree),
        tmp=str(shop.tmp),
        commands=own_commands(ready.policy),
        hosts=frozenset(spec.network.static_hosts),
        mcp_tools=frozenset(spec.guard.allow_tools),
        programs=frozenset(spec.guard.read_only_programs),
        max_read_bytes=spec.guard.max_read_kib * 1024,
        started_ns=0 if is_all_new else shop.clock.now_ms() * _NS_PER_MS,
    )
