"""`autopilot demo`: three tickets go through the real machine, played by scripted agents, without a network.

Must not decide how it went by anything but what the tickets themselves say.
"""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Any

from autopilot.daemon.cli import console, shape
from autopilot.schemas.errors import ExitCode

if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterator, Mapping

    from autopilot.config.clock import Clock
    from autopilot.daemon.demo.stage import Stage
    from autopilot.schemas.cell import SandboxKind


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare where the demo lives."""
    parser.add_argument(
        "--home", type=Path, help="folder for the demo's own state; kept for a look afterwards"
    )


def run(args: argparse.Namespace) -> ExitCode:
    """Play the night and check that each ticket ended as it should."""
    from autopilot.config.clock import SystemClock
    from autopilot.config.paths import demo_home, paths_below
    from autopilot.daemon.cli import starter, theatre
    from autopilot.daemon.demo import stage

    clock = SystemClock()
    home = (args.home.expanduser() if args.home else demo_home()).absolute()
    with theatre.interruptible(), stage.claimed(home):
        starter.end_daemon(paths_below(home), clock)  # of a demo that was killed
        kind, said = _sandbox(clock)
        built = stage.build(home, clock, sandbox=kind)
        console.say(f"A small shop's repository with a red test, and its bare remote, are in {home}.")
        console.say(
            "Scripted agents play three tickets; daemon, runner, gates and publisher are the real ones."
        )
        console.say(f"{said}\n")
        with theatre.Theatre(built, clock) as play:
            ended = play.night()
            console.say()
            console.markdown(play.command("digest"))
        return _judge(ended, stage.EXPECTED, built)


def _sandbox(clock: Clock) -> tuple[SandboxKind, str]:
    """Choose what the demo's agents are locked up in, and say so: nothing only where there is nothing."""
    from autopilot.runner.sandbox.missing import Missing
    from autopilot.runner.sandbox.registry import open_sandbox
    from autopilot.schemas.cell import SandboxSpec, weakness

    chosen = open_sandbox(SandboxSpec(), clock)
    if isinstance(chosen, Missing):
        told = f"There is NO sandbox on this machine ({chosen.why}). A real night would refuse to begin:"
        return "none", f"{told}\n{chosen.cure}. The demo's own agents are harmless and go on without."
    weaker = f": {told}" if (told := weakness(chosen.kind)) else ""
    return "auto", f"They and the project's tests are locked up by {chosen.kind}{weaker}."


def _judge(
    ended: Mapping[str, Mapping[str, Any]], expected: Mapping[str, tuple[str, str | None]], stage: Stage
) -> ExitCode:
    console.say("\nHow it went:")
    verdicts = [_verdict(name, ended.get(name), *wanted) for name, wanted in expected.items()]
    if not all(verdicts):
        console.say(f"\nThe demo did not end as it should. Its logs are in {stage.home / 'logs'}")
        return ExitCode.FAILED
    console.say("\n".join(farewell(stage, str(ended["T-1"]["pr_url"]))))
    return ExitCode.OK


def _verdict(name: str, ticket: Mapping[str, Any] | None, state: str, waiting_for: str | None) -> bool:
    is_right = ticket is not None and (ticket["state"], ticket["waiting_for"]) == (state, waiting_for)
    wanted = state if waiting_for is None else f"{state}, waiting for {waiting_for}"
    told = f"is {ticket['state']}: {shape.standing(ticket)}" if ticket else "is missing"
    console.say(f"  ✓ {name} is {wanted}" if is_right else f"  ✗ {name} should be {wanted}, but {told}")
    return is_right


def farewell(stage: Stage, pr_url: str) -> Iterator[str]:
    """Name the draft and what a person can do with it; each line can be pasted into a shell."""
    from autopilot.daemon.cli.theatre import our_name

    name = our_name()
    yield f"Draft pull request: {pr_url}"
    yield "\nLook around:"
    if name != "autopilot":
        yield f"  alias autopilot={shlex.quote(name)}"
    yield f"  export AUTOPILOT_HOME={shlex.quote(str(stage.home))}"
    yield "  autopilot review T-1        # the draft: text, gates, diff"
    yield "  autopilot logs T-2          # why the agent's word was not enough"
    yield '  autopilot answer T-3 "EUR"  # it goes on after the next line'
    yield '  autopilot on --now --force "base of till"  # red until the draft is merged'
    yield "  autopilot status --watch    # until it is published; then: autopilot daemon stop"
    undo = "unset AUTOPILOT_HOME" if name == "autopilot" else "unset AUTOPILOT_HOME; unalias autopilot"
    yield f"  {undo}   # before a repository of your own"
