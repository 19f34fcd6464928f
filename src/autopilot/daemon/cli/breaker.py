"""`autopilot breaker show|reset`: the launch breakers, one per scope."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from autopilot.daemon.cli import console, door, shape, status
from autopilot.schemas.errors import ExitCode, RefusedError

if TYPE_CHECKING:
    import argparse
    from collections.abc import Mapping, Sequence

    from autopilot.daemon.desk import Desk


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare show and reset."""
    parser.add_argument(
        "act", nargs="?", choices=["show", "reset"], default="show", help="show (the default) or reset"
    )
    parser.add_argument(
        "scope", nargs="?", help="reset: which one, e.g. host or agent:claude; all open ones if absent"
    )
    parser.add_argument("--json", action="store_true", help="print JSON")


def run(args: argparse.Namespace) -> ExitCode:
    """Show the breakers, or close them by a person's word."""
    breakers = status.fetch()["breakers"]
    if args.act == "reset":
        breakers = [_reset(scope) for scope in _chosen(breakers, args.scope)]
    if args.json:
        console.say_json({"breakers": breakers})
    elif breakers:
        console.table(
            [_row(row) for row in breakers], header=("scope", "state", "failures", "class", "cooldown until")
        )
    else:
        console.say("no breaker is open")
    return ExitCode.OK


def _chosen(breakers: Sequence[Mapping[str, Any]], wanted: str | None) -> list[str]:
    if wanted is None:
        return [row["scope"] for row in breakers if row["state"] != "closed"]
    known = [row["scope"] for row in breakers]
    if wanted in known:
        return [wanted]
    from autopilot.config.nearest import nearest

    hint = nearest(wanted, known) or f"there are: {', '.join(known) or 'none'}"
    raise RefusedError("breaker-unknown", f"there is no breaker {wanted!r}", hint=hint)


def _row(row: dict[str, Any]) -> tuple[str, ...]:
    until = shape.when(row["cooldown_until_ms"]) if row["state"] != "closed" else "-"
    return (row["scope"], row["state"], str(row["failures"]), row["failure_class"] or "-", until)


def _reset(scope: str) -> dict[str, Any]:
    answer = door.ask("POST", "/v1/breakers", {"scope": scope}, alone=lambda desk: _alone(desk, scope))
    breaker: dict[str, Any] = answer["breaker"]
    return breaker


def _alone(desk: Desk, scope: str) -> dict[str, Any]:
    from autopilot.daemon import desk as verbs

    return verbs.reset_breaker(desk, scope)
