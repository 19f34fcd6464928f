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
from autopilot.runner.agents.registry import services_of
from autopilot.runner.network import inside
from autopilot.runner.network.line import Operator
from autopilot.runner.network.outlet import Gate, Outlet
from autopilot.runner.network.plan import agent_policy, loopback_ports
from autopilot.runner.sandbox.confinement import OWN_LOOPBACK
from autopilot.schemas.events import Event

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from pathlib import Path

    from autopilot.runner.network.policy import Policy
    from autopilot.runner.network.refused import Refused
    from autopilot.runner.sandbox.confinement import Confinement, Sandbox
    from autopilot.runner.shop import Shop
    from autopilot.schemas.run import AgentSpec

    Tell = Callable[[Event, Mapping[str, object]], None]


@dataclass(frozen=True, slots=True)
class WayOut:
    """How a command that is locked up gets out; without an outlet it has the machine's own network."""

    outlet: Outlet | None
    also: tuple[int, ...]
    tell: Tell
    shared: int | None = None
    """Where the forwarder listens in a sandbox that has no loopback of its own; None = it has."""

    def argv(self, argv: Sequence[str]) -> tuple[str, ...]:
        """Put the forwarder before a command."""
        if self.outlet is None:
            return tuple(argv)
        also = self.also if self.shared is None else ()  # there, a port means itself already
        return inside.wrap(argv, self.outlet.socket, port=self._port, also=also)

    def environment(self) -> dict[str, str]:
        """Give the variables by which programs find the forwarder."""
        return inside.proxy_environment(self._port) if self.outlet else {}

    def opened(self, room: Confinement) -> Confinement:
        """Let the forwarder, and the outlet's socket, into what a command may touch."""
        if self.outlet is None:
            return room
        readable = (*room.readable, inside.forwarder_file())
        programs = (*room.programs, self.argv(())[0])
        ports = (self._port, *self.also)
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

    def counts(self) -> Iterator[tuple[str, str, int]]:
        """Give each kind of attempt, why it was refused, and how often it came; an empty kind: all others."""
        if self.outlet is None:
            return
        for refused, count in self.outlet.refusals.counts().items():
            yield described(refused), refused.code, count
        if rest := self.outlet.refusals.rest:
            yield "", "more", rest

    @property
    def _port(self) -> int:
        """Choose a port that does not mean something else already."""
        if self.shared is not None:
            return self.shared
        return next(port for port in range(inside.PORT, inside.PORT + 100) if port not in self.also)


@contextmanager
def way_out(sandbox: Sandbox, path: Path, policy: Policy, tell: Tell) -> Iterator[WayOut]:
    """Open an outlet for as long as the block lasts; where nothing is locked up, there is none.

    Raises:
        OSError: its socket cannot be made.
        ConfigError: the host's own proxy cannot be spoken to.
        TransientError: the machine gives us no thread.
    """
    if sandbox.kind == "none":
        yield WayOut(None, (), tell)
        return
    gate = Gate(policy, Operator(outward=outward(current())))
    with Outlet(path, gate) as outlet:
        shared = None if sandbox.kind in OWN_LOOPBACK else _free_port()
        way = WayOut(outlet, loopback_ports(policy), tell, shared)
        try:
            yield way
        finally:
            way.tell_news()


def _free_port() -> int:
    """Find a port of this machine's loopback that nobody has."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@contextmanager
def way_of_agent(shop: Shop, agent: AgentSpec, environment: Mapping[str, str]) -> Iterator[WayOut]:
    """Open the outlet of an agent; what it refuses is told, and written into the run's notebook.

    Raises:
        OSError: its socket cannot be made.
        ConfigError: the host's own proxy, or an address of the agent's service, cannot be used.
        TransientError: the machine gives us no thread.
    """
    policy = agent_policy(shop.spec.network, services_of(agent, environment))
    with way_out(shop.sandbox, shop.spec.run_dir / "outlet.sock", policy, shop.outbox.tell) as way:
        try:
            yield way
        finally:
            for what, code, count in way.counts():
                shop.notebook.barrier.refused(what, code, count)


def described(refused: Refused) -> str:
    """Say in a few words what was tried."""
    if not refused.host:
        return "a request that could not be understood"
    port = f":{refused.port}" if refused.port else ""
    return f"{refused.method} {refused.host}{port}"


def facts(refused: Refused) -> dict[str, object]:
    """Give one refusal as facts of an event."""
    return {"host": refused.host, "port": refused.port, "method": refused.method, "code": refused.code}
