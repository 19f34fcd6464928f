from __future__ import annotations

import contextlib
import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Protocol, cast

import pytest

from autopilot.config import logs
from autopilot.schemas.errors import InvariantError
from autopilot.schemas.events import Event
from tests.support.clock import NIGHT_START_MS, FakeClock
from tests.support.tree import ROOT

FAKE_TOKEN = "gh" + "p_" + "a1B2" * 9


class OpenLog(Protocol):
    def __call__(
        self, folder: Path, *, stderr: bool = False, level: str = "info", size_mib: int = 10
    ) -> None: ...


@pytest.fixture
def open_log() -> Iterator[OpenLog]:
    with contextlib.ExitStack() as opened:

        def open_it(folder: Path, *, stderr: bool = False, level: str = "info", size_mib: int = 10) -> None:
            opened.enter_context(
                logs.setup(
                    folder,
                    clock=FakeClock(),
                    stderr=stderr,
                    level=level,
                    max_size_mib=size_mib,
                    keep_files=2,
                )
            )

        yield open_it


def lines(folder: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (folder / logs.LOG_FILE).read_text().splitlines()]


def test_a_line_is_one_object_with_time_level_event_part_and_facts(tmp_path: Path, open_log: OpenLog) -> None:
    open_log(tmp_path)
    logs.logger("loop").info(
        Event.TICKET_CLAIMED, ticket="T-1", attempt=2, cost_micro_usd=5, ok=True, none=None
    )
    assert lines(tmp_path) == [
        {
            "ts": NIGHT_START_MS, "level": "info", "event": "ticket.claimed", "part": "loop",
            "ticket": "T-1", "attempt": 2, "cost_micro_usd": 5, "ok": True, "none": None,
        }
    ]  # fmt: skip


def test_below_the_level_nothing_is_written(tmp_path: Path, open_log: OpenLog) -> None:
    open_log(tmp_path, level="warning")
    log = logs.logger("loop")
    log.debug(Event.RUN_FINISHED)
    log.info(Event.RUN_FINISHED)
    log.warning(Event.TICK_FAILED)
    log.error(Event.DAEMON_FAILED)
    assert [line["level"] for line in lines(tmp_path)] == ["warning", "error"]


def test_a_message_that_is_no_event_is_refused(tmp_path: Path, open_log: OpenLog) -> None:
    open_log(tmp_path)
    with pytest.raises(InvariantError, match=r"must carry an Event, not 'it went well'"):
        logs.logger("loop").info(cast("Event", "it went well"))


def test_warnings_are_shown_on_the_terminal_and_the_rest_is_not(
    tmp_path: Path, open_log: OpenLog, capsys: pytest.CaptureFixture[str]
) -> None:
    open_log(tmp_path, stderr=True)
    logs.logger("loop").info(Event.RUN_FINISHED)
    logs.logger("loop").warning(Event.RUN_LOST, ticket="T-1", why="gone\nand \x1b[31mred")
    shown = capsys.readouterr()
    assert (shown.out, shown.err) == ("", "autopilot: warning run.lost ticket=T-1 why=gone and red\n")


def test_no_credential_and_no_control_character_gets_into_a_line(tmp_path: Path, open_log: OpenLog) -> None:
    open_log(tmp_path)
    logs.logger("loop").info(
        Event.AGENT_SPOKE,
        raw=b"\xff\x1b[31mred\x00",
        url="https://me:hunter2@x.invalid/",
        nested={"list": [FAKE_TOKEN, {"bidi": "\u202egnp"}]},
    )
    (line,) = lines(tmp_path)
    assert (line["raw"], line["url"]) == ("\ufffdred", "https://***@x.invalid/")
    assert line["nested"] == {"list": ["***", {"bidi": "gnp"}]}


def test_anything_can_be_a_fact(tmp_path: Path, open_log: OpenLog) -> None:
    open_log(tmp_path)
    logs.logger("loop").info(Event.AGENT_SPOKE, path=Path("/a"), seen={1}, cost=float("nan"), long="x" * 9000)
    (line,) = lines(tmp_path)
    assert (line["path"], line["seen"], line["cost"], len(line["long"])) == ("/a", [1], "nan", 4002)


def test_files_are_bounded_in_size_and_number(tmp_path: Path, open_log: OpenLog) -> None:
    open_log(tmp_path, size_mib=1)
    for number in range(1200):
        logs.logger("loop").info(Event.AGENT_SPOKE, number=number, text="x" * 3900)
    files = sorted(tmp_path.iterdir())
    assert [file.name for file in files] == [logs.LOG_FILE, f"{logs.LOG_FILE}.1", f"{logs.LOG_FILE}.2"]
    assert all(file.stat().st_size <= 1024 * 1024 for file in files)
    assert lines(tmp_path)[-1]["number"] == 1199


def test_the_log_is_readable_by_this_user_only(tmp_path: Path, open_log: OpenLog) -> None:
    open_log(tmp_path / "logs")
    assert (tmp_path / "logs").stat().st_mode & 0o777 == 0o700
    assert (tmp_path / "logs" / logs.LOG_FILE).stat().st_mode & 0o777 == 0o600


def test_a_folder_that_cannot_be_written_stops_nothing_and_is_told(
    tmp_path: Path, open_log: OpenLog, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "file").write_text("")
    open_log(tmp_path / "file" / "logs", stderr=True)
    logs.logger("loop").error(Event.DAEMON_FAILED, why="x")
    shown = capsys.readouterr().err
    assert "no log can be written" in shown
    assert "error daemon.failed why=x" in shown


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no /dev/full on this system")
def test_a_full_disk_stops_nothing_and_is_told_once(
    tmp_path: Path, open_log: OpenLog, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / logs.LOG_FILE).symlink_to("/dev/full")
    open_log(tmp_path)
    for _ in range(3):
        logs.logger("loop").info(Event.RUN_FINISHED)
    assert capsys.readouterr().err.count("log lines are lost: [Errno 28]") == 1


def test_without_a_terminal_nothing_breaks(
    tmp_path: Path, open_log: OpenLog, monkeypatch: pytest.MonkeyPatch
) -> None:
    open_log(tmp_path, stderr=True)
    monkeypatch.setattr("sys.stderr", None)
    logs.logger("loop").warning(Event.RUN_LOST)
    assert len(lines(tmp_path)) == 1


def test_before_it_is_set_up_the_log_is_silent(capsys: pytest.CaptureFixture[str]) -> None:
    logs.logger("loop").error(Event.DAEMON_FAILED)
    assert capsys.readouterr() == ("", "")


def test_after_it_is_closed_the_log_is_silent_again(tmp_path: Path, open_log: OpenLog) -> None:
    open_log(tmp_path / "other")
    opened = logs.setup(tmp_path, clock=FakeClock(), stderr=True, max_size_mib=1, keep_files=1)
    opened.close()
    logs.logger("loop").error(Event.DAEMON_FAILED)
    assert lines(tmp_path) == []


def test_two_processes_may_write_and_turn_over_one_log(tmp_path: Path) -> None:
    code = (
        "import sys; from pathlib import Path; from autopilot.config.logfile import LogFile\n"
        "log = LogFile(Path('log'), size_bytes=20_000, keep_files=50, complain=sys.exit)\n"
        "for number in range(1000): log.write(f'{sys.argv[1]} {number} ' + 'x' * 100)"
    )
    env = {**os.environ, "PYTHONPATH": str(ROOT / "src")}
    writers = [
        subprocess.Popen([sys.executable, "-P", "-c", code, name], cwd=tmp_path, env=env)
        for name in ("a", "b", "c")
    ]
    assert [writer.wait(timeout=60) for writer in writers] == [0, 0, 0]
    files = list(tmp_path.iterdir())
    written = [line.split() for file in files for line in file.read_text().splitlines()]
    assert sorted((name, int(number)) for name, number, _ in written) == [
        (name, number) for name in ("a", "b", "c") for number in range(1000)
    ]
    assert len(files) > 10
    assert max(file.stat().st_size for file in files) <= 20_000 + 3 * 110


def test_a_log_that_was_removed_is_begun_anew(tmp_path: Path, open_log: OpenLog) -> None:
    open_log(tmp_path)
    logs.logger("loop").info(Event.RUN_FINISHED)
    (tmp_path / logs.LOG_FILE).unlink()
    logs.logger("loop").info(Event.TICK_FAILED)
    assert [line["event"] for line in lines(tmp_path)] == ["tick.failed"]
