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


def agent_policy(network: NetworkSpec, services: Iterable[str]) -> Policy:
    """List the service of an agent, by its addresses, and the hosts that it may read from.

    Raises:
        ConfigError: `service-unreadable`: an address of the service is none.
    """
    own = [_service(url) for url in services]
    here = [_at_loopback(each) for each in own if each.target.host in _HERE]
    return Policy((*own, *here, *reading_from(network.static_hosts, near=network.internal_hosts)))


def restore_policy(network: NetworkSpec) -> Policy:
    """List the registries, and nothing else."""
    return Policy(reading_from(network.registry_hosts, near=network.internal_hosts))


def loopback_ports(policy: Policy) -> tuple[int, ...]:
    """Name the ports of this machine's loopback that the list lets a run reach."""
    return tuple(each.target.port for each in policy.endpoints if each.target.host == LOOPBACK)


def _service(url: str) -> Endpoint:
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
