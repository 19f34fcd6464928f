"""The lines of `autopilot doctor` that cost no more than a look, and the names of those that were not asked.

Must not ask what reaches the network, starts an agent or a test, opens the queue, or changes something: each
probe says itself what it takes.
"""

from __future__ import annotations

from dataclasses import replace
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from pydantic import ValidationError

from autopilot.config.foreign_file import UnreadableError, read_plain
from autopilot.daemon import arming
from autopilot.daemon.checkup import everything, machine_lines, remembered, side_by_side
from autopilot.daemon.checkup.probe import Takes
from autopilot.daemon.report.pieces import Facts, Left
from autopilot.daemon.report.settings import without_texts, written
from autopilot.daemon.report.words import bare_sentence, told
from autopilot.schemas.checkup import Area, Checkup

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from autopilot.daemon.checkup.probe import Limit, Probe
    from autopilot.daemon.report.pieces import Given, Piece
    from autopilot.schemas.checkup import Check

NAME, _ABOUT = "doctor.json", "lines of autopilot doctor that cost no more than a look, and earlier ones"
WITHIN_S = 30.0
_EACH_WITHIN_S = 20.0
_MAX_BYTES = 4 * 1024 * 1024
_MOST_REMEMBERED = 50
_TOLD_ELSEWHERE: Mapping[Takes, str] = MappingProxyType(
    {
        Takes.QUEUE: ", which may be damaged: queue.json tells of it",
        Takes.COPIES: ": queue.json lists them",
        Takes.CHANGE: ": machine.json tells of it",
        Takes.PROGRAM: ": versions.json tells its number",
    }
)


def doctor(given: Given, _: Limit) -> Iterator[Piece]:
    """Ask the cheap lines; add what is remembered of the costly ones."""
    probes, broken = everything.every_probe(given.paths, given.clock)
    asked = [replace(each, within_s=min(each.within_s, _EACH_WITHIN_S)) for each in probes if is_asked(each)]
    found = everything.in_order((*broken, *side_by_side.look(asked, given.clock)))
    seen = Checkup.of(_without_texts(found, written(given.paths)))
    value: dict[str, Any] = seen.model_dump(mode="json")
    not_asked = [each for each in (*probes, machine_lines.first(given.paths)) if not is_asked(each)]
    value["not_asked"] = [{"name": each.name, "why": why_not(each)} for each in not_asked]
    value["remembered"] = list(_remembered(given))
    value["overruled"] = _overruled(given)
    yield Facts(NAME, _ABOUT, value)
    yield Left(f"{len(not_asked)} lines of doctor", "each takes more than a look: doctor.json says what")


def is_asked(probe: Probe) -> bool:
    """Tell whether a line costs no more than a look."""
    return probe.takes is Takes.LOOK


def why_not(probe: Probe) -> str:
    """Say why a line is not asked, and where the report tells of it instead."""
    return f"{probe.takes}{_TOLD_ELSEWHERE.get(probe.takes, '')}"


def _without_texts(found: Iterable[Check], texts: frozenset[str]) -> Iterator[Check]:
    """Mask what a line repeats of the configuration, or of a value that something stumbled over."""
    for line in found:
        evidence = bare_sentence(line.evidence)
        if line.area is Area.CONFIGURATION and line.blocks:
            evidence = without_texts(evidence, texts)
        yield line.model_copy(update={"evidence": evidence})


def _remembered(given: Given) -> Iterator[dict[str, Any]]:
    """Give what was found out at some cost, and the daemon's last look: verdicts, and words if asked for."""
    folder = given.paths.state / remembered.FOLDER
    files = sorted(folder.glob("*.json")) if folder.is_dir() else []
    for path in files[:_MOST_REMEMBERED]:
        try:
            content = read_plain(path, max_bytes=_MAX_BYTES)
        except UnreadableError:
            continue
        at_ms, lines = _read(content)
        yield {
            "file": path.name,
            "at_ms": at_ms,
            "checks": [_bare(line, given) for line in lines],
        }


def _read(content: bytes) -> tuple[int | None, tuple[Check, ...]]:
    try:
        kept = remembered.Remembered.model_validate_json(content)
    except ValidationError:
        pass
    else:
        return kept.at_ms, kept.lines
    try:
        return None, Checkup.model_validate_json(content).checks
    except ValidationError:
        return None, ()


def _bare(line: Check, given: Given) -> dict[str, Any]:
    """Give a line; what an agent, a remote or a test said of itself stands in its evidence."""
    value = line.model_dump(mode="json")
    return value if given.wish.with_texts else {**value, "evidence": told(line.evidence)}


def _overruled(given: Given) -> list[str]:
    return [line.name for line in arming.forced(given.paths)]
