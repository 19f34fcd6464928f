"""Which hosts the outlet of a run lists, from what the operator has configured.

Pure. Must not list anything because a run asked for it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from autopilot.runner.network.names import Target
from autopilot.runner.network.policy import Endpoint, Policy, reading_from, service_at
from autopilot.schemas.errors import ConfigError

if TYPE_CHECKING:
    from collections.abc import Iterable

    from autopilot.schemas.network import NetworkSpec

LOOPBACK = "127.0.0.1"
_HERE = frozenset({LOOPBACK, "localhost"})


def agent_policy(
    network: NetworkSpec, services: Iterable[str], *, brokered: Endpoint | None = None
) -> Policy:
    """List the service of an agent, by its addresses, and the hosts that it may read from.

    Args:
        network: what the operator lists for all agents.
        services: addresses of the agent's own.
        brokered: what is reached through the key broker alone, and so in no other way.

    Raises:
        ConfigError: `service-unreadable`: an address of the service is none.
    """
    closed = brokered.target.host if brokered and brokered.target.host not in _HERE else None
    own = [each for each in map(service, services) if each.target.host != closed]
    own = [each for each in own if brokered is None or not is_same(each, brokered)]
    here = [_at_loopback(each) for each in own if each.target.host in _HERE]
    listed = [host for host in network.static_hosts if host != closed]
    return Policy((*own, *here, *reading_from(listed, near=network.internal_hosts)), closed)


def restore_policy(network: NetworkSpec, named: Iterable[Target] = ()) -> Policy:
    """List the registries, and nothing else.

    Args:
        network: what the operator lists.
        named: what the base commit names; read from by TLS only.
    """
    near = frozenset(network.internal_hosts)
    locked = (Endpoint(target=each, is_tls=True, may_be_near=each.host in near) for each in named)
    return Policy((*reading_from(network.registry_hosts, near=near), *locked))


def is_same(one: Endpoint, other: Endpoint) -> bool:
    """Tell whether two addresses are of one service: this machine has two names."""
    both = {one.target.host, other.target.host}
    return one.target.port == other.target.port and (len(both) == 1 or both <= _HERE)


def loopback_ports(policy: Policy) -> tuple[int, ...]:
    """Name the ports of this machine's loopback that the list lets a run reach."""
    return tuple(each.target.port for each in policy.endpoints if each.target.host == LOOPBACK)


def service(url: str) -> Endpoint:
    """Read the address of an agent's service.

    Raises:
        ConfigError: `service-unreadable`: it is none.
    """
    endpoint = service_at(url)
    if endpoint is None:
        what = f"the service of the agent has the address {url!r}, which is no http or https address"
        hint = "mend api of the agent, or the variable that it is from"
        raise ConfigError("service-unreadable", what, hint=hint)
    return endpoint


def _at_loopback(endpoint: Endpoint) -> Endpoint:
    """Name a service of this machine by its number too: a listener inside knows no name."""
    target = Target(LOOPBACK, endpoint.target.port, is_address=True)
    return Endpoint(target=target, is_tls=endpoint.is_tls, writes=True, may_be_near=True)
