"""Whether another program lies in the place of the one that was started: told by its record."""

from __future__ import annotations

import os
import resource
import shutil
import sys
from collections.abc import Iterator
from contextlib import contextmanager
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
    place = tmp_path / "lib" / "python3.11" / "site-packages"
    record = place / "autopilotd-1.0.dist-info" / "RECORD"
    record.parent.mkdir(parents=True)
    record.write_text("autopilot/__init__.py,,\n")
    monkeypatch.setattr(autopilot, "__path__", [str(place / "autopilot")])
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
    _, env = children.verification(record, record, passed=(), base=None)
    assert env["AUTOPILOT_PROGRAM"] == os.environ["AUTOPILOT_PROGRAM"]


@pytest.mark.field_report("DMN-019")
def test_what_a_run_breaks_by_is_no_fault_of_its_ticket_once_the_program_is_another(record: Path) -> None:
    error = ImportError("cannot import name")
    assert edge._failure(error).outcome is Outcome.BUG  # noqa: SLF001 - what a result is made of
    removed(record)
    failure = edge._failure(error)  # noqa: SLF001 - as above
    assert (failure.outcome, failure.code) == (Outcome.INFRASTRUCTURE, "program-replaced")
    assert failure.code in CONTENTION_CODES


def test_no_descriptor_to_look_with_says_nothing_about_the_program(record: Path) -> None:
    """One moment without any was taken for another version, and the daemon did nothing more all night."""
    with no_descriptor_free():
        seen, is_replaced = installed.sign(), installed.is_replaced()
    assert (seen, is_replaced) == (None, False)
    removed(record)
    assert installed.sign() == ""


def test_a_program_that_is_started_while_it_is_being_installed_is_another_once_it_is_there(
    record: Path,
) -> None:
    """It was taken for a checkout, which nobody watches, and went on as a mixture."""
    text = record.read_text()
    record.unlink()
    installed.note()
    assert not installed.is_replaced()
    record.write_text(text)
    assert installed.is_replaced()


def test_an_environment_that_was_made_anew_for_another_python_has_the_new_version(
    record: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """`uv tool upgrade --python` does that: a service waited all night in the folder of the old one."""
    anew = tmp_path / "lib" / "python3.12" / "site-packages" / "autopilotd-1.1.dist-info"
    anew.mkdir(parents=True)
    (anew / "RECORD").write_text("")
    assert not installed.is_replaced()
    shutil.rmtree(tmp_path / "lib" / "python3.11")
    monkeypatch.setattr(sys, "prefix", str(tmp_path))
    assert installed.is_replaced()
    assert (installed.sign() or "").startswith("autopilotd-1.1.dist-info:")
    monkeypatch.setattr(sys, "prefix", sys.base_prefix)  # no environment: another Python's is not ours
    assert installed.sign() == ""


@contextmanager
def no_descriptor_free() -> Iterator[None]:
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (0, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
