"""How tickets, money and times look in a terminal. Works on the JSON that the desk and the daemon give."""

from __future__ import annotations

from autopilot.daemon.cli import console
from autopilot.daemon.next_command import next_command, price_hint
from autopilot.schemas.units import MS_PER_S, format_duration, format_usd

TYPE_CHECKING = False  # not from `typing`: ADR 0072
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from typing import Any

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
        return f"waits for {ticket['waiting_for']}: {ticket['reason']}"
    return str(ticket.get("reason") or "")


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
        yield f"  {hold['name']}{scope}: {console.line(hold['cause'])}, since {when(hold['since_ms'])}{until}"
        yield f"      → {console.line(hold['cure'])}"


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
    from datetime import UTC, datetime

    moment = datetime.fromtimestamp(epoch_ms / MS_PER_S, tz=UTC).astimezone()
    return f"{moment:%Y-%m-%d %H:%M %Z}"


def since(epoch_ms: int, now_ms: int) -> str:
    """Show how long ago something was."""
    return format_duration((now_ms - epoch_ms) / MS_PER_S)


def usd(cost_micro_usd: int | None) -> str:
    """Show money; a dash when nothing is known."""
    return "-" if cost_micro_usd is None else format_usd(cost_micro_usd)
