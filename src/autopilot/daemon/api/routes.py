"""Who answers a call on the control socket, and from when on.

Must not know what a path means, but for the one that asks whether we live: `answers.py` does, and is imported
when somebody asks for more.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from autopilot.daemon.inbox import Woken
from autopilot.daemon.store import queries_host
from autopilot.schemas.errors import TransientError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from autopilot.daemon.api.call import Call
    from autopilot.daemon.desk import Desk
    from autopilot.daemon.inbox import Inbox
    from autopilot.daemon.store.engine import Store

_HEALTH = ("GET", "/v1/health")


@dataclass(frozen=True, slots=True)
class Routes:
    """Answers calls; after each write the loop is woken."""

    store: Store
    desk: Callable[[], Desk]
    inbox: Inbox
    about: Callable[[], Mapping[str, Any]]
    """What only the living daemon knows: pid, version, start."""
    is_ready: Callable[[], bool] = lambda: True
    """Whether the queue was found whole; before that nothing of it is read or written for anybody."""

    def __call__(self, call: Call) -> Mapping[str, Any]:
        """Answer one call; a value of the answer that is long is an iterator.

        Raises:
            CallError: no such path, or a field has the wrong type.
            AutopilotError: what the desk refused, or the store cannot be read.
        """
        is_ready = self.is_ready()
        if (call.method, call.path) == _HEALTH:
            return self._health(is_ready=is_ready)
        if not is_ready:
            raise TransientError(
                "daemon-checking",
                "the daemon is starting: it recovers, or reads the structure of a large database",
                hint="try again in a moment; nothing is read or written before that is done",
            )
        from autopilot.daemon.api import answers  # noqa: PLC0415 - an idle daemon answers nobody

        if call.method != "POST":
            return answers.read(self.desk(), call, about=self.about())
        answer = answers.write(self.desk(), call)
        self.inbox.put(Woken(f"{call.method} {call.path}"))
        return answer

    def _health(self, *, is_ready: bool) -> Mapping[str, Any]:
        """Say that we live, and, once anything may be read, prove that the store can be."""
        if not is_ready:
            return {"status": "checking", **self.about()}
        with self.store.read() as conn:
            queries_host.switch(conn)
        return {"status": "ok", **self.about()}
