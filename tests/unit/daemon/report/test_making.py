"""A report is made whatever its parts do, holds no credential, and says what is missing and why."""

from __future__ import annotations

import gzip
import io
import json
import tarfile
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from autopilot.config.clock import SystemClock
from autopilot.config.foreign_file import UnreadableError
from autopilot.config.paths import Paths, paths_below
from autopilot.daemon.checkup.probe import Limit
from autopilot.daemon.report import known, making
from autopilot.daemon.report.known import Known
from autopilot.daemon.report.making import CredentialsUnknownError, Report, make
from autopilot.daemon.report.masking import Mask
from autopilot.daemon.report.pieces import Facts, Given, Journal, Left, Piece, Section, Text, Wish
from autopilot.schemas.errors import ConfigError
from autopilot.schemas.report import ReportManifest

CLOCK = SystemClock()
SECRET = "plum tree river 42"
WISH = Wish(log_kib=8, with_texts=False)


@pytest.fixture
def paths(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Paths:
    monkeypatch.setenv("AUTOPILOT_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("SOME_PASSWORD", SECRET)
    return paths_below(tmp_path / "home")


def fine(_: Given, __: Limit) -> Iterator[Piece]:
    yield Facts("a.json", "numbers", {"a": 1, "said": f"x {SECRET}"})
    yield Journal("b.jsonl", "lines", [{"n": 1}, {"n": 2}])
    yield Text("c.txt", "text", f"password {SECRET}\n")
    yield Left("the rest", "it is too much")


def hanging(_: Given, limit: Limit) -> Iterator[Piece]:
    yield Facts("half.json", "what came before", {})
    while not limit.should_stop():
        threading.Event().wait(0.01)


def raising(error: Exception) -> Callable[[Given, Limit], Iterator[Piece]]:
    def gather(given: Given, _: Limit) -> Iterator[Piece]:
        if given.wish == WISH:
            raise error
        yield Left("nothing", "")

    return gather


BROKEN = raising(ValueError(f"it stumbled over {SECRET} and a title"))
REFUSED = raising(ConfigError("queue-odd", "the queue is odd"))
UNREADABLE = raising(UnreadableError("it is no plain file"))


def of(paths: Paths, *sections: Section) -> tuple[dict[str, bytes], ReportManifest]:
    return unpacked(make(paths, CLOCK, WISH, sections=sections))


def unpacked(report: Report) -> tuple[dict[str, bytes], ReportManifest]:
    with tarfile.open(fileobj=io.BytesIO(report.data)) as archive:
        members = archive.getmembers()
        assert {(each.uname, each.gname, each.uid, each.mode) for each in members} == {("", "", 0, 0o600)}
        files = {each.name: archive.extractfile(each) for each in members}
        read = {name.partition("/")[2]: file.read() for name, file in files.items() if file is not None}
    assert next(iter(read)) == "MANIFEST.json"
    return read, ReportManifest.model_validate_json(read["MANIFEST.json"])


def test_every_file_is_listed_with_its_size_and_what_was_left_out_is_named(paths: Paths) -> None:
    files, manifest = of(paths, Section("fine", fine))
    assert [file.name for file in manifest.files] == ["a.json", "b.jsonl", "c.txt"]
    assert {file.name: file.size_bytes for file in manifest.files} == {
        name: len(data) for name, data in files.items() if name != "MANIFEST.json"
    }
    assert json.loads(files["a.json"]) == {"a": 1, "said": "x ***"}
    assert files["b.jsonl"] == b'{"n":1}\n{"n":2}\n'
    assert files["c.txt"] == b"password ***\n"
    gaps = {gap.what: gap.why for gap in manifest.left_out}
    assert gaps["the rest"] == "it is too much"
    assert {"tickets", "repositories", "the configuration file", "what log and journals say in words"} <= set(
        gaps
    )
    assert manifest.masked["credentials"] == 2


def test_nothing_of_who_packs_it_goes_along(paths: Paths) -> None:
    report = make(paths, CLOCK, WISH, sections=(Section("fine", fine),))
    inside = gzip.decompress(report.data)
    for told in (str(paths.state.parent), SECRET):
        assert told.encode() not in inside + report.data


@pytest.mark.parametrize(
    ("gather", "why"),
    [
        (hanging, "no answer within 0.3 s"),
        (BROKEN, "bug: the question itself broke: ValueError …"),
        (REFUSED, "the queue is odd"),
        (UNREADABLE, "it is no plain file"),
    ],
)
def test_a_part_that_hangs_or_fails_is_a_line_and_the_rest_is_there(
    paths: Paths, gather: object, why: str
) -> None:
    assert callable(gather)
    files, manifest = of(paths, Section("odd", gather, 0.3), Section("fine", fine))
    assert {gap.what: gap.why for gap in manifest.left_out}["odd"] == why
    assert "a.json" in files
    assert SECRET.encode() not in b"".join(files.values())


def test_what_came_before_a_part_hung_is_kept(paths: Paths) -> None:
    files, _ = of(paths, Section("odd", hanging, 0.3))
    assert "half.json" in files


def test_a_file_in_which_a_credential_is_left_after_masking_is_not_packed(
    paths: Paths, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Mask, "secrets", lambda _, text, **__: text)
    files, manifest = of(paths, Section("fine", fine))
    assert list(files) == ["MANIFEST.json", "b.jsonl"]
    gaps = {gap.what: gap.why for gap in manifest.left_out}
    assert gaps["a.json"] == gaps["c.txt"] == "something like a credential was still in it after masking"


def test_masking_that_would_break_a_file_leaves_it_out(paths: Paths, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Mask, "document", lambda _, text, **__: json.loads("{") or text)
    _, manifest = of(paths, Section("fine", fine))
    assert [file.name for file in manifest.files] == ["c.txt"]


def test_without_knowing_what_to_mask_there_is_no_report(
    paths: Paths, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object) -> Known:
        raise ValueError(SECRET)

    monkeypatch.setattr(known, "learn", fail)
    with pytest.raises(CredentialsUnknownError):
        make(paths, CLOCK, WISH, sections=(Section("fine", fine),))


def test_a_credential_whose_value_could_not_be_read_is_named(
    paths: Paths, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(known, "learn", lambda *_: Known(unread=("the credential web (locked)",)))
    _, manifest = of(paths, Section("fine", fine))
    assert "the credential web (locked)" in {gap.what for gap in manifest.left_out}


def test_making_one_changes_nothing_where_nothing_is(paths: Paths) -> None:
    report = make(paths, CLOCK, WISH, sections=making.SECTIONS)
    assert not paths.state.parent.exists()
    assert {
        "versions.json",
        "machine.json",
        "doctor.json",
        "settings.json",
        "service.json",
        "queue.json",
    } <= {file.name for file in report.manifest.files}
