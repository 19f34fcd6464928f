"""What may be reached from inside of a run, as the operator configured it."""

from __future__ import annotations

from pydantic import Field

from autopilot.schemas.records import Record


class NetworkSpec(Record):
    """Hosts by their plain names; the service of the agent itself is with the agent."""

    static_hosts: tuple[str, ...] = Field(default=(), description="an agent may read from these")
    registry_hosts: tuple[str, ...] = Field(
        default=(), description="a restore of what the lock file names may read from these"
    )
    registry_from_lock: bool = Field(
        default=False, description="it may read from the hosts that the base commit's lock file names, too"
    )
    internal_hosts: tuple[str, ...] = Field(
        default=(), description="those of them whose address may be a private one"
    )
