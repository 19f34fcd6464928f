"""`autopilot status`: the switch, what runs with elapsed time and spend, what waits, and why."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from autopilot.daemon.cli import console, door, shape
from autopilot.schemas.errors import ExitCode

if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterator, Mapping

    from autopilot.daemon.desk import Desk

WATCH_S = 1.0


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the forms of the answer."""
    parser.add_argument("--watch", action="store_true", help="refresh until interrupted")
    parser.add_argument("--json", action="store_true", help="print JSON")


def run(args: argparse.Namespace) -> ExitCode:
    """Print the state of the night once, or keep it on the screen."""
    if args.watch and not args.json:
        return _watch()
    view = fetch()
    if args.json:
        console.say_json(view)
    else:
        for line in lines(view):
            console.say(line)
    return ExitCode.OK


def fetch() -> dict[str, Any]:
    """Get the status from the daemon, or from the database without it."""
    return door.ask("GET", "/v1/status", alone=_alone)


def _alone(desk: Desk) -> dict[str, Any]:
    from autopilot.daemon import view

    return view.status(desk)


def lines(view: Mapping[str, Any]) -> Iterator[str]:
    """Give the status as lines of text."""
    yield _switch(view)
    money = view["money"]
    yield (
        f"spend: {shape.usd(money['settled_micro_usd'])} of {shape.usd(money['ceiling_micro_usd'])} in 24 h"
        f", {shape.usd(money['reserved_micro_usd'])} reserved"
    )
    counts = ", ".join(f"{count} {state}" for state, count in view["counts"].items() if count)
    yield f"tickets: {counts or 'none'}"
    for row in view["running"]:
        yield _running(row, view["now_ms"])
    for row in view["publishing"]:
        elapsed = shape.since(row["started_ms"], view["now_ms"])
        yield f"  publishing {row['ticket']['id']} {row['ticket']['title']}  {elapsed}"
    for ticket in view["parked"]:
        yield f"  parked {ticket['id']} {ticket['title']}: {shape.standing(ticket)}"
        yield f"    → autopilot why {ticket['id']}"
    yield from _holds(view)


def _switch(view: Mapping[str, Any]) -> str:
    switch, daemon = view["switch"], view["daemon"]
    until = f" until {shape.when(switch['until_ms'])}" if switch["until_ms"] else ""
    state = f"on{until}" if switch["is_on"] else "off"
    if daemon is None:
        return f"autopilot is {state}; no daemon is running"
    draining = ", draining" if daemon["is_draining"] else ""
    return f"autopilot is {state}; daemon {daemon['version']} runs as pid {daemon['pid']}{draining}"


def _running(row: Mapping[str, Any], now_ms: int) -> str:
    quiet = (
        ""
        if row["last_activity_ms"] is None
        else f", last sign {shape.since(row['last_activity_ms'], now_ms)} ago"
    )
    dead = "" if row["is_alive"] else ", its process is gone"
    money = f"{shape.usd(row['spent_micro_usd'])} of {shape.usd(row['reserved_micro_usd'])}"
    elapsed = shape.since(row["started_ms"], now_ms)
    name = f"{row['ticket']['id']} {row['ticket']['title']}"
    return f"  running {name}  {elapsed}  {money}  {row['agent']}{quiet}{dead}"


def _holds(view: Mapping[str, Any]) -> Iterator[str]:
    for hold in view["holds"]:
        yield f"  hold {hold['name']} ({hold['scope']}): {hold['cause']} → {hold['cure']}"


def _watch() -> ExitCode:
    from threading import Event

    pause = Event()
    if not console.is_terminal():
        while True:
            for line in lines(fetch()):
                console.say(line)
            pause.wait(WATCH_S)
    from rich.live import Live
    from rich.text import Text

    with Live(Text(""), auto_refresh=False, screen=False) as live:
        while True:
            live.update(Text(console.clean("\n".join(lines(fetch())))), refresh=True)
            pause.wait(WATCH_S)
