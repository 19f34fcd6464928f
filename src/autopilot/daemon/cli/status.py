"""`autopilot status`: the switch, what runs with elapsed time and spend, what waits, and why."""

from __future__ import annotations

from autopilot.daemon.cli import console, door, shape
from autopilot.daemon.delivery import standing
from autopilot.daemon.next_command import close_hint
from autopilot.schemas.errors import ExitCode
from autopilot.schemas.units import in_local_time

TYPE_CHECKING = False  # not from `typing`: ADR 0072
if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterable, Iterator, Mapping
    from typing import Any

    from autopilot.daemon.desk import Desk

WATCH_S = 1.0


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the forms of the answer."""
    parser.add_argument("--watch", action="store_true", help="refresh until interrupted")
    parser.add_argument("--json", action="store_true", help="print JSON; with --watch one line per look")


def run(args: argparse.Namespace) -> ExitCode:
    """Print the state of the night once, or keep it on the screen."""
    if args.watch:
        _watch(as_json=args.json)
    view = fetch()
    if args.json:
        console.say_json(view)
    else:
        console.say("\n".join(lines(view)))
    return ExitCode.OK


def fetch() -> dict[str, Any]:
    """Get the status from the daemon, or from the database without it."""
    return door.ask("GET", "/v1/status", alone=_alone)


def _alone(desk: Desk) -> dict[str, Any]:
    from autopilot.daemon import view

    return view.status(desk)


def lines(view: Mapping[str, Any]) -> Iterator[str]:
    """Give the status as lines of text: the machine first, then what runs, waits on a person, is held."""
    yield from _machine(view)
    yield from _block("running", (_running(row, view["now_ms"]) for row in view["running"]))
    yield from _block("publishing", (_publishing(row, view["now_ms"]) for row in view["publishing"]))
    yield from _block("waits on you", (line for ticket in view["parked"] for line in _parked(ticket)))
    yield from _block("drafts of tickets that have ended", _strays(view.get("stray_drafts", ())))
    yield from _block(_held(view), shape.holds(view["holds"]))
    yield from _block("not delivered", _undelivered(view))
    yield from _block("open breakers", _breakers(view))
    yield from _block("this machine", shape.machine(view))
    yield from _block("next", shape.upcoming(view["upcoming"]))


def _held(view: Mapping[str, Any]) -> str:
    """Head the holds; they are those of the last tick that came to a good end."""
    trouble = shape.trouble_of(view["daemon"])
    return f"held, as of before {shape.when(trouble['since_ms'])}" if trouble else "held"


def _block(title: str, rows: Iterator[str]) -> Iterator[str]:
    shown = list(rows)
    if shown:
        yield from ("", title, *shown)


def _machine(view: Mapping[str, Any]) -> Iterator[str]:
    money, switch = view["money"], view["switch"]
    yield f"autopilot  {_switch(switch, view['now_ms'])}"
    yield f"daemon     {_daemon(view)}"
    yield from shape.trouble(shape.trouble_of(view["daemon"]), indent=11)
    yield from _failed_starts(view["failed_starts"])
    yield from _forced(view)
    yield (
        f"spend      {shape.usd(money['settled_micro_usd'])} of {shape.usd(money['ceiling_micro_usd'])}"
        f" in 24 hours, {shape.usd(money['reserved_micro_usd'])} reserved"
    )
    counts = ", ".join(f"{count} {state}" for state, count in view["counts"].items() if count)
    yield f"tickets    {counts or 'none'}"


def _switch(switch: Mapping[str, Any], now_ms: int) -> str:
    until_ms = switch["until_ms"]
    if not switch["is_on"]:
        return f"off since {shape.when(switch['changed_ms'])}" if switch["changed_ms"] else "off"
    if until_ms is not None and until_ms <= now_ms:
        return f"off: it was on until {shape.when(until_ms)}"
    hours = ", also outside the window" if switch["ignore_window"] else ""
    return "on" + (f" until {shape.when(until_ms)}" if until_ms else "") + hours


def _daemon(view: Mapping[str, Any]) -> str:
    daemon = view["daemon"]
    if daemon is None:
        return "none is running" + (": nothing starts → autopilot on" if view["switch"]["is_on"] else "")
    draining = ", draining: it ends when its runs have ended" if daemon["is_draining"] else ""
    up = shape.since(daemon["started_ms"], view["now_ms"])
    return f"{daemon['version']} runs for {up} as pid {daemon['pid']}{draining}"


def _forced(view: Mapping[str, Any]) -> Iterator[str]:
    """Name what a person overruled when the switch was turned on."""
    for line in view["forced"] if view["switch"]["is_on"] else ():
        yield f"forced     {console.line(line['name'])}: {in_local_time(console.line(line['evidence']))}"


def _failed_starts(failed: Mapping[str, Any] | None) -> Iterator[str]:
    if failed is not None:
        times = f"{failed['count']} time" + ("s" if failed["count"] > 1 else "")
        reason = console.line(failed["reason"])
        yield f"           it failed to start {times}, last {shape.when(failed['last_ms'])}: {reason}"
        if failed["hint"]:
            yield f"           → {console.line(failed['hint'])}"


def _running(row: Mapping[str, Any], now_ms: int) -> str:
    seen_ms = row["last_activity_ms"]
    quiet = "" if seen_ms is None else f", last sign {shape.since(seen_ms, now_ms)} ago"
    dead = "" if row["is_alive"] else ", its process is gone"
    money = f"{shape.usd(row['spent_micro_usd'])} of {shape.usd(row['reserved_micro_usd'])}"
    told = f"{shape.since(row['started_ms'], now_ms)}, {money}, {row['agent']}{quiet}{dead}"
    return f"{_name(row['ticket'])}  {told}"


def _publishing(row: Mapping[str, Any], now_ms: int) -> str:
    return f"{_name(row['ticket'])}  {shape.since(row['started_ms'], now_ms)}"


def _strays(rows: Iterable[Mapping[str, Any]]) -> Iterator[str]:
    for row in rows:
        where = console.line(row["url"] or row["branch"])
        yield f"{_name(row['ticket'])}: it is {row['ticket']['state']}, and {where} is open"
        yield f"      → {close_hint(row['ticket']['id'])}"


def _parked(ticket: Mapping[str, Any]) -> Iterator[str]:
    yield f"{_name(ticket)}"
    yield f"      {console.line(shape.standing(ticket))}"
    yield f"      → {shape.command(ticket)}"


def _name(ticket: Mapping[str, Any]) -> str:
    return f"  {ticket['id']}  {console.line(ticket['title'])}"


def _undelivered(view: Mapping[str, Any]) -> Iterator[str]:
    """Name what was to go out and has not, or may have."""
    for row in view.get("deliveries", ()):
        yield f"  {console.line(standing.sentence(row))}"
        if row["hint"]:
            yield f"      → {console.line(row['hint'])}"


def _breakers(view: Mapping[str, Any]) -> Iterator[str]:
    """Show the breakers that no hold tells of: without demand there is none."""
    told = {hold["scope"] for hold in view["holds"]}
    for row in view["breakers"]:
        if row["state"] != "closed" and row["scope"] not in told:
            series = f"{row['failures']} attempts produced nothing ({row['failure_class']})"
            yield f"  {row['scope']}: {series}{_probe(row)}"
            yield f"      → autopilot breaker reset {row['scope']}"


def _watch(*, as_json: bool) -> None:
    """Look again and again; only an interrupt ends it."""
    from threading import Event

    pause = Event()
    if as_json or not console.is_terminal():
        while True:
            console.say_json_line(fetch()) if as_json else console.say("\n".join((*lines(fetch()), "")))
            console.flush()
            pause.wait(WATCH_S)
    from rich.live import Live
    from rich.text import Text

    with Live(console=console.rich_console(), auto_refresh=False) as live:
        while True:
            live.update(Text(console.clean("\n".join(lines(fetch())))), refresh=True)
            pause.wait(WATCH_S)


def _probe(row: Mapping[str, Any]) -> str:
    """Say when one run may try whether the cause is gone."""
    if row["probe_run_id"]:
        return f", {row['probe_run_id']} tries whether it is over"
    until_ms = row["cooldown_until_ms"]
    return f", one run may try again {shape.when(until_ms)}" if until_ms else ""
