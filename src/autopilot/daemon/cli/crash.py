"""What an unexpected error leaves behind: a report that can be pasted into an issue.

Must not show a credential: what looks like one is masked, and so are the values of variables named like one.
"""

from __future__ import annotations

import platform
import sys
import traceback
from typing import TYPE_CHECKING

from autopilot.config import environ
from autopilot.config.clock import SystemClock
from autopilot.config.paths import find_paths
from autopilot.config.tokens import is_secret_name, redact
from autopilot.daemon.cli import console
from autopilot.daemon.version import program_version
from autopilot.schemas.errors import AutopilotError, ExitCode, InvariantError
from autopilot.schemas.units import iso_utc

if TYPE_CHECKING:
    from collections.abc import Sequence

_LEAST = 6
"""A shorter value is no credential: to take it out would only make a report unreadable."""


def report(error: BaseException, *, argv: Sequence[str], as_json: bool) -> ExitCode:
    """Write the report below the state folder and say where it is. Gives exit code 70."""
    now = iso_utc(SystemClock().now_ms())
    verb = argv[0] if argv else "(none)"
    facts = (
        f"time {now}\nautopilot {program_version()}\nverb {verb}\n"
        f"python {sys.version.split()[0]}\nsystem {platform.platform()}\n\n"
    )
    story = _masked("".join(traceback.format_exception(error)))
    try:
        folder = find_paths().state / "reports"
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        target = folder / f"crash-{now.replace(':', '').replace('.', '')}.txt"
        target.write_text(facts + story, encoding="utf-8", errors="backslashreplace")
        where = f"the report is in {target}"
    except (OSError, AutopilotError):
        where = f"the report could not be written: {story.strip()}"
    bug = InvariantError("unexpected-error", f"this is a bug in autopilot: {_masked(str(error))}", hint=where)
    return console.refuse(bug, as_json=as_json)


def _masked(text: str) -> str:
    given = environ.current()
    known = {value for name, value in given.items() if is_secret_name(name) and len(value) >= _LEAST}
    for value in sorted(known, key=len, reverse=True):
        text = text.replace(value, "***")
    return redact(text)
