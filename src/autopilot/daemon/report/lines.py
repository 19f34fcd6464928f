"""The lines of `autopilot doctor` that cost no more than a look, and the names of those that were not asked.

Not asked is what reaches the network, starts an agent or a test, opens the queue, or changes something. Must
not ask a line that is not named here: a new one is asked once somebody has looked at what it takes.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from pydantic import ValidationError

from autopilot.config.foreign_file import UnreadableError, read_plain
from autopilot.config.load import load
from autopilot.daemon import arming
from autopilot.daemon.checkup import everything, remembered, side_by_side, who
from autopilot.daemon.checkup import lines as all_lines
from autopilot.daemon.checkup.probe import Probe
from autopilot.daemon.checkup.scene import Scene
from autopilot.daemon.report.pieces import Facts, Left
from autopilot.daemon.report.settings import without_texts, written
from autopilot.daemon.report.words import bare_sentence, told
from autopilot.schemas.checkup import Area, Checkup
from autopilot.schemas.errors import AutopilotError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from autopilot.daemon.checkup.probe import Limit
    from autopilot.daemon.report.pieces import Given, Piece
    from autopilot.schemas.checkup import Check

_STATE = Probe(name="state", area=Area.MACHINE, look=lambda _: ())
"""The line that stands outside of the list."""
NAME, _ABOUT = "doctor.json", "lines of autopilot doctor that cost no more than a look, and earlier ones"
WITHIN_S = 30.0
_EACH_WITHIN_S = 20.0
_MAX_BYTES = 4 * 1024 * 1024
_MOST_REMEMBERED = 50
_OPENS_THE_QUEUE = "opens the queue, which may be damaged: queue.json tells of it"
_REACHES_OUT = "asks something outside of this machine"
_TRIES = "plays something through"
ASKED = frozenset(
    (
        *("sleep lock", "git", "sqlite", "sandbox", "limits", "guard", "account", "daemon", "installations"),
        *("logs", "configuration", "identity", "clock", "time zone", "power", "programs"),
        *("credentials", "room", "notification", "channels", "service", "units"),
    )
)
ASKED_OF_EACH = ("agent ", "sign-in of ", "key of ", "credential ")
"""Beginnings of lines that there are of each agent or credential."""
NOT_ASKED: Mapping[str, str] = {
    "state": "may change the folder's mode: machine.json tells of it",
    "database": _OPENS_THE_QUEUE,
    "leases": _OPENS_THE_QUEUE,
    "tickets": _OPENS_THE_QUEUE,
    "budget": _OPENS_THE_QUEUE,
    "backups": "reads every copy: queue.json lists them",
    "forge": _REACHES_OUT,
    "set-up": _REACHES_OUT,
    "trackers": _REACHES_OUT,
    "rehearsal": _TRIES,
}
NOT_ASKED_OF_EACH: Mapping[str, str] = {
    "release of ": "starts the agent's program: versions.json tells its number",
    "account of ": "asks the agent's account",
    "repository ": _REACHES_OUT,
    "push to ": _REACHES_OUT,
    "base of ": "may run tests",
}


def doctor(given: Given, _: Limit) -> Iterator[Piece]:
    """Ask the cheap lines; add what is remembered of the costly ones."""
    probes, broken = _probes(given)
    asked = [
        replace(each, within_s=min(each.within_s, _EACH_WITHIN_S)) for each in probes if is_asked(each.name)
    ]
    found = everything.in_order((*broken, *side_by_side.look(asked, given.clock)))
    value: dict[str, Any] = Checkup(
        go=not any(line.blocks for line in found), checks=tuple(_without_texts(found, written(given.paths)))
    ).model_dump(mode="json")
    not_asked = [each.name for each in (*probes, _STATE) if not is_asked(each.name)]
    value["not_asked"] = [{"name": name, "why": why_not(name)} for name in not_asked]
    value["remembered"] = list(_remembered(given))
    value["overruled"] = _overruled(given)
    yield Facts(NAME, _ABOUT, value)
    yield Left(f"{len(not_asked)} lines of doctor", "each takes more than a look: doctor.json says what")


def is_asked(name: str) -> bool:
    """Tell whether a line costs no more than a look."""
    return name in ASKED or (name.startswith(ASKED_OF_EACH) and not name.startswith(tuple(NOT_ASKED_OF_EACH)))


def why_not(name: str) -> str:
    """Say why a line is not asked."""
    of_each = next((why for start, why in NOT_ASKED_OF_EACH.items() if name.startswith(start)), "")
    return NOT_ASKED.get(name) or of_each or "nobody has looked yet at what it takes"


def _probes(given: Given) -> tuple[list[Probe], tuple[Check, ...]]:
    """Give every probe of doctor's, and the lines of a configuration that cannot be used."""
    paths, clock = given.paths, given.clock
    probes = list(all_lines.of_machine(paths, clock))
    try:
        scene = Scene(paths=paths, clock=clock, settings=load(paths), runner=who.find(paths, clock))
    except AutopilotError as error:
        about = Probe(name="configuration", area=Area.CONFIGURATION, look=lambda _: ())
        return probes, side_by_side.refused(about, error)
    return [*probes, *all_lines.of_configuration(scene)], ()


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
