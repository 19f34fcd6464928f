"""How tickets, money and times look in a terminal. Works on the JSON that the desk and the daemon give."""

from __future__ import annotations

from autopilot.daemon.cli import console
from autopilot.daemon.next_command import next_command, price_hint
from autopilot.schemas.units import MS_PER_S, format_duration, format_usd, in_local_time, local_time

TYPE_CHECKING = False  # not from `typing`: ADR 0072
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from typing import Any

_MOST_UPCOMING = 6
PRIORITIES = ("urgent", "high", "normal", "low")


def tickets(rows: Sequence[Mapping[str, Any]]) -> None:
    """Print one line per ticket."""
    console.table(
        [
            (
                ticket["id"],
                ticket["state"],
                priority(ticket["priority"]),
                ticket["repo"],
                ticket["title"],
                standing(ticket),
            )
            for ticket in rows
        ],
        header=("ticket", "state", "priority", "repo", "title", "where it stands"),
    )


def standing(ticket: Mapping[str, Any]) -> str:
    """Say in a few words what the ticket's state means for a person."""
    if ticket.get("pr_url"):
        return str(ticket["pr_url"])
    if ticket.get("waiting_for"):
        return in_local_time(f"waits for {ticket['waiting_for']}: {ticket['reason']}")
    return in_local_time(str(ticket.get("reason") or ""))


def command(ticket: Mapping[str, Any]) -> str | None:
    """Name the command that moves the ticket on, if it is a person's turn."""
    return next_command(ticket["id"], ticket["state"], ticket["waiting_for"])


def without_price(phases: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    """Name the key to add for each model whose tokens have no price."""
    for model in dict.fromkeys(model for phase in phases for model in phase["unpriced"]):
        yield price_hint(model)


def priority(value: int) -> str:
    """Name a priority."""
    return PRIORITIES[value] if 0 <= value < len(PRIORITIES) else str(value)


def holds(rows: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    """Show each hold with its cause, start and cure."""
    for hold in rows:
        until = f", clears {when(hold['clears_ms'])}" if hold.get("clears_ms") else ""
        scope = "" if hold["scope"] == "host" else f" ({hold['scope']})"
        cause = in_local_time(console.line(hold["cause"]))
        yield f"  {hold['name']}{scope}: {cause}, since {when(hold['since_ms'])}{until}"
        yield f"      → {console.line(hold['cure'])}"


def trouble_of(daemon: Mapping[str, Any] | None) -> Mapping[str, Any] | None:
    """Give what keeps a living daemon's ticks from ending well; one of an older version tells nothing."""
    found: Mapping[str, Any] | None = (daemon or {}).get("trouble")
    return found


def trouble(row: Mapping[str, Any] | None, *, indent: int) -> Iterator[str]:
    """Show why nothing is judged or started although the daemon lives."""
    if row is not None:
        times = f", {row['ticks']} times in a row" if row["ticks"] > 1 else ""
        reason = console.line(row["reason"])
        yield f"{'':{indent}}its tick fails since {when(row['since_ms'])}{times}: {reason}"
        yield f"{'':{indent}}→ {console.line(row['cure'])}"


def upcoming(rows: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    """Show what happens next by itself; what falls due at the same moment is one line."""
    by_time: dict[str, list[str]] = {}
    for row in rows:
        by_time.setdefault(row["local"], []).append(row["name"])
    for moment, names in tuple(by_time.items())[:_MOST_UPCOMING]:
        yield f"  {moment}  {', '.join(names)}"


def machine(view: Mapping[str, Any]) -> Iterator[str]:
    """Show when the machine slept lately, which sleep lock it refuses, and which schedule is in trouble."""
    for row in view["sleeps"]:
        lost = f", {_long(row['lost_ms'])} of it in hours for tickets" if row["lost_ms"] else ""
        broke = f", through {', '.join(row['runs'])}" if row["runs"] else ""
        yield f"  slept from {when(row['started_ms'])} for {_long(row['slept_ms'])}{lost}{broke}"
    for row in view["awake_locks"]:
        if row["warning"]:
            whose = "from on to off" if row["name"] == "night" else "beside runs"
            what = "no sleep lock" if row["kind"] == "none" else "no lock for the lid"
            yield f"  {what} {whose} [{row['warning']}]: {console.line(row['detail'])}"
            yield "      → autopilot doctor"
    for row in view["schedules"]:
        if row["outcome"] == "failed":
            yield f"  {row['name']} failed {when(row['ended_ms'])}: {console.line(row['detail'])}"
            yield f"      tried again {when(row['next_ms'])}"
        elif row["is_stale"]:
            yield f"  {row['name']} was last for {when(row['due_ms'])}"


def _long(duration_ms: int) -> str:
    return format_duration(duration_ms / MS_PER_S)


def saved_work(rows: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    """Show what was saved of earlier runs, and how to get at it."""
    import shlex

    for row in rows:
        commits = f", {len(row['agent_commits'])} commits of its own" if row["agent_commits"] else ""
        told = f"saved work of {row['run_id']}: {row['changed_files']} files{commits} ({row['reason']})"
        yield console.line(told)
        if row["bundle"]:
            yield console.line(f"  → git fetch {shlex.quote(row['bundle'])} 'refs/*:refs/saved/*'")


def when(epoch_ms: int) -> str:
    """Show a time as the clock on the wall shows it, to the minute, with its zone."""
    return local_time(epoch_ms)


def since(epoch_ms: int, now_ms: int) -> str:
    """Show how long ago something was."""
    return format_duration((now_ms - epoch_ms) / MS_PER_S)


def usd(cost_micro_usd: int | None) -> str:
    """Show money; a dash when nothing is known."""
    return "-" if cost_micro_usd is None else format_usd(cost_micro_usd)
