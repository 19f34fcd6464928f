"""Asks a publisher one question while somebody waits, in a folder that is gone afterwards.

Must not read a credential or speak to anybody outside: the child does, and writes a report.
"""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from pydantic import ValidationError

from autopilot.config import proc
from autopilot.config.foreign_file import UnreadableError, read_plain
from autopilot.config.plain import one_line
from autopilot.daemon.children import publisher_environment, publisher_question
from autopilot.schemas.records import Record

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from autopilot.config.clock import Clock
    from autopilot.config.proc import Exit
    from autopilot.daemon.errand import Errand

Report = TypeVar("Report", bound=Record)
GRACE_S = 2.0
"""How long a child that took too long is asked to end."""
_MAX_BYTES = 8 << 20
"""An issue's text is in a report, and a tracker's answer is half of this at most."""


def answer(
    act: str,
    make: Callable[[Path, Path], Record],
    report: type[Report],
    *,
    key: str,
    errand: Errand,
    clock: Clock,
    wall_s: float,
    should_stop: Callable[[], str | None] | None = None,
    base: Mapping[str, str] | None = None,
) -> Report | str:
    """Ask, and give the report; a text says why there is none.

    Args:
        act: the publisher's act.
        make: gives the instruction, from the file of the report and the folder to work in.
        report: what the report is.
        key: the mark that the child and whatever it starts carries.
        errand: where it is sent.
        clock: the time.
        wall_s: how long it may take.
        should_stop: asked meanwhile: a reason to end it before.
        base: the environment that it starts from; without it, ours.
    """
    with tempfile.TemporaryDirectory(prefix="autopilot-question-") as name:
        folder = Path(name)
        spec_file, told = folder / "spec.json", folder / "report.json"
        spec_file.write_text(make(told, folder / "work").model_dump_json(), encoding="utf-8")
        ended = proc.run(
            publisher_question(act, spec_file),
            cwd=folder,
            env=publisher_environment(key, errand, base=base),
            output=folder / "output.log",
            clock=clock,
            wall_s=wall_s,
            grace_s=GRACE_S,
            should_stop=should_stop,
        )
        try:
            return report.model_validate_json(read_plain(told, max_bytes=_MAX_BYTES))
        except UnreadableError as exc:
            return _why(ended, f"{exc}")
        except ValidationError:
            return _why(ended, "its report is none")


def _why(ended: Exit, fault: str) -> str:
    """Say how a publisher ended of which there is no report."""
    if ended.spawn_error:
        return f"the publisher cannot be started: {one_line(ended.spawn_error)}"
    if ended.stopped:
        why = "it took too long" if ended.stopped == "wall" else ended.stopped
        return f"the publisher was stopped before it knew: {why}"
    how = f"signal {ended.signal}" if ended.signal is not None else f"code {ended.code}"
    said = one_line(ended.tail)
    return f"the publisher told nothing ({fault}) and ended with {how}" + (f": {said}" if said else "")
