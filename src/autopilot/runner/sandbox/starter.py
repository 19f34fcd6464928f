"""Programs that are started by a file of ours, which becomes them: how it is called, and what it told.

Must not know what such a file does before. Those files import nothing of ours.
"""

from __future__ import annotations

import json
import sys
from dataclasses import replace
from importlib import resources
from typing import TYPE_CHECKING

from autopilot.runner.sandbox.confinement import SandboxError

if TYPE_CHECKING:
    from collections.abc import Iterable

    from autopilot.config.proc import Exit

_PACKAGE = "autopilot.runner.sandbox"


def started_by(file: str, *words: str, argv: Iterable[str]) -> tuple[str, ...]:
    """Give the command line of a starter that becomes the program."""
    return (sys.executable, "-I", "-S", str(resources.files(_PACKAGE) / file), *words, *argv)


def read_starter(ended: Exit, told: bytes, *, name: str) -> Exit:
    """Take the end as it is, for the starter became the program, unless it tells that it could not.

    Raises:
        SandboxError: the program was never started; `name` is what has to work for that.
    """
    if ended.spawn_error:
        raise _failed(ended.spawn_error, name)
    try:
        said = json.loads(told) if told else {}
    except (ValueError, RecursionError):
        said = {"fault": "it said nothing that can be read"}
    if "fault" in said:
        raise _failed(str(said["fault"]), name)
    if "exec" in said:
        return replace(ended, code=None, spawn_error=f"cannot start it in the sandbox: {said['exec']}")
    return ended


def _failed(why: str, name: str) -> SandboxError:
    hint = f"autopilot doctor tells whether {name} works here; [sandbox] in docs/security.md"
    return SandboxError("sandbox-failed", f"the sandbox did not come up: {why}", hint=hint)
