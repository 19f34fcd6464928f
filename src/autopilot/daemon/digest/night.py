"""The night as one value: everything the digest may say, already read from the store.

Must not read a clock, a file or the database.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal

from autopilot.schemas.machine import State

if TYPE_CHECKING:
    from collections.abc import Mapping
    from datetime import tzinfo

    from autopilot.daemon.phase_spend import PhaseSpend
    from autopilot.daemon.store.deliveries import Delivery
    from autopilot.daemon.store.nights import LastTime, LockState, Sleep
    from autopilot.daemon.store.past_holds import PastHold
    from autopilot.daemon.trouble import Trouble
    from autopilot.schemas.blocked import Blocked
    from autopilot.schemas.cell import OpenedKind
    from autopilot.schemas.checkup import Check
    from autopilot.schemas.ticket import Hold, Ticket


@dataclass(frozen=True, slots=True)
class Draft:
    """A draft pull request, or a pushed branch for which a person opens one."""

    ticket: Ticket
    url: str | None
    changed_files: int | None
    tests_executed: int | None
    notes: tuple[str, ...] = ()
    fate: Literal["closed", "merged"] | None = None
    """What a person has done with it since; None while it waits for review."""


@dataclass(frozen=True, slots=True)
class Money:
    """Spend of the rolling 24 hours against the ceiling, in micro-dollars."""

    spent_micro_usd: int
    reserved_micro_usd: int
    ceiling_micro_usd: int
    has_unknown: bool
    phases: tuple[PhaseSpend, ...] = ()
    """What the runs that ended in these hours tell of their phases; a run that told nothing is missing."""


@dataclass(frozen=True, slots=True)
class Disk:
    """What our own folders take, as the last clean-up counted it."""

    counted_ms: int
    mirrors: Mapping[str, int]
    """Bytes of each repository's mirror."""
    removable: int
    removable_bytes: int
    stays: tuple[str, ...] = ()
    """What was to go and could not, with the reason."""


@dataclass(frozen=True, slots=True)
class Night:
    """From `since_ms` to `until_ms`: what happened and what is waiting now."""

    since_ms: int
    until_ms: int
    is_on: bool
    parked: tuple[Ticket, ...]
    drafts: tuple[Draft, ...]
    failed: tuple[Ticket, ...]
    cancelled: tuple[Ticket, ...]
    waiting: tuple[Ticket, ...]
    working: tuple[Ticket, ...]
    holds: tuple[Hold, ...]
    money: Money
    zone: tzinfo | None = None
    """The operator's time zone; None = this machine's."""
    open_questions: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    disk: Disk | None = None
    held_by: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """For each waiting ticket the names of its holds."""
    blocked: Mapping[str, tuple[Blocked, ...]] = field(default_factory=dict)
    """For each ticket what its latest run tried and was not let do."""
    strays: tuple[tuple[Ticket, str], ...] = ()
    """Tickets that were cancelled or failed, and where a draft of each is open still."""
    trouble: Trouble | None = None
    """What keeps the daemon's ticks from ending well; the holds are older than that."""
    is_served: bool = True
    """Whether a daemon runs; without one nothing moves, and the holds are those of its last look."""
    is_publishing: bool = True
    """Whether commits are published: not while the switch stands at off for what runs too."""
    forced: tuple[Check, ...] = ()
    """NO-GO lines that a person overruled when the switch was turned on."""
    sandbox: str = "auto"
    """What agents and tests are locked up in from now on, as configured."""
    sandboxes: Mapping[OpenedKind | None, tuple[str, ...]] = field(default_factory=dict)
    """What the runs of the night and of its drafts had, each with its tickets; None: not recorded."""
    sleeps: tuple[Sleep, ...] = ()
    """When the machine slept, and what that cost."""
    locks: tuple[LockState, ...] = ()
    """How the sleep locks were taken last."""
    troubled: tuple[LastTime, ...] = ()
    """Schedules that failed last, or have missed a date."""
    past_holds: tuple[PastHold, ...] = ()
    """What kept tickets from starting for a while of this night and does no longer, the longest first."""
    deliveries: tuple[Delivery, ...] = ()
    """What is still to go out through a channel, and what did not go out, or may have."""

    @property
    def is_quiet(self) -> bool:
        """Tell whether nothing at all moved and nothing waits."""
        return not (
            self.parked or self.drafts or self.failed or self.cancelled or self.working or self.waiting
        )


def sort_tickets(tickets: tuple[Ticket, ...], *, since_ms: int) -> dict[State, tuple[Ticket, ...]]:
    """Sort tickets by state; final ones only when they became so in this night."""
    return {
        state: tuple(
            ticket
            for ticket in tickets
            if ticket.state is state and (ticket.updated_ms >= since_ms or not _is_past(state))
        )
        for state in State
    }


def _is_past(state: State) -> bool:
    return state in {State.PUBLISHED, State.FAILED, State.CANCELLED}
