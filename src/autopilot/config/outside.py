"""Settings of what may come in from outside, and of what may be reached there.

Must not hold a default (they stand in `defaults.toml`).
"""

from __future__ import annotations

from typing import Annotated

from pydantic import AfterValidator, Field

from autopilot.schemas.hosts import host_fault
from autopilot.schemas.network import NetworkSpec
from autopilot.schemas.origin import Account, Trust
from autopilot.schemas.records import Input


def _host(name: str) -> str:
    if fault := host_fault(name):
        msg = f"{name!r} {fault}; write names such as docs.example.org, without scheme and port"
        raise ValueError(msg)
    return name


Host = Annotated[str, AfterValidator(_host)]
Association = Annotated[str, Field(pattern=r"^[A-Z][A-Z_]{1,39}$")]


class Network(Input):
    """What may be reached from inside of a sandbox, beside an agent's own service."""

    static_hosts: tuple[Host, ...] = Field(
        description="hosts that an agent may read from (GET and HEAD, ports 443 and 80); each is a risk"
    )
    registry_hosts: tuple[Host, ...] = Field(
        description="hosts that a restore of locked packages may read from, whatever the lock file says"
    )
    registry_from_lock: bool = Field(
        description="it may also read from the https hosts that the base commit's lock file names"
    )
    internal_hosts: tuple[Host, ...] = Field(
        description="those of these hosts that may lie in a private network, such as a registry of your own"
    )

    def spec(self) -> NetworkSpec:
        """Give it as a run is told of it."""
        return NetworkSpec(**self.model_dump())


class Intake(Input):
    """Whose tickets are taken in when they say that they come from a tracker."""

    trusted_associations: tuple[Association, ...] = Field(
        description="what an author must be to the repository, in the tracker's own words"
    )
    trusted_authors: tuple[Account, ...] = Field(
        description="accounts that are trusted, and may approve a text, by number: github:583231"
    )

    def trust(self) -> Trust:
        """Give it as the rule takes it."""
        return Trust(associations=self.trusted_associations, authors=self.trusted_authors)
