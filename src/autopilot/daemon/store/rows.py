"""The rows that are not tickets, as frozen values.

Must not hold SQL: `mapping.py` turns rows into these. Stdlib and the shared words only.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from autopilot.schemas.machine import State, Trigger
    from autopilot.schemas.ticket import Hold, Ticket

AttemptState = Literal["running", "finished"]
BreakerState = Literal["closed", "open", "half-open"]
OffMode = Literal["finish", "drain", "now"]
PublicationState = Literal["running", "deferred", "done", "refused"]
PrState = Literal["open", "closed", "merged"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Attempt:
    """One try at a ticket: its process, its end and its money."""

    run_id: str
    ticket_id: str
    no: int
    """The attempt's number within the ticket, as the run was told."""
    session: int
    """Runs ever started for the ticket, this one included; never reset."""
    agent: str
    repo: str
    fence: int
    claim_token: str
    state: AttemptState
    pid: int | None
    pid_started_ms: int | None
    started_ms: int
    finished_ms: int | None
    outcome: str | None
    """An Outcome's value, or `lost`."""
    code: str
    message: str
    reserved_micro_usd: int
    spent_micro_usd: int
    """The largest spend ever recorded; once finished, what was charged."""
    spend_known: bool
    produced: bool | None
    """True: something for a person. False: nothing. None: says nothing about agent, repository or host."""
    failure_class: str | None
    is_probe: bool
    ended_by: Trigger | None
    head: str | None
    base_sha: str | None
    lease_until_ms: int | None
    """Until when its claim is promised; None: nobody has promised it anything yet."""
    boot: str | None
    """Which boot of the machine its process belongs to, where that can be told."""
    tokens: int
    """Tokens that the result told, those read from a cache too."""

    @property
    def process(self) -> tuple[int, int] | None:
        """Give pid and process start time (epoch ms), or None before the runner was started."""
        if self.pid is None or self.pid_started_ms is None:
            return None
        return self.pid, self.pid_started_ms


@dataclass(frozen=True, slots=True, kw_only=True)
class Publication:
    """One verified commit on its way to one draft pull request."""

    id: str
    ticket_id: str
    run_id: str
    state: PublicationState
    repo: str
    base: str
    base_sha: str
    branch: str
    head: str
    idempotency_key: str
    expected_remote_head: str | None
    tries: int
    losses: int
    pid: int | None
    pid_started_ms: int | None
    pushed: str | None
    outcome: str | None
    code: str
    message: str
    pr_url: str | None
    pr_number: int | None
    pr_state: PrState | None
    created_ms: int
    started_ms: int
    finished_ms: int | None
    fence: int
    """The ticket's fence of the claim that this try works for; zero in rows older than leases."""
    lease_until_ms: int | None
    boot: str | None

    @property
    def process(self) -> tuple[int, int] | None:
        """Give pid and process start time (epoch ms), or None before the publisher was started."""
        if self.pid is None or self.pid_started_ms is None:
            return None
        return self.pid, self.pid_started_ms


@dataclass(frozen=True, slots=True)
class LiveRun:
    """A running ticket with its attempt."""

    ticket: Ticket
    attempt: Attempt


@dataclass(frozen=True, slots=True)
class LivePublication:
    """A publishing ticket with its publication."""

    ticket: Ticket
    publication: Publication


@dataclass(frozen=True, slots=True, kw_only=True)
class HistoryEntry:
    """One move of one ticket, append-only."""

    id: int
    ticket_id: str
    trigger: Trigger
    from_state: State | None
    to_state: State
    at_ms: int
    by: str
    run_id: str | None
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Breaker:
    """The launch breaker of one scope: `host`, `agent:<name>` or `repo:<name>`."""

    scope: str
    state: BreakerState = "closed"
    failures: int = 0
    """Consecutive attempts of one failure class that produced nothing."""
    failure_class: str | None = None
    opened_ms: int | None = None
    cooldown_until_ms: int | None = None
    cooldown_ms: int = 0
    probe_run_id: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Switch:
    """The operator's word: launch or not, and until when. Survives a restart."""

    is_on: bool
    ignore_window: bool
    until_ms: int | None
    off_mode: OffMode
    drain_until_ms: int | None
    changed_ms: int
    by: str

    def may_launch(self, now_ms: int) -> bool:
        """Tell whether it stands at on at this moment (UTC epoch ms)."""
        return self.is_on and (self.until_ms is None or now_ms < self.until_ms)


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentWindow:
    """One agent's usage window is used up; at `resets_ms` one run may try."""

    agent: str
    since_ms: int
    resets_ms: int
    reason: str
    probe_run_id: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Spending:
    """The last 24 hours' money in micro-dollars; each run counts once."""

    settled_micro_usd: int
    reserved_micro_usd: int
    """Of live runs: the reservation, or the spend so far where that is larger."""
    live_spent_micro_usd: int
    unknown_runs: int
    """Settled runs whose agent never told its cost and that were charged their reservation."""

    @property
    def committed_micro_usd(self) -> int:
        """Give what is gone or promised."""
        return self.settled_micro_usd + self.reserved_micro_usd

    @property
    def spent_micro_usd(self) -> int:
        """Give what is gone, as far as it is known."""
        return self.settled_micro_usd + self.live_spent_micro_usd


@dataclass(frozen=True, slots=True)
class Dependency:
    """A ticket that must be published first, and where it is."""

    ticket_id: str
    state: State


@dataclass(frozen=True, slots=True)
class Enqueued:
    """The ticket, and whether it is new or was there already under the same source key."""

    ticket: Ticket
    is_new: bool


@dataclass(frozen=True, slots=True)
class Claim:
    """A ticket that is now running, and the attempt to start."""

    ticket: Ticket
    attempt: Attempt


@dataclass(frozen=True, slots=True)
class ClaimRefused:
    """Nothing was written: `hold` names why, in admission's words."""

    hold: str
    scope: str
    cause: str


@dataclass(frozen=True, slots=True)
class HoldChanges:
    """What `sync_holds` found new and gone."""

    started: tuple[Hold, ...]
    ended: tuple[Hold, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class StoreFacts:
    """One snapshot of what admission must know from the store."""

    switch: Switch
    spending: Spending
    running: tuple[LiveRun, ...]
    breakers: tuple[Breaker, ...]
    agent_windows: tuple[AgentWindow, ...]
    last_launch_ms: int | None
