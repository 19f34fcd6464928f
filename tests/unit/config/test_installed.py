"""Whether another program lies in the place of the one that was started: told by its record."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest

import autopilot
from autopilot.config import installed
from autopilot.daemon import children
from autopilot.runner import __main__ as edge
from autopilot.schemas.errors import TransientError
from autopilot.schemas.run import CONTENTION_CODES, Outcome


@pytest.fixture
def record(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Let the program be an installed one, and give its record."""
    record = tmp_path / "autopilotd-1.0.dist-info" / "RECORD"
    record.parent.mkdir()
    record.write_text("autopilot/__init__.py,,\n")
    monkeypatch.setattr(autopilot, "__path__", [str(tmp_path / "autopilot")])
    monkeypatch.setenv("AUTOPILOT_PROGRAM", "")
    installed.note()
    return record


def rewritten(record: Path) -> None:
    status = record.stat()
    os.utime(record, ns=(status.st_atime_ns, status.st_mtime_ns + 1))


def renumbered(record: Path) -> None:
    record.parent.rename(record.parent.with_name("autopilotd-1.1.dist-info"))


def removed(record: Path) -> None:
    shutil.rmtree(record.parent)


def half_removed(record: Path) -> None:
    record.unlink()


@pytest.mark.parametrize("change", [rewritten, renumbered, removed, half_removed])
def test_an_installation_that_was_written_anew_or_is_gone_is_noticed(record: Path, change: object) -> None:
    assert not installed.is_replaced()
    installed.refuse_replaced()
    assert callable(change)
    change(record)
    assert installed.is_replaced()
    with pytest.raises(TransientError, match="another version of autopilot was installed meanwhile"):
        installed.refuse_replaced()


def test_a_checkout_is_never_replaced_and_tells_its_children_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(autopilot, "__path__", [str(tmp_path / "src" / "autopilot")])
    monkeypatch.setenv("AUTOPILOT_PROGRAM", "of an outer daemon")
    installed.note()
    assert (installed.is_replaced(), installed.noted()) == (False, {})


def test_a_child_is_told_which_program_its_daemon_is(record: Path) -> None:
    _, env = children.verification(record, record, home=record.parent, passed=(), base=None)
    assert env["AUTOPILOT_PROGRAM"] == os.environ["AUTOPILOT_PROGRAM"]


@pytest.mark.field_report("DMN-019")
def test_what_a_run_breaks_by_is_no_fault_of_its_ticket_once_the_program_is_another(record: Path) -> None:
    error = ImportError("cannot import name")
    assert edge._failure(error).outcome is Outcome.BUG  # noqa: SLF001 - what a result is made of
    removed(record)
    failure = edge._failure(error)  # noqa: SLF001 - as above
    assert (failure.outcome, failure.code) == (Outcome.INFRASTRUCTURE, "program-replaced")
    assert failure.code in CONTENTION_CODES
