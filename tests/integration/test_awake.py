"""The sleep lock of a run, with the real systemd-inhibit against a private logind, and with a stand-in."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from autopilot.config import proc
from autopilot.config.clock import SystemClock
from autopilot.launchd.awake import AwakeLock, More, hold
from tests.support.logind import private_logind
from tests.support.repo_traps import write_script
from tests.support.tree import ROOT
from tests.support.wait import wait_until

CLOCK = SystemClock()
ON_LINUX = [
    pytest.mark.needs(binary="systemd-inhibit", apt="systemd"),
    pytest.mark.needs(binary="dbus-daemon", apt="dbus-daemon"),
    pytest.mark.skipif(sys.platform != "linux", reason="logind is Linux only"),
]
HELD = "held sleep:idle | autopilot | run T-1-a1 | block"
RELEASED = "released sleep:idle | autopilot | run T-1-a1 | block"


@pytest.fixture
def journal(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    with private_logind(tmp_path) as (address, journal):
        monkeypatch.setenv("DBUS_SYSTEM_BUS_ADDRESS", address)
        yield journal


@pytest.fixture
def runner(tmp_path: Path) -> Iterator[proc.Child]:
    """A process that stands for a run."""
    child = proc.spawn(["sleep", "600"], cwd=tmp_path, env={"PATH": os.defpath}, output=tmp_path / "runner")
    yield child
    proc.kill_tree(child.id, grace_s=0, clock=CLOCK)
    child.poll()


def lines(journal: Path) -> list[str]:
    return [line for line in journal.read_text().splitlines() if line != "ready"]


def wait_for(journal: Path, *expected: str) -> None:
    wait_until(lambda: lines(journal) == list(expected), 10, f"the journal reads {expected}")


class TestOnLinux:
    pytestmark = ON_LINUX

    @pytest.mark.covers("D03")
    def test_a_lock_is_held_until_it_is_released(self, journal: Path, runner: proc.Child) -> None:
        with hold(reason="run T-1-a1", pid=runner.pid) as lock:
            assert (lock.kind, lock.warning, lock.is_held) == ("logind", "", True)
            wait_for(journal, HELD)
        wait_for(journal, HELD, RELEASED)
        assert not lock.is_held
        lock.release()

    @pytest.mark.covers("D03")
    def test_a_lock_ends_when_the_run_is_killed(self, journal: Path, runner: proc.Child) -> None:
        lock = hold(reason="run T-1-a1", pid=runner.pid)
        wait_for(journal, HELD)
        os.kill(runner.pid, signal.SIGKILL)
        wait_until(lambda: runner.poll() is not None, 30, "the run is dead")
        wait_for(journal, HELD, RELEASED)
        lock.release()

    def test_a_lock_for_ourselves_ends_when_we_are_killed(self, journal: Path, tmp_path: Path) -> None:
        script = (
            "import select; from autopilot.launchd.awake import hold; "
            "hold(reason='run T-1-a1'); select.select([], [], [])"
        )
        us = ours(script, tmp_path)
        wait_for(journal, HELD)
        os.kill(us.pid, signal.SIGKILL)
        wait_until(lambda: us.poll() is not None, 30, "we are dead")
        wait_for(journal, HELD, RELEASED)

    def test_a_lock_outlives_whoever_took_it_for_a_run(
        self, journal: Path, tmp_path: Path, runner: proc.Child
    ) -> None:
        # A daemon that crashes must not let the machine fall asleep under a run that goes on.
        script = (
            "import select; from autopilot.launchd.awake import hold; "
            f"hold(reason='run T-1-a1', pid={runner.pid}); select.select([], [], [])"
        )
        daemon = ours(script, tmp_path)
        wait_for(journal, HELD)
        os.kill(daemon.pid, signal.SIGKILL)
        wait_until(lambda: daemon.poll() is not None, 30, "the daemon is dead")
        assert lines(journal) == [HELD]
        os.kill(runner.pid, signal.SIGKILL)
        wait_until(lambda: runner.poll() is not None, 30, "the run is dead")
        wait_for(journal, HELD, RELEASED)

    def test_no_child_inherits_the_lock(self, journal: Path, tmp_path: Path, runner: proc.Child) -> None:
        with hold(reason="run T-1-a1", pid=runner.pid):
            wait_for(journal, HELD)
            child = proc.spawn(
                ["sleep", "600"], cwd=tmp_path, env={"PATH": os.defpath}, output=tmp_path / "child"
            )
        wait_for(journal, HELD, RELEASED)
        assert proc.is_alive(child.id)
        proc.kill_tree(child.id, grace_s=0, clock=CLOCK)
        child.poll()

    def test_a_refusal_is_a_warning_with_a_name(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, runner: proc.Child
    ) -> None:
        with private_logind(tmp_path, behaviour="refuse") as (address, _):
            monkeypatch.setenv("DBUS_SYSTEM_BUS_ADDRESS", address)
            lock = hold(reason="x", pid=runner.pid)
        assert (lock.kind, lock.warning, lock.is_held) == ("none", "awake-refused", False)
        assert "ccess denied" in lock.detail

    @pytest.mark.field_report("DMN-035")
    def test_a_lid_is_held_off_where_that_is_asked_for(self, journal: Path, runner: proc.Child) -> None:
        with hold(reason="run T-1-a1", pid=runner.pid, more=More(lid=True)) as lock:
            assert (lock.kind, lock.warning, lock.is_held) == ("logind", "", True)
            wait_for(journal, HELD.replace("sleep:idle", "sleep:idle:handle-lid-switch"))

    @pytest.mark.field_report("DMN-035")
    def test_where_only_the_lid_is_refused_sleep_is_held_off_all_the_same(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, runner: proc.Child
    ) -> None:
        with private_logind(tmp_path, behaviour="refuse-lid") as (address, journal):
            monkeypatch.setenv("DBUS_SYSTEM_BUS_ADDRESS", address)
            with hold(reason="run T-1-a1", pid=runner.pid, more=More(lid=True)) as lock:
                assert (lock.kind, lock.warning, lock.is_held) == ("logind", "awake-lid-refused", True)
                assert "ccess denied" in lock.detail
                wait_for(journal, HELD)
            wait_for(journal, HELD, RELEASED)

    def test_a_machine_without_a_bus_is_a_warning_with_a_name(
        self, monkeypatch: pytest.MonkeyPatch, runner: proc.Child
    ) -> None:
        monkeypatch.setenv("DBUS_SYSTEM_BUS_ADDRESS", "unix:path=/nowhere")
        lock = hold(reason="x", pid=runner.pid)
        assert (lock.kind, lock.warning) == ("none", "awake-no-bus")
        lock.release()


def ours(script: str, folder: Path) -> proc.Child:
    env = {**os.environ, "PYTHONPATH": str(ROOT / "src")}
    return proc.spawn([sys.executable, "-P", "-c", script], cwd=folder, env=env, output=folder / "ours")


def on_a_mac(
    folder: Path, monkeypatch: pytest.MonkeyPatch, body: str, pid: int, *, more: More | None = None
) -> AwakeLock:
    """Hold a lock with a `caffeinate` of ours, which notes its arguments."""
    program = write_script(folder / "bin" / "caffeinate", f'echo "$@" > "{folder}/argv"\n{body}')
    monkeypatch.setenv("PATH", f"{program.parent}{os.pathsep}{os.environ['PATH']}")
    return hold(reason="x", pid=pid, more=more or More(), platform="darwin")


@pytest.mark.covers("D03")
def test_on_a_mac_caffeinate_watches_the_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, runner: proc.Child
) -> None:
    with on_a_mac(tmp_path, monkeypatch, "exec sleep 600", runner.pid) as lock:
        wait_until((tmp_path / "argv").exists, 30, "caffeinate was started")
        wait_until((tmp_path / "argv").read_text, 30, "caffeinate has noted its arguments")
        assert (tmp_path / "argv").read_text() == f"-i -s -w {runner.pid}\n"
        assert (lock.kind, lock.warning, lock.is_held) == ("caffeinate", "", True)
    assert not lock.is_held


@pytest.mark.covers("D02")
def test_on_a_mac_the_display_stays_on_where_that_is_asked_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, runner: proc.Child
) -> None:
    with on_a_mac(
        tmp_path, monkeypatch, "exec sleep 600", runner.pid, more=More(display=True, lid=True)
    ) as lock:
        wait_until((tmp_path / "argv").exists, 30, "caffeinate was started")
        wait_until((tmp_path / "argv").read_text, 30, "caffeinate has noted its arguments")
        assert (tmp_path / "argv").read_text() == f"-i -s -d -w {runner.pid}\n"
        assert lock.is_held


@pytest.mark.parametrize("platform", ["linux", "darwin"])
def test_a_machine_without_the_program_is_a_warning_with_a_name(
    platform: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", "/nowhere")
    monkeypatch.setattr("autopilot.config.environ._USUAL_FOLDERS", ())
    lock = hold(reason="x", platform=platform)
    assert (lock.kind, lock.warning, lock.is_held) == ("none", "awake-no-program", False)
    lock.release()


def test_a_reason_cannot_become_an_option_or_a_second_line(tmp_path: Path) -> None:
    from autopilot.launchd.awake import _inhibit

    argv = _inhibit(1, "--what=shutdown", tmp_path, More())
    assert argv[4] == "--why=--what=shutdown"
