"""A lease: renewed by touching a file, lost when nobody does for most of it."""

from __future__ import annotations

import resource
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from autopilot.config.clock import SystemClock
from autopilot.config.lease import LOST_SHARE, LeaseWatch, renew
from tests.support.clock import FakeClock
from tests.support.tree import ROOT
from tests.support.wait import wait_until

LEASE_S = 60.0
ALLOWED_S = LEASE_S * LOST_SHARE


class Child:
    """A child that looks once a second."""

    def __init__(self, file: Path) -> None:
        self.file, self.clock = file, FakeClock()
        self.watch = LeaseWatch(file, LEASE_S, clock=self.clock, on_lost=lambda: None, on_blind=lambda: None)

    def lives(self, seconds: float) -> bool:
        """Let it live for so long; whether its lease is lost then."""
        is_lost = False
        for _ in range(round(seconds)):
            self.clock.advance(1)
            is_lost = self.watch.look()
        return is_lost


@pytest.fixture
def child(tmp_path: Path) -> Child:
    file = tmp_path / "lease"
    renew(file)
    return Child(file)


def test_a_lease_that_nobody_renews_is_lost_after_80_percent_of_it_and_no_sooner(child: Child) -> None:
    assert not child.lives(ALLOWED_S - 1)
    assert child.lives(1)


def test_every_renewal_gives_the_whole_time_again(child: Child) -> None:
    for _ in range(10):
        assert not child.lives(ALLOWED_S - 1)
        renew(child.file)
        assert not child.lives(1)
    assert not child.lives(ALLOWED_S - 1)
    assert child.lives(1)


@pytest.mark.parametrize("jump_s", [86_400.0, -86_400.0, 5 * 365 * 86_400.0])
def test_a_wall_clock_that_jumps_says_nothing(child: Child, jump_s: float) -> None:
    child.clock.jump_wall(jump_s)
    assert not child.lives(ALLOWED_S - 1)
    renew(child.file)
    child.clock.jump_wall(-jump_s)
    assert not child.lives(ALLOWED_S - 1)


def test_time_in_which_the_child_itself_was_held_still_does_not_count(child: Child) -> None:
    child.lives(10)
    child.clock.advance(3600)
    assert not child.watch.look()
    assert not child.lives(ALLOWED_S - 10 - 4)
    assert child.lives(4)


def test_a_file_that_goes_is_no_renewal_and_one_that_comes_back_is(child: Child) -> None:
    child.lives(ALLOWED_S - 2)
    child.file.unlink()
    assert not child.lives(1)
    renew(child.file)
    assert not child.lives(1)
    child.file.unlink()
    assert child.lives(ALLOWED_S)


def _link(file: Path) -> None:
    file.unlink()
    file.symlink_to("/nowhere")


def _folder(file: Path) -> None:
    file.unlink()
    file.mkdir()


@pytest.mark.parametrize("put", [_link, _folder, Path.unlink])
def test_whatever_an_agent_puts_in_its_place_it_can_be_renewed(
    child: Child, put: Callable[[Path], object]
) -> None:
    put(child.file)
    for _ in range(3):
        child.lives(ALLOWED_S - 5)
        renew(child.file)
        assert not child.lives(1)


def test_a_renewal_needs_no_room(tmp_path: Path) -> None:
    """A full disk refuses every byte; so does a limit of none on the size of files."""
    program = (
        f"from pathlib import Path; from autopilot.config.lease import renew; f = Path({str(tmp_path)!r})"
    )
    done = subprocess.run(
        [sys.executable, "-P", "-c", f"{program} / 'lease'; renew(f); renew(f)"],
        env={"PYTHONPATH": str(ROOT / "src"), "PYTHONDONTWRITEBYTECODE": "1"},
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0)),
        capture_output=True,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, b"")


def test_where_there_is_no_folder_the_renewal_says_so(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        renew(tmp_path / "gone" / "lease")


def test_who_is_told_is_told_once_from_a_thread_of_its_own(tmp_path: Path) -> None:
    told: list[str] = []
    watch = LeaseWatch(
        tmp_path / "lease",
        0.05,
        clock=SystemClock(),
        on_lost=lambda: told.append("lost"),
        on_blind=lambda: told.append("blind"),
    )
    watch.start()
    wait_until(lambda: told, 20, "it is told")
    assert told == ["lost"]


class Starved(FakeClock):
    """A clock that moves on at each look, and in between there is no memory to look with."""

    def __init__(self) -> None:
        super().__init__()
        self.looks = 0

    def monotonic_s(self) -> float:
        self.looks += 1
        if self.looks in {2, 3, 5}:
            raise MemoryError
        self.advance(1)
        return super().monotonic_s()


def test_a_look_without_memory_is_made_again_and_a_lost_lease_is_told_of_all_the_same(tmp_path: Path) -> None:
    told, tried = threading.Event(), [MemoryError()]

    def tell() -> None:
        if tried:
            raise tried.pop()
        told.set()

    LeaseWatch(tmp_path / "never renewed", 1.0, clock=Starved(), on_lost=tell, on_blind=lambda: None).start()
    assert told.wait(30)


class Deadly(FakeClock):
    """A clock that the thread dies of."""

    def __init__(self, error: BaseException) -> None:
        super().__init__()
        self.error = error

    def monotonic_s(self) -> float:
        if threading.current_thread().name == "lease":
            raise self.error
        return super().monotonic_s()


@pytest.mark.filterwarnings("ignore::pytest.PytestUnhandledThreadExceptionWarning")
@pytest.mark.parametrize("error", [ValueError("bug"), RecursionError(), SystemError()])
def test_whatever_the_thread_dies_of_it_is_told_that_nobody_looks_any_more(
    tmp_path: Path, error: Exception
) -> None:
    told: list[str] = []
    watch = LeaseWatch(
        tmp_path / "lease",
        60.0,
        clock=Deadly(error),
        on_lost=lambda: told.append("lost"),
        on_blind=lambda: told.append("blind"),
    )
    watch.start()
    wait_until(lambda: watch.is_over, 20, "it is over")
    assert told == ["blind"]


@pytest.mark.filterwarnings("ignore::pytest.PytestUnhandledThreadExceptionWarning")
def test_where_there_was_no_memory_to_tell_of_it_who_asks_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def short(*_: object) -> bool:
        raise MemoryError

    monkeypatch.setattr(LeaseWatch, "_has_told", short)  # not even a call has room, wherever it is made
    watch = LeaseWatch(tmp_path / "lease", 60.0, clock=FakeClock(), on_lost=lambda: None, on_blind=short)
    watch.start()
    wait_until(lambda: watch.is_over, 20, "it is over")
