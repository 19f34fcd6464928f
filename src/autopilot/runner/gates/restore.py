"""Restores what the committed lock file names, before anything is judged.

Must not add a package, and must not skip the restore when the lock, the command or the environment changed.
"""

from __future__ import annotations

import hashlib
import sys
from typing import TYPE_CHECKING

from autopilot.config.removal import remove_tree
from autopilot.runner.gates.context import SETUP_HOME
from autopilot.runner.gates.files import UnreadableError, command_digest, digest_of, log_end
from autopilot.runner.gates.judge import Finding, early_end
from autopilot.runner.gates.record import shown
from autopilot.runner.stacks.stack import ENVIRONMENT, Command, NotNeeded
from autopilot.schemas.gate import Verdict

if TYPE_CHECKING:
    from pathlib import Path

    from autopilot.runner.gates.context import GateContext

NAME = "setup"

_LOCK_FILES = ("uv.lock", "package-lock.json", "npm-shrinkwrap.json")
_ADVICE = (
    "hosts it needs go into registry_hosts of [network], variables, such as a file of certificates, into "
    "env_pass of its [[repo]]"
)
_SHOWN_REFUSED = 5


# Modes by the umask: with them GNU cp copies access lists, which the filter of system calls refuses.
_KEEPING = "-p" if sys.platform == "darwin" else "--preserve=timestamps"


def restore(ctx: GateContext) -> Finding | None:
    """Run the set-up command unless this very set-up is in place already; give the tests a HOME like its own.

    Returns:
        None when the checkout is ready, else why not.
    """
    place = ctx.place(NAME)
    plan = ctx.stack.setup(place)
    if isinstance(plan, NotNeeded):
        return None
    mark, wanted = _mark(ctx), _fingerprint(ctx, plan)
    if ctx.producer == "run" and mark.is_file() and mark.read_text(encoding="ascii") == wanted:
        return _furnish(ctx, place.out)
    mark.unlink(missing_ok=True)
    for name in (ENVIRONMENT, SETUP_HOME):
        remove_tree(ctx.scratch / name)
    exit_, refused = ctx.restore(plan, place.out, name="output")
    if (early := early_end(exit_)) is not None:
        return Finding(early.verdict, "setup-failed", f"set-up: {early.reason}")
    if exit_.code != 0:
        tail = shown(log_end(exit_.output))
        told = f" it was refused {', '.join(refused[:_SHOWN_REFUSED])};" if refused else ""
        reason = f"set-up ended with exit code {exit_.code};{told} {_ADVICE}\n{tail}"
        return Finding(Verdict.FAILED, "setup-failed", reason)
    mark.write_text(wanted, encoding="ascii")
    return _furnish(ctx, place.out)


def _furnish(ctx: GateContext, out: Path) -> Finding | None:
    """Copy what set-up left in its HOME, such as a browser, to the tests'; a command of the cell does it."""
    own = ctx.scratch / SETUP_HOME
    if not own.is_dir() or not any(own.iterdir()):
        return None
    exit_ = ctx.run(Command(("cp", "-R", _KEEPING, f"{own}/.", f"{ctx.env['HOME']}/")), out, name="home")
    if (early := early_end(exit_)) is not None:
        return Finding(early.verdict, "setup-failed", f"the HOME of set-up: {early.reason}")
    if exit_.code != 0:
        reason = f"what set-up left in its HOME could not be copied\n{shown(log_end(exit_.output))}"
        return Finding(Verdict.FAILED, "setup-failed", reason)
    return None


def _mark(ctx: GateContext) -> Path:
    """Name the file that says what is restored: beside `scratch`, for a set-up command writes in there."""
    return ctx.scratch.with_name(f"{ctx.scratch.name}.sha256")


def _fingerprint(ctx: GateContext, plan: Command) -> str:
    """Tell one set-up from another. The checkout counts: it is installed into its environment by path."""
    status = ctx.checkout.stat()
    parts = [command_digest(plan.argv), f"{ctx.checkout} {status.st_dev} {status.st_ino}"]
    for name in _LOCK_FILES:
        try:
            parts.append(digest_of(ctx.checkout / name))
        except UnreadableError:
            parts.append("-")
    return hashlib.sha256("\n".join(parts).encode("utf-8", "surrogateescape")).hexdigest()
