"""The triggers of publishing. See `transitions.py`, of which this is the second half."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING, Any, assert_never

from autopilot.daemon.next_command import close_hint
from autopilot.daemon.rules import Rules
from autopilot.daemon.store.moves import advance
from autopilot.daemon.store.publishing import end_publication, start_publication
from autopilot.daemon.store.rows import LivePublication
from autopilot.daemon.store.unit import Unit, in_one
from autopilot.daemon.transitions import DAEMON
from autopilot.schemas.decision import Park, PublishDone, PublishLater
from autopilot.schemas.errors import InvariantError
from autopilot.schemas.machine import Trigger

if TYPE_CHECKING:
    from autopilot.daemon.store.engine import Store
    from autopilot.schemas.decision import PublishDecision
    from autopilot.schemas.publication import PublishVerdict
    from autopilot.schemas.ticket import Ticket

_KEY_CHARS = 32
_USUAL = Rules()


def begin_publish(
    store: Store, seen: Ticket, *, base: str, base_sha: str, rules: Rules = _USUAL
) -> LivePublication:
    """Take a committed ticket for one publisher; where it will go is written down before anything is pushed.

    Args:
        store: the store.
        seen: the ticket as it was seen.
        base: the branch the pull request goes to.
        base_sha: the commit the run started from.
        rules: say how long its lease is.

    Returns:
        The ticket and its publication: the same one, with the same idempotency key, for the same commit.
    """

    def work(unit: Unit) -> LivePublication:
        if seen.head is None or seen.run_id is None:
            raise InvariantError(
                "head-missing", f"{seen.id} is {seen.state.value}, but no commit is recorded"
            )
        changes = {"fence": seen.fence + 1, "claim_token": unit.entropy.token(16), "not_before_ms": 0}
        ticket = advance(unit, seen, Trigger.BEGIN_PUBLISH, changes, by=DAEMON, reason="", run_id=seen.run_id)
        values = {
            "id": seen.run_id,
            "ticket": seen.short_id,
            "run_id": seen.run_id,
            "repo": seen.repo,
            "base": base,
            "base_sha": base_sha,
            "branch": seen.branch,
            "head": seen.head,
            "idempotency_key": _key(seen, seen.head),
            "fence": ticket.fence,
            "lease_until_ms": unit.now_ms + rules.lease_ms,
        }
        return LivePublication(ticket, start_publication(unit, values))

    return in_one(store, work)


def apply_publish(
    store: Store, seen: Ticket, verdict: PublishVerdict | None, decision: PublishDecision
) -> Ticket:
    """Carry out what `decide_publish.after_publish` decided about a publishing ticket.

    Raises:
        StaleTransitionError: the ticket changed since it was seen, or the verdict is of another publication.
    """
    match decision:
        case PublishDone():
            return publish_done(store, seen, verdict, decision)
        case PublishLater():
            return publish_later(store, seen, verdict, decision)
        case Park():
            return park_publish(store, seen, verdict, decision)
        case _:
            assert_never(decision)


def publish_done(store: Store, seen: Ticket, verdict: PublishVerdict | None, decision: PublishDone) -> Ticket:
    """End a ticket well: its draft is open, or its branch waits for a person to open one."""

    def work(unit: Unit) -> Ticket:
        end_publication(unit, seen, verdict, state="done")
        reason = "pushed; a person opens the pull request" if decision.awaiting_pr else ""
        if seen.cancel_requested:
            reason = "cancelled too late: it was published already" + (f"; {reason}" if reason else "")
        changes = {"pr_url": decision.pr_url, "reason": reason, "hint": ""}
        return advance(
            unit, seen, Trigger.PUBLISH_DONE, changes, by=DAEMON, reason=reason, run_id=seen.run_id
        )

    return in_one(store, work)


def publish_later(
    store: Store, seen: Ticket, verdict: PublishVerdict | None, decision: PublishLater
) -> Ticket:
    """Rest a ticket as committed until the forge can be asked again; a cancel that waited is made now."""

    def work(unit: Unit) -> Ticket:
        end_publication(unit, seen, verdict, state="deferred")
        changes = {"not_before_ms": decision.not_before_ms, "reason": decision.reason}
        rested = advance(
            unit, seen, Trigger.PUBLISH_LATER, changes, by=DAEMON, reason=decision.reason, run_id=seen.run_id
        )
        if not seen.cancel_requested:
            return rested
        reason, hint = _overtaken(seen, verdict)
        changes = {"reason": reason, "hint": hint}
        return advance(unit, rested, Trigger.CANCEL, changes, by=DAEMON, reason=reason)

    return in_one(store, work)


def park_publish(store: Store, seen: Ticket, verdict: PublishVerdict | None, decision: Park) -> Ticket:
    """Lay a publishing ticket aside until a person acts; its commit stays."""

    def work(unit: Unit) -> Ticket:
        end_publication(unit, seen, verdict, state="refused")
        changes = {
            "waiting_for": decision.waiting_for.value,
            "reason": decision.reason,
            "hint": decision.hint,
        }
        reason = f"{decision.waiting_for.value}: {decision.reason}"
        return advance(unit, seen, Trigger.PARK, changes, by=DAEMON, reason=reason, run_id=seen.run_id)

    return in_one(store, work)


def resume_publish(store: Store, seen: Ticket, *, by: str) -> Ticket:
    """Let a parked ticket's commit be published after all; no agent is paid again."""

    def work(unit: Unit) -> Ticket:
        changes: dict[str, Any] = {"not_before_ms": 0, "losses": 0, "reason": "", "hint": ""}
        return advance(unit, seen, Trigger.RESUME_PUBLISH, changes, by=by, reason="resumed")

    return in_one(store, work)


def _overtaken(seen: Ticket, verdict: PublishVerdict | None) -> tuple[str, str]:
    """Say what a cancel came too late for, and what a person does about it: none of ours will."""
    reason = "the operator asked for it while it was being published"
    if verdict is not None and verdict.pr is not None:
        return f"{reason}; its draft was opened by then: {verdict.pr.url}", close_hint(seen.id)
    if verdict is not None and verdict.pushed is not None:
        reason = f"{reason}; its branch {seen.branch} was pushed by then"
        return reason, f"close its draft at the forge, if there is one by now, and delete {seen.branch} there"
    return reason, f"should {seen.branch} be at the remote, it came there in that moment: delete it there"


def _key(seen: Ticket, head: str) -> str:
    """Name this delivery: the same for every try at it, another for any other commit or branch."""
    text = f"{seen.id}\x00{seen.repo}\x00{seen.branch}\x00{head}"
    return hashlib.sha256(text.encode()).hexdigest()[:_KEY_CHARS]
