"""Faults planted into the product, one at a time: a simulation that finds none of them proves nothing.

Each is given as patches of modules. `test_mutants.py` says in how many seeds it may hide.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from typing import Any

from autopilot.daemon import (
    app,
    breaker,
    budget,
    judge,
    publishing,
    transitions,
    transitions_publish,
    verdicts,
)
from autopilot.daemon.clockwork import Clockwork
from autopilot.daemon.loop import Loop
from autopilot.daemon.store import claims, moves, queries_tickets, settle
from autopilot.daemon.store.rows import Switch
from autopilot.daemon.supervisor import Supervisor
from autopilot.daemon.watch import Watch
from autopilot.publish import branch, open_draft
from autopilot.schemas.errors import AutopilotError
from autopilot.schemas.machine import State, Trigger
from autopilot.schemas.publication import PublishVerdict
from tests.simulation.ends import Patch

Mutant = Callable[[], tuple[Patch, ...]]


def guarded_by_state_only() -> tuple[Patch, ...]:
    """A move is written over a ticket that has changed since it was seen, if only its state is the same."""

    def advance(unit: Any, seen: Any, trigger: Trigger, values: Any, **about: Any) -> Any:
        now = queries_tickets.ticket(unit.conn, seen.id)
        if now is not None and now.state is seen.state:
            names = ("claim_token", "fence", "cancel_requested")
            seen = seen.model_copy(update={name: getattr(now, name) for name in names})
        return moves.advance(unit, seen, trigger, values, **about)

    return ((transitions, "advance", advance), (transitions_publish, "advance", advance))


def release_unsettled() -> tuple[Patch, ...]:
    """A run given back leaves its reservation standing."""
    settled = settle.end_attempt

    def end_attempt(unit: Any, seen: Any, ending: Any, rules: Any) -> Any:
        return {} if ending.trigger is Trigger.RELEASE else settled(unit, seen, ending, rules)

    return ((transitions, "end_attempt", end_attempt),)


def _advance(changed: Callable[[Any, Trigger, dict[str, Any]], dict[str, Any]]) -> tuple[Patch, ...]:
    def advance(unit: Any, seen: Any, trigger: Trigger, values: Any, **about: Any) -> Any:
        return moves.advance(unit, seen, trigger, changed(seen, trigger, dict(values)), **about)

    return ((transitions, "advance", advance), (transitions_publish, "advance", advance))


def claimed_under_the_old_fence() -> tuple[Patch, ...]:
    """A second claim cannot be told from the first."""
    return _advance(
        lambda seen, trigger, values: values | ({"fence": seen.fence} if trigger is Trigger.CLAIM else {})
    )


def retried_for_nothing() -> tuple[Patch, ...]:
    """A failed attempt is not counted."""
    return _advance(
        lambda seen, trigger, values: (
            values | ({"attempts": seen.attempts - 1} if trigger is Trigger.RETRY else {})
        )
    )


def released_by_recovery() -> tuple[Patch, ...]:
    """A restart lets go what a breaker parked."""
    recover = Loop.recover

    def generous(loop: Loop) -> None:
        recover(loop)
        store = loop._shop.store  # noqa: SLF001 - a mutant may do what nobody should
        with store.read() as conn:
            parked = queries_tickets.tickets(conn, states=[State.PARKED])
        for ticket in parked:
            with suppress(AutopilotError):
                transitions.resume_run(store, ticket, by="daemon")

    return ((Loop, "recover", generous),)


def published_without_asking() -> tuple[Patch, ...]:
    """A pull request is opened, whether there is one or not."""
    opened = open_draft._open  # noqa: SLF001 - as above

    def blindly(ctx: Any, forge: Any, known: Any, facts: Any) -> Any:
        return opened(ctx, forge, None, facts)

    return ((open_draft, "_open", blindly),)


def probed_by_many() -> tuple[Patch, ...]:
    """Half-open lets everybody through."""
    admits = breaker.admits
    return (
        (breaker, "admits", lambda row, now_ms: "free" if row.state == "half-open" else admits(row, now_ms)),
    )


def never_woken() -> tuple[Patch, ...]:
    """No backstop, no appointment: a lost nudge is never made good."""
    return (
        (Clockwork, "start", lambda _: None),
        (Clockwork, "appoint", lambda *_: None),
        (app, "LONGEST_WAIT_S", math.inf),
    )


def unknown_is_free() -> tuple[Patch, ...]:
    """A run that does not tell its cost costs nothing."""

    def charge(*, recorded: int, usage: Any, **_: Any) -> budget.Charge:
        told = 0 if usage is None else usage.cost_micro_usd
        return budget.Charge(max(recorded, told), known=usage is not None)

    return ((budget, "charge", charge),)


def beyond_is_free() -> tuple[Patch, ...]:
    """What the last step of a run cost beyond its ceiling is charged to nobody."""
    full = budget.charge

    def charge(*, reserved: int, **about: Any) -> budget.Charge:
        told = full(reserved=reserved, **about)
        return budget.Charge(min(told.micro_usd, reserved), known=told.known)

    return ((budget, "charge", charge),)


def unrecorded_is_free() -> tuple[Patch, ...]:
    """A runner whose start was not written down in time costs nothing."""
    return ((judge, "RUNNER_LOG", "no such file"),)


def left_running() -> tuple[Patch, ...]:
    """Recovery judges a run without ending what is left of it."""
    return ((Supervisor, "clear", lambda *_: 0),)


def told_too_early() -> tuple[Patch, ...]:
    """The end of a child is told while what it started lives on."""

    def is_swept(watch: Any) -> bool:
        watch._processes = _Blind(watch._processes)  # noqa: SLF001 - as above
        return swept(watch)

    swept = Watch._is_swept  # noqa: SLF001 - as above
    return ((Watch, "_is_swept", is_swept),)


class _Blind:
    """A table in which nothing can be ended."""

    def __init__(self, table: Any) -> None:
        self._table = table

    def __getattr__(self, name: str) -> Any:
        return getattr(self._table, name)

    def end_tree(self, *_: object, **__: object) -> int:
        return 0


def ceiling_forgotten() -> tuple[Patch, ...]:
    """Neither admission nor the claim looks at what a day may cost."""
    start = claims.start_attempt

    def start_attempt(unit: Any, values: Any, rules: Any) -> Any:
        return start(unit, values, replace(rules, cost_ceiling_micro_usd=10**12))

    yes = lambda *_: True  # noqa: E731 - three words
    return (
        (transitions, "start_attempt", start_attempt),
        (budget, "fits_ceiling", yes),
        (budget, "is_below_stop", yes),
    )


def anybodys_result() -> tuple[Patch, ...]:
    """A result is believed whoever it is of."""
    return ((judge, "_result_fault", lambda *_: ""),)


def switch_ignored() -> tuple[Patch, ...]:
    """Runs start while the switch stands at off."""
    return ((Switch, "may_launch", lambda *_: True),)


def pushed_over_anything() -> tuple[Patch, ...]:
    """A push takes the place of whatever is there by the time it arrives."""

    def push_arguments(spec: Any, *, over: str | None) -> tuple[str, ...]:
        *most, refs = arguments(spec, over=over)
        kept = (word for word in most if not word.startswith("--force-with-lease"))
        return (*kept, f"+{refs}")

    arguments = branch.push_arguments
    return ((branch, "push_arguments", push_arguments),)


def any_fence_believed() -> tuple[Patch, ...]:
    """A verdict is believed of whichever try of its publication it is, and that of the try before is left."""
    verdict_of = verdicts.verdict_of

    def believed(live: Any, verdict: Any) -> Any:
        found = verdict_of(live, verdict)
        if not (isinstance(found, str) and "of another try" in found):
            return found
        return PublishVerdict.model_validate_json(verdict.read_bytes())

    begin = publishing.begin

    def begun(shop: Any, seen: Any) -> None:
        left = shop.paths.verdict(seen.run_id or "")
        data = left.read_bytes() if left.is_file() else None
        begin(shop, seen)
        if data is not None and not left.exists():
            left.write_bytes(data)

    return ((verdicts, "verdict_of", believed), (publishing, "begin", begun))


MUTANTS: tuple[Mutant, ...] = (
    guarded_by_state_only,
    release_unsettled,
    claimed_under_the_old_fence,
    retried_for_nothing,
    released_by_recovery,
    published_without_asking,
    probed_by_many,
    never_woken,
    unknown_is_free,
    beyond_is_free,
    unrecorded_is_free,
    left_running,
    told_too_early,
    ceiling_forgotten,
    anybodys_result,
    switch_ignored,
    pushed_over_anything,
    any_fence_believed,
)

BY_NAME = {mutant.__name__: mutant for mutant in MUTANTS}
