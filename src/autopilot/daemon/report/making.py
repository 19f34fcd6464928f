"""Makes a report: gathers its sections side by side, masks each file, looks once more, packs.

A section that hangs, fails or is broken is a line of the manifest. A file in which something like a
credential is left after masking is not packed. Must not write anything: who asks does.
"""

from __future__ import annotations

import gzip
import hashlib
import io
import json
import tarfile
from contextlib import closing
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any

from autopilot.config.foreign_file import UnreadableError
from autopilot.daemon.checkup import side_by_side
from autopilot.daemon.checkup.check import ok
from autopilot.daemon.checkup.probe import Probe, Takes
from autopilot.daemon.report import installed, journals, known, lines, machine, queue, settings
from autopilot.daemon.report.masking import Mask
from autopilot.daemon.report.pieces import Facts, Given, Journal, Left, Section, Text
from autopilot.daemon.report.words import bare_sentence
from autopilot.daemon.version import program_version
from autopilot.schemas.checkup import Area
from autopilot.schemas.errors import AutopilotError
from autopilot.schemas.report import ReportFile, ReportGap, ReportManifest
from autopilot.schemas.units import MS_PER_S

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from autopilot.config.clock import Clock
    from autopilot.config.paths import Paths
    from autopilot.daemon.checkup.probe import Limit
    from autopilot.daemon.report.known import Known
    from autopilot.daemon.report.pieces import Piece, Wish

MANIFEST = "MANIFEST.json"
ADVICE = (
    "Look into each file before you send it: rules take out what they know, and only you know what else is"
    " private. Nothing was sent anywhere."
)
SECTIONS = (
    Section("versions", machine.versions, machine.VERSIONS_WITHIN_S),
    Section("machine", machine.machine),
    Section("doctor", lines.doctor, lines.WITHIN_S),
    Section("settings", settings.settings),
    Section("service", installed.service),
    Section("queue", queue.queue),
    Section("log", journals.log),
    Section("runs", journals.runs),
    Section("crashes", journals.crashes),
)
NEVER = (
    Left("tickets", "none of its titles, texts, questions, answers or branches is read for a report"),
    Left("repositories", "no code, diff, commit message, prompt or output of a test is read for one"),
    Left("the configuration file", "its comments may say anything; settings.json tells what is in force"),
)
_LEARN_WITHIN_S = 20.0
_MODE = 0o600


class CredentialsUnknownError(AutopilotError):
    """What must be masked could not be found out: without it there is no report."""


@dataclass(slots=True, frozen=True)
class Report:
    """One report, in memory."""

    data: bytes
    manifest: ReportManifest


@dataclass(slots=True, frozen=True)
class _Gathered:
    """What sections gave. They are gathered on threads: each appends, none reads."""

    pieces: list[Piece] = field(default_factory=list)
    known: list[Known] = field(default_factory=list)


def make(paths: Paths, clock: Clock, wish: Wish, *, sections: Sequence[Section] = SECTIONS) -> Report:
    """Make a report of everything there is.

    Raises:
        CredentialsUnknownError: what must be masked could not be found out.
    """
    mask, unread = _learnt(paths, clock)
    given, gathered = Given(paths, clock, wish), {section.name: _Gathered() for section in sections}
    probes = [_probe(section, given, gathered[section.name]) for section in sections]
    faults = [line for line in side_by_side.look(probes, clock) if line.blocks]
    pieces = [piece for section in sections for piece in tuple(gathered[section.name].pieces)]
    left = [*(Left(line.name, bare_sentence(line.evidence)) for line in faults), *unread]
    files, gaps = _cleaned(pieces, mask)
    left += [*gaps, *NEVER, *(() if wish.with_texts else (_words_left_out(),))]
    manifest = ReportManifest(
        made_ms=clock.now_ms(),
        program=program_version(),
        with_texts=wish.with_texts,
        files=tuple(
            ReportFile(name=name, size_bytes=len(data), sha256=hashlib.sha256(data).hexdigest(), about=about)
            for name, about, data in files
        ),
        left_out=tuple(ReportGap(what=mask.text(each.what), why=mask.text(each.why)) for each in left),
        masked=dict(sorted(mask.counts.items())),
        advice=ADVICE,
    )
    head = manifest.model_dump_json(indent=1).encode()
    return Report(pack([(MANIFEST, head), *((name, data) for name, _, data in files)], clock), manifest)


def pack(files: Iterable[tuple[str, bytes]], clock: Clock) -> bytes:
    """Pack files; nothing of who packs them, or where, goes along."""
    now_s, buffer = clock.now_ms() // MS_PER_S, io.BytesIO()
    with (
        gzip.GzipFile(filename="", fileobj=buffer, mode="wb", mtime=now_s) as zipped,
        closing(tarfile.open(fileobj=zipped, mode="w", format=tarfile.PAX_FORMAT)) as archive,
    ):
        for name, data in files:
            about = tarfile.TarInfo(f"autopilot-report/{name}")
            about.size, about.mtime, about.mode = len(data), now_s, _MODE
            archive.addfile(about, io.BytesIO(data))
    return buffer.getvalue()


def _learnt(paths: Paths, clock: Clock) -> tuple[Mask, list[Left]]:
    """Find out what must be masked; a key ring that does not answer costs its values, no more."""
    gathered = _Gathered()

    def look(_: Limit) -> Iterator[Any]:
        gathered.known.append(known.learn(paths, clock))
        yield ok("credentials", "")

    probe = Probe(
        name="credentials", takes=Takes.LOOK, area=Area.CREDENTIALS, look=look, within_s=_LEARN_WITHIN_S
    )
    (line, *_) = side_by_side.look((probe,), clock)
    if not gathered.known:
        raise CredentialsUnknownError(
            "report-credentials-unknown",
            f"which credentials must be masked could not be found out: {line.evidence}",
            hint="see to what it names; a report without that would not be safe to send",
        )
    found = gathered.known[0]
    why = "its value could not be read, so only known forms of credentials are masked in its place"
    return Mask(found), [Left(name, why) for name in found.unread]


def _probe(section: Section, given: Given, gathered: _Gathered) -> Probe:
    return Probe(
        name=section.name,
        takes=Takes.LOOK,
        area=Area.MACHINE,
        look=partial(_gather, section, given, gathered),
        within_s=section.within_s,
    )


def _gather(section: Section, given: Given, gathered: _Gathered, limit: Limit) -> Iterator[Any]:
    try:
        for piece in section.gather(given, limit):
            gathered.pieces.append(piece)
    except UnreadableError as exc:
        gathered.pieces.append(Left(section.name, str(exc)))
    yield ok(section.name, "")


def _cleaned(pieces: Iterable[Piece], mask: Mask) -> tuple[list[tuple[str, str, bytes]], list[Left]]:
    """Mask each file; leave out one that cannot be cleaned."""
    files: list[tuple[str, str, bytes]] = []
    left: list[Left] = []
    for piece in pieces:
        if isinstance(piece, Left):
            left.append(piece)
            continue
        name = mask.text(piece.name)
        try:
            data = _written(piece, mask).encode("utf-8", "backslashreplace")
        except ValueError:
            left.append(Left(name, "it could not be masked without being broken"))
            continue
        if mask.still_holds(data):
            left.append(Left(name, "something like a credential was still in it after masking"))
        else:
            files.append((name, piece.about, data))
    return files, left


def _written(piece: Facts | Journal | Text, mask: Mask) -> str:
    """Write a piece, masked.

    Raises:
        ValueError: it would be broken.
    """
    if isinstance(piece, Text):
        return mask.text(piece.text)
    if isinstance(piece, Facts):
        return (
            mask.document(json.dumps(mask.value(piece.value), indent=1, sort_keys=True, default=str)) + "\n"
        )
    lines = (json.dumps(mask.value(line), separators=(",", ":"), default=str) for line in piece.lines)
    return mask.document("".join(f"{line}\n" for line in lines), is_lines=True)


def _words_left_out() -> Left:
    return Left("what log and journals say in words", "it may repeat a ticket or code: --with-texts keeps it")
