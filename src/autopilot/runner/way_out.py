"""Opens an outlet around one command, and tells what it refused.

Must not decide where a command may go (`network/plan.py`), nor lock it up (`sandbox`).
"""

from __future__ import annotations

import socket
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from autopilot.config.environ import current
from autopilot.config.outward import outward
from autopilot.runner.network import inside
from autopilot.runner.network.line import Operator
from autopilot.runner.network.outlet import Gate, Outlet
from autopilot.runner.network.plan import loopback_ports
from autopilot.runner.sandbox.confinement import OWN_LOOPBACK
from autopilot.schemas.events import Event

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from pathlib import Path

    from autopilot.runner.network.broker import Broker
    from autopilot.runner.network.policy import Policy
    from autopilot.runner.network.refused import Refused
    from autopilot.runner.sandbox.confinement import Confinement, Sandbox
    from autopilot.runner.stand_ins import StandIns

    Tell = Callable[[Event, Mapping[str, object]], None]


@dataclass(frozen=True, slots=True)
class WayOut:
    """How a command that is locked up gets out; without an outlet it has the machine's own network."""

    outlet: Outlet | None
    also: tuple[int, ...]
    tell: Tell
    port: int = inside.PORT
    """Where the forwarder listens."""
    is_shared: bool = False
    """Whether the loopback is the machine's own."""
    stand_ins: StandIns | None = None

    def argv(self, argv: Sequence[str]) -> tuple[str, ...]:
        """Put the forwarder before a command."""
        if self.outlet is None:
            return tuple(argv)
        also = () if self.is_shared else self.also  # there, a port means itself already
        return inside.wrap(argv, self.outlet.socket, port=self.port, also=also)

    def environment(self) -> dict[str, str]:
        """Give the variables by which programs find the forwarder."""
        return inside.proxy_environment(self.port) if self.outlet else {}

    @property
    def broker(self) -> Broker | None:
        """Where the agent's service is found, and how it is signed for; None: the agent does that itself."""
        return self.stand_ins.broker(self.port) if self.stand_ins else None

    def covered(self, environment: Mapping[str, str]) -> Mapping[str, str]:
        """Put stand-ins in the place of what signs the agent in."""
        broker = self.broker
        if self.stand_ins is None or broker is None:
            return environment
        return self.stand_ins.cover(environment, broker.base_url)

    def opened(self, room: Confinement) -> Confinement:
        """Let the forwarder, and the outlet's socket, into what a command may touch."""
        if self.outlet is None:
            return room
        readable = (*room.readable, inside.forwarder_file())
        programs = (*room.programs, self.argv(())[0])
        ports = (self.port, *self.also)
        return replace(room, readable=readable, programs=programs, outlet=self.outlet.socket, ports=ports)

    def watched(self, should_stop: Callable[[], str | None]) -> Callable[[], str | None]:
        """Tell what is new whenever it is asked whether to stop."""

        def ask() -> str | None:
            self.tell_news()
            return should_stop()

        return ask

    def tell_news(self) -> None:
        """Tell of each kind of attempt once, as soon as somebody asks."""
        for refused in self.outlet.refusals.news() if self.outlet else ():
            self.tell(Event.NETWORK_REFUSED, facts(refused))

    def calls(self) -> dict[str, object]:
        """Give what the broker has carried to the agent's service, as facts; nothing where there is none."""
        return self.outlet.carried.facts() if self.outlet is not None and self.stand_ins is not None else {}

    def counts(self) -> Iterator[tuple[str, str, int]]:
        """Give each kind of attempt, why it was refused, and how often it came; an empty kind: all others."""
        if self.outlet is None:
            return
        for refused, count in self.outlet.refusals.counts().items():
            yield described(refused), refused.code, count
        if rest := self.outlet.refusals.rest:
            yield "", "more", rest


@contextmanager
def way_out(
    sandbox: Sandbox, path: Path, policy: Policy, tell: Tell, *, known: StandIns | None = None
) -> Iterator[WayOut]:
    """Open an outlet for as long as the block lasts; where nothing is locked up, there is none.

    Raises:
        OSError: its socket cannot be made.
        ConfigError: the host's own proxy cannot be spoken to.
        TransientError: the machine gives us no thread.
    """
    if sandbox.kind == "none":
        yield WayOut(None, (), tell)
        return
    also, is_shared = loopback_ports(policy), sandbox.kind not in OWN_LOOPBACK
    port = free_port() if is_shared else _unmeant_port(also)
    broker = known.broker(port) if known else None
    gate = Gate(policy, Operator(outward=outward(current())), broker)
    with Outlet(path, gate) as outlet:
        way = WayOut(outlet, also, tell, port, is_shared, known)
        try:
            yield way
        finally:
            way.tell_news()


def _unmeant_port(meant: Sequence[int]) -> int:
    """Choose a port that does not mean something else already."""
    return next(port for port in range(inside.PORT, inside.PORT + 100) if port not in meant)


def free_port() -> int:
    """Find a port of this machine's loopback that nobody has."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def described(refused: Refused) -> str:
    """Say in a few words what was tried."""
    if not refused.host:
        return "a request that could not be understood"
    port = f":{refused.port}" if refused.port else ""
    return f"{refused.method} {refused.host}{port}{refused.path}"


def facts(refused: Refused) -> dict[str, object]:
    """Give one refusal as facts of an event."""
    path = {"path": refused.path} if refused.path else {}
    return {
        "host": refused.host,
        "port": refused.port,
        "method": refused.method,
        "code": refused.code,
        **path,
    }
