"""Opens an outlet around an agent, or around one question to its account: with a key broker where that works.

Must not let a sign-in into the cell that can stay outside of it (`agents/sign_in.py`).
"""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING

from autopilot.config.environ import current
from autopilot.config.outward import outward
from autopilot.runner.agents.registry import own_variables, services_of
from autopilot.runner.in_clear import refuse_in_clear
from autopilot.runner.network.line import Operator
from autopilot.runner.network.outlet import Gate, Outlet
from autopilot.runner.network.plan import agent_policy
from autopilot.runner.stand_ins import stand_ins
from autopilot.runner.way_out import WayOut, free_port, way_out

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

    from autopilot.runner.shop import Shop
    from autopilot.schemas.events import Event
    from autopilot.schemas.network import NetworkSpec
    from autopilot.schemas.run import AgentSpec


@contextmanager
def way_of_agent(shop: Shop, agent: AgentSpec) -> Iterator[WayOut]:
    """Open the outlet of an agent; what it refuses is told, and written into the run's notebook.

    Raises:
        OSError: its socket cannot be made.
        ConfigError: the host's own proxy, or an address of the agent's service, cannot be used.
        TransientError: the machine gives us no thread.
    """
    environment = {name: value for name, value in current().items() if name in own_variables(agent)}
    refuse_in_clear(agent, environment)
    known = stand_ins(agent, environment) if shop.sandbox.kind != "none" else None
    if known is None:
        policy = agent_policy(shop.spec.network, services_of(agent, environment))
    else:  # a second host of the vendor's would be a way around the broker
        policy = agent_policy(shop.spec.network, agent.api, brokered=known.endpoint)
    with way_out(
        shop.sandbox, shop.spec.run_dir / "outlet.sock", policy, shop.outbox.tell, known=known
    ) as way:
        try:
            yield way
        finally:
            for what, code, count in way.counts():
                shop.notebook.barrier.refused(what, code, count)


@contextmanager
def way_of_question(
    agent: AgentSpec, network: NetworkSpec, environment: Mapping[str, str], path: Path
) -> Iterator[WayOut]:
    """Open the key broker for one question to an agent's account that is not part of a run.

    The client is not locked up, so the broker is found at a port of this machine's own loopback; who else
    comes there has no stand-in. Without anything to keep from the client there is no outlet.

    Raises:
        OSError: its socket cannot be made.
        ConfigError: the host's own proxy, or the address of the agent's service, cannot be used.
        TransientError: the machine gives us no thread.
    """
    own = {name: environment[name] for name in own_variables(agent) if name in environment}
    refuse_in_clear(agent, own)
    known = stand_ins(agent, own)
    if known is None:
        yield WayOut(None, (), _told_nobody)
        return
    port = free_port()
    policy = agent_policy(network, agent.api, brokered=known.endpoint)
    gate = Gate(policy, Operator(outward=outward(environment)), known.broker(port))
    with Outlet(path, gate) as outlet:
        yield WayOut(outlet, (), _told_nobody, port, is_shared=True, stand_ins=known)


def _told_nobody(event: Event, facts: Mapping[str, object]) -> None:
    """Take what a run would write down; the answer to the question tells of it too."""
