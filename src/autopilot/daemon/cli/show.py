"""`autopilot show`: one ticket whole."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from autopilot.daemon.cli import console, door, shape
from autopilot.daemon.next_command import close_hint
from autopilot.schemas.errors import ExitCode
from autopilot.schemas.ids import canonical
from autopilot.schemas.units import in_local_time

if TYPE_CHECKING:
    import argparse
    from collections.abc import Mapping, Sequence

    from autopilot.daemon.desk import Desk


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare which ticket."""
    parser.add_argument("ticket", metavar="T-N", help="which ticket")
    parser.add_argument("--json", action="store_true", help="print JSON")


def run(args: argparse.Namespace) -> ExitCode:
    """Print text, questions, attempts, gates, publications and history."""
    name = canonical(args.ticket)
    answer = door.ask("GET", f"/v1/tickets/{name}", alone=lambda desk: alone(desk, name))
    if args.json:
        console.say_json(answer)
        return ExitCode.OK
    _head(answer["ticket"])
    _questions(answer["exchanges"])
    _attempts(answer["attempts"])
    _sandboxes(answer["attempts"])
    _phases(answer["attempts"])
    _gates(answer["gates"])
    _drafts(answer["ticket"], answer["publications"])
    _remains(answer)
    _history(answer["history"])
    return ExitCode.OK


def alone(desk: Desk, name: str) -> dict[str, Any]:
    """Read one ticket whole from the database."""
    from autopilot.daemon import desk as verbs

    return verbs.show(desk, name)


def _head(ticket: Mapping[str, Any]) -> None:
    console.say(f"{ticket['id']}  {ticket['title']}")
    console.say(f"  state {ticket['state']}  {shape.standing(ticket)}".rstrip())
    base = ticket["base"] or "(the repository's base)"
    console.say(f"  repo {ticket['repo']}  base {base}  branch {ticket['branch']}")
    console.say(
        f"  priority {shape.priority(ticket['priority'])}  attempts {ticket['attempts']}"
        f"  runs {ticket['sessions']}  spent {shape.usd(ticket['spent_micro_usd'])}"
    )
    if ticket["hint"]:
        console.say(f"  → {ticket['hint']}")
    for line in ticket["body"].splitlines():
        console.say(f"  | {line}")
    for line in ticket["acceptance"]:
        console.say(f"  accept: {line}")


def _questions(rows: Sequence[Mapping[str, Any]]) -> None:
    for row in rows:
        console.say(f"question: {row['question']}")
        console.say(f"  answer: {row['answer'] if row['answer'] is not None else '(none yet)'}")


def _attempts(rows: Sequence[Mapping[str, Any]]) -> None:
    if rows:
        console.say()
        console.table(
            [
                (
                    row["run_id"],
                    row["agent"],
                    row["outcome"] or row["state"],
                    shape.usd(row["spent_micro_usd"]) + ("" if row["spend_known"] else " (unknown)"),
                    row["message"] or "",
                )
                for row in rows
            ],
            header=("run", "agent", "outcome", "spent", "what happened"),
        )


def _sandboxes(rows: Sequence[Mapping[str, Any]]) -> None:
    """Say what each run was locked up in, and what that left open; a daemon of before does not tell."""
    for row in rows:
        kind, left_open = row.get("sandbox"), row.get("left_open")
        if kind or left_open:
            told = f": {left_open}" if left_open else ""
            console.say(f"  sandbox of {row['run_id']}: {kind or 'not recorded'}{told}")


def _phases(attempts: Sequence[Mapping[str, Any]]) -> None:
    rows = [(attempt["run_id"], phase) for attempt in attempts for phase in attempt.get("phases", ())]
    if rows:
        console.say()
        console.table(
            [
                (
                    run_id,
                    phase["phase"],
                    shape.usd(phase["cost_micro_usd"]) + ("" if phase["known"] else " or more"),
                    *(f"{phase[key]:,}" for key in ("input_tokens", "output_tokens", "cached_tokens")),
                )
                for run_id, phase in rows
            ],
            header=("run", "phase", "cost", "tokens in", "tokens out", "from cache"),
        )
        for line in shape.without_price([phase for _, phase in rows]):
            console.say(f"  → {line}")


def _gates(rows: Sequence[Mapping[str, Any]]) -> None:
    if rows:
        console.say()
        console.table(
            [(row["gate"], row["verdict"], row["producer"], row["head"][:12], row["reason"]) for row in rows],
            header=("gate", "verdict", "by", "commit", "reason"),
        )


def _drafts(ticket: Mapping[str, Any], rows: Sequence[Mapping[str, Any]]) -> None:
    for row in rows:
        if row["pr_url"]:
            console.say(f"draft: {row['pr_url']} ({row['pr_state'] or 'open'})")
    has_ended = ticket["state"] in {"cancelled", "failed"}
    if has_ended and any(row["pr_state"] == "open" for row in rows):
        console.say(f"  → {close_hint(ticket['id'])}")


def _remains(answer: Mapping[str, Any]) -> None:
    worktree = answer["worktree"]
    if answer["attempts"]:
        console.say()
        where = worktree["path"] if worktree["is_there"] else worktree["told"]
        console.say(f"worktree: {where}")
        if worktree["artifacts"]:
            console.say(f"artefacts: {worktree['artifacts']}")
    for line in shape.saved_work(answer["saved_work"]):
        console.say(line)


def _history(rows: Sequence[Mapping[str, Any]]) -> None:
    console.say()
    console.table(
        [
            (
                shape.when(row["at_ms"]),
                row["trigger"],
                row["to_state"],
                row["by"],
                in_local_time(row["reason"]),
            )
            for row in rows
        ],
        header=("when", "what", "state", "by", "reason"),
    )
