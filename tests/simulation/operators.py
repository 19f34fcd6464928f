"""What persons do to the queue, at any moment, through the product's own desk."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from autopilot.daemon import desk as desks
from autopilot.daemon import settling
from autopilot.daemon.desk import Desk
from autopilot.daemon.inbox import StopAsked, Woken
from autopilot.schemas.errors import RefusedError, StaleTransitionError, TicketError
from autopilot.schemas.ids import short_id_of

if TYPE_CHECKING:
    from tests.simulation.world import World

MOST_TICKETS = 6


def act(world: World) -> None:
    """One act of one person; a refusal is an answer."""
    deed = world.chance.weighted(_DEEDS)
    world.note(f"operator: {deed.__name__}")
    _do(world, deed)
    if world.chance.is_hit(0.7):
        world.tell(Woken("operator"))  # else the nudge is lost


def _do(world: World, deed: Callable[[World, Desk], None]) -> None:
    try:
        deed(world, world.desk())
    except (RefusedError, TicketError, StaleTransitionError) as refusal:
        world.note(f"refused: {refusal.code}")


def add(world: World, desk: Desk) -> None:
    chance = world.chance
    if len(world.added) >= MOST_TICKETS:
        return
    known = sorted(world.added)
    fields = {
        "title": f"Ticket {chance.between(1, 99)}",
        "repo": chance.one_of(["shop", "till"]),
        "priority": chance.between(0, 3),
        "agent": chance.one_of([None, None, "other"]),
        "source_key": chance.one_of([None, None, "o/r#1"]),
        "depends_on": [f"T-{chance.one_of(known)}"] if known and chance.is_hit(0.2) else [],
        "not_before_ms": world.clock.wall_ms + 20_000 if chance.is_hit(0.1) else 0,
    }
    ticket = desks.add(desk, fields)["ticket"]
    world.added.add(short_id_of(ticket["id"]))


def cancel(world: World, desk: Desk) -> None:
    desks.cancel(desk, _somebody(world))


def cancel_running(world: World, desk: Desk) -> None:
    running = [row["short_id"] for row in world.invariants.tickets if row["state"] == "running"]
    if running:
        desks.cancel(desk, f"T-{world.chance.one_of(running)}")


def retry(world: World, desk: Desk) -> None:
    desks.retry(desk, _somebody(world))


def resume(world: World, desk: Desk) -> None:
    desks.resume(desk, _somebody(world))


def answer(world: World, desk: Desk) -> None:
    desks.answer(desk, _somebody(world), ["the first"])


def turn_on(world: World, desk: Desk) -> None:
    until_ms = world.clock.wall_ms + 60_000 if world.chance.is_hit(0.15) else None
    desks.turn_on(desk, until_ms=until_ms, ignore_window=world.chance.is_hit(0.7))


def turn_off(world: World, desk: Desk) -> None:
    desks.turn_off(desk, mode=world.chance.one_of(["finish", "drain", "now"]), drain_s=15.0)


def reset_breaker(world: World, desk: Desk) -> None:
    desks.reset_breaker(desk, world.chance.one_of(["host", "agent:scripted", "repo:shop"]))


def settle(world: World, desk: Desk) -> None:
    settling.settle(desk, _somebody(world), world.chance.one_of(["merged", "closed"]))


def stop_daemon(world: World, desk: Desk) -> None:
    world.tell(StopAsked("SIGTERM"))


def change_config(world: World, desk: Desk) -> None:
    world.change_config()


_DEEDS: tuple[tuple[Callable[[World, Desk], None], int], ...] = (
    (add, 8), (cancel, 3), (cancel_running, 4), (retry, 5), (resume, 5), (answer, 3), (turn_on, 4),
    (turn_off, 3),
    (reset_breaker, 1), (settle, 2), (stop_daemon, 2), (change_config, 2),
)  # fmt: skip


def begin(world: World) -> None:
    """The evening: some tickets, and as a rule the switch."""
    for _ in range(world.chance.between(1, 4)):
        _do(world, add)  # another person may change the configuration meanwhile
    if world.chance.is_hit(0.9):
        _do(world, turn_on)


def leave_on(world: World) -> None:
    """Go home, with the switch at on."""
    desks.turn_on(world.desk(), ignore_window=True)
    world.tell(Woken("operator"))


def _somebody(world: World) -> str:
    return f"T-{world.chance.one_of(sorted(world.added) or [1])}"
