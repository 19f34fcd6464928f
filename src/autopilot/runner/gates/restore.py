"""Restores what the committed lock file names, before anything is judged.

Must not add a package, and must not skip the restore when the lock, the command or the environment changed.
"""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING

from autopilot.config.removal import remove_tree
from autopilot.runner.gates.files import UnreadableError, command_digest, digest_of, log_end
from autopilot.runner.gates.judge import Finding, early_end
from autopilot.runner.gates.record import shown
from autopilot.runner.stacks.stack import ENVIRONMENT, NotNeeded
from autopilot.schemas.gate import Verdict

if TYPE_CHECKING:
    from autopilot.runner.gates.context import GateContext
    from autopilot.runner.stacks.stack import Command

NAME = "setup"

_LOCK_FILES = ("uv.lock", "package-lock.json", "npm-shrinkwrap.json")
_MARK = "restored"
_ADVICE = (
    "hosts it needs go into registry_hosts of [network], variables, such as a file of certificates, into "
    "env_pass of its [[repo]]"
)
_SHOWN_REFUSED = 5


def restore(ctx: GateContext) -> Finding | None:
    """Run the set-up command unless this very set-up is in place already.

    Returns:
        None when the checkout is ready, else why not.
    """
    place = ctx.place(NAME)
    plan = ctx.stack.setup(place)
    if isinstance(plan, NotNeeded):
        return None
    mark, wanted = ctx.scratch / _MARK, _fingerprint(ctx, plan)
    if ctx.producer == "run" and mark.is_file() and mark.read_text(encoding="ascii") == wanted:
        return None
    mark.unlink(missing_ok=True)
    remove_tree(ctx.scratch / ENVIRONMENT)
    exit_, refused = ctx.restore(plan, place.out, name="output")
    if (early := early_end(exit_)) is not None:
        return Finding(early.verdict, "setup-failed", f"set-up: {early.reason}")
    if exit_.code != 0:
        tail = shown(log_end(exit_.output))
        told = f" it was refused {', '.join(refused[:_SHOWN_REFUSED])};" if refused else ""
        reason = f"set-up ended with exit code {exit_.code};{told} {_ADVICE}\n{tail}"
        return Finding(Verdict.FAILED, "setup-failed", reason)
    ctx.scratch.mkdir(mode=0o700, parents=True, exist_ok=True)
    mark.write_text(wanted, encoding="ascii")
    return None


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
