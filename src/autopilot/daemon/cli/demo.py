"""`autopilot demo`: three tickets go through the real machine, played by scripted agents, without a network.

Must not decide how it went by anything but what the commands themselves report.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from threading import Event
from typing import TYPE_CHECKING, Any

from autopilot.daemon.cli import console, shape
from autopilot.schemas.errors import ExitCode, RefusedError

if TYPE_CHECKING:
    import argparse
    from collections.abc import Mapping

    from autopilot.config.clock import Clock
    from autopilot.daemon.demo.stage import Stage

WAIT_S = 85.0
POLL_S = 0.25
_MOVING = ("queued", "running", "committed", "publishing")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare where the demo lives."""
    parser.add_argument(
        "--home", type=Path, help="folder for the demo's own state; kept for a look afterwards"
    )


def run(args: argparse.Namespace) -> ExitCode:
    """Play the night and check that each ticket ended as it should."""
    from autopilot.config.clock import SystemClock
    from autopilot.config.paths import demo_home
    from autopilot.daemon.demo import stage

    clock = SystemClock()
    built = stage.build((args.home or demo_home()).absolute(), clock)
    theatre = Theatre(built, clock)
    console.say(f"A small repository with a red test, and a bare remote, are in {built.home}")
    try:
        ended = theatre.night()
    finally:
        theatre.command("daemon", "stop", echo=False)
    theatre.command("digest")
    theatre.command("review", "T-1")
    return _judge(ended, stage.EXPECTED, built)


class Theatre:
    """Runs our own commands as a person would, with the demo's folder as their home."""

    def __init__(self, stage: Stage, clock: Clock) -> None:
        """Take the stage that was built."""
        from autopilot.config import environ

        self.stage, self.clock = stage, clock
        self.env = {**environ.current(), "AUTOPILOT_HOME": str(stage.home)}

    def night(self) -> dict[str, Mapping[str, Any]]:
        """Queue the tickets, turn on, wait until nothing moves; give the tickets as they ended."""
        for ticket in self.stage.tickets:
            self.command("add", "--file", str(ticket.relative_to(self.stage.home)))
        self._start_daemon()
        self.command("on", "--now")
        started_s = self.clock.monotonic_s()
        seen: dict[str, str] = {}
        while self.clock.monotonic_s() - started_s < WAIT_S:
            tickets = json.loads(self.command("list", "--json", echo=False))["tickets"]
            self._tell_moves(tickets, seen, self.clock.monotonic_s() - started_s)
            if not any(ticket["state"] in _MOVING for ticket in tickets):
                break
            Event().wait(POLL_S)
        return {ticket["id"]: ticket for ticket in tickets}

    def _start_daemon(self) -> None:
        """Start the daemon from here: what a command of ours leaves behind is ended with the command."""
        from autopilot.config.paths import paths_below
        from autopilot.daemon.cli import starter

        console.say("\n$ autopilot daemon run &")
        starter.start_daemon(paths_below(self.stage.home), self.env)

    def _tell_moves(self, tickets: list[dict[str, Any]], seen: dict[str, str], elapsed_s: float) -> None:
        for ticket in tickets:
            if seen.get(ticket["id"]) != ticket["state"]:
                seen[ticket["id"]] = ticket["state"]
                spent = shape.usd(ticket["spent_micro_usd"])
                name = f"{ticket['id']} {ticket['state']:<10} {spent:>8}  {ticket['title']}"
                console.say(f"  {elapsed_s:5.1f} s  {name}")

    def command(self, *words: str, echo: bool = True) -> str:
        """Run one of our commands; print it and what it says unless told otherwise."""
        from autopilot.config import proc

        if echo:
            console.say(f"\n$ autopilot {' '.join(words)}")
        output = self.stage.home / "last-command.out"
        argv = [sys.executable, "-P", "-m", "autopilot.daemon.cli", *words]
        ended = proc.run(
            argv, cwd=self.stage.home, env=self.env, output=output, clock=self.clock, wall_s=WAIT_S
        )
        said = output.read_text(encoding="utf-8", errors="replace").rstrip()
        if echo:
            console.say(said)
        if not ended.ok:
            hint = said if not echo else f"the demo's own state is in {self.stage.home}"
            raise RefusedError("demo-stopped", f"`autopilot {words[0]}` did not end well", hint=hint)
        return said


def _judge(
    ended: Mapping[str, Mapping[str, Any]], expected: Mapping[str, tuple[str, str | None]], stage: Stage
) -> ExitCode:
    console.say("\nHow it went:")
    faults = 0
    for name, (state, waiting_for) in expected.items():
        ticket = ended.get(name, {})
        is_right = (ticket.get("state"), ticket.get("waiting_for")) == (state, waiting_for)
        faults += not is_right
        wanted = state if waiting_for is None else f"{state}, waiting for {waiting_for}"
        outcome = shape.standing(ticket) if ticket else "is missing"
        console.say(
            f"  {'✓' if is_right else '✗'} {name} should be {wanted}: {ticket.get('state')} {outcome}"
        )
    if faults:
        console.say(f"\nThe demo did not end as it should. Logs: {stage.home / 'logs'}")
        return ExitCode.FAILED
    console.say(f"\nDraft pull request: {ended['T-1']['pr_url']}")
    home = f"AUTOPILOT_HOME={stage.home}"
    console.say(f'Look around: {home} autopilot review T-1 · {home} autopilot answer T-3 "EUR"')
    return ExitCode.OK
