"""Asks a publisher one question while somebody waits, in a folder that is gone afterwards.

Must not read a credential or speak to anybody outside: the child does, and writes a report.
"""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from pydantic import ValidationError

from autopilot.config import proc
from autopilot.daemon.children import publisher_environment, publisher_question
from autopilot.schemas.records import Record

if TYPE_CHECKING:
    from collections.abc import Callable

    from autopilot.config.clock import Clock

Report = TypeVar("Report", bound=Record)
GRACE_S = 2.0
"""How long a child that took too long is asked to end."""


def answer(
    act: str,
    make: Callable[[Path, Path], Record],
    report: type[Report],
    *,
    key: str,
    clock: Clock,
    wall_s: float,
    should_stop: Callable[[], str | None] | None = None,
) -> Report | None:
    """Ask, and give the report; None where there was none in time.

    Args:
        act: the publisher's act.
        make: gives the instruction, from the file of the report and the folder to work in.
        report: what the report is.
        key: the mark that the child and whatever it starts carries.
        clock: the time.
        wall_s: how long it may take.
        should_stop: asked meanwhile: a reason to end it before.
    """
    with tempfile.TemporaryDirectory(prefix="autopilot-question-") as name:
        folder = Path(name)
        spec_file, told = folder / "spec.json", folder / "report.json"
        spec_file.write_text(make(told, folder / "work").model_dump_json(), encoding="utf-8")
        proc.run(
            publisher_question(act, spec_file),
            cwd=folder,
            env=publisher_environment(key),
            output=folder / "output.log",
            clock=clock,
            wall_s=wall_s,
            grace_s=GRACE_S,
            should_stop=should_stop,
        )
        try:
            return report.model_validate_json(told.read_bytes())
        except (OSError, ValidationError):
            return None
