"""The sleep lock against python-dbusmock's template of logind, read back by systemd's own program."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest

from autopilot.config import proc
from autopilot.config.clock import SystemClock
from autopilot.daemon.checkup import power
from autopilot.daemon.installing import service_of
from autopilot.launchd.awake import More, hold
from autopilot.schemas.events import Event
from tests.support.daemon import Daemon
from tests.support.logind import dbusmock_logind, listed
from tests.support.repo_traps import write_script
from tests.support.shop import Stage
from tests.support.wait import wait_until

pytestmark = [
    pytest.mark.needs(binary="systemd-inhibit", apt="systemd"),
    pytest.mark.needs(binary="dbus-daemon", apt="dbus-daemon"),
    pytest.mark.needs(
        binary="/usr/lib/python3/dist-packages/dbusmock/templates/logind.py", apt="python3-dbusmock"
    ),
    pytest.mark.skipif(sys.platform != "linux", reason="logind is Linux only"),
]
CLOCK = SystemClock()


@pytest.fixture
def address(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    with dbusmock_logind(tmp_path) as address:
        monkeypatch.setenv("DBUS_SYSTEM_BUS_ADDRESS", address)
        yield address


def locks(address: str) -> list[tuple[str, ...]]:
    """Who, what, why and how; whose it is and its process are made up by the template."""
    rows = [line.split() for line in listed(address) or ()]
    return [(row[0], row[5], " ".join(row[6:-1]), row[-1]) for row in rows]


@pytest.mark.covers("D03")
@pytest.mark.parametrize(
    ("more", "what"), [(More(), "sleep:idle"), (More(lid=True), "sleep:idle:handle-lid-switch")]
)
def test_a_lock_is_listed_by_the_system_until_it_is_let_go(address: str, more: More, what: str) -> None:
    with hold(reason="run T-1-a1", more=more) as lock:
        assert (lock.kind, lock.warning) == ("logind", "")
        assert locks(address) == [("autopilot", what, "run T-1-a1", "block")]
    wait_until(lambda: listed(address) == [], 20, "the system lists no lock")


def test_a_lock_is_off_the_systems_list_once_its_run_is_killed(address: str, tmp_path: Path) -> None:
    child = proc.spawn(["sleep", "600"], cwd=tmp_path, env={"PATH": os.defpath}, output=tmp_path / "runner")
    other = proc.spawn(["sleep", "600"], cwd=tmp_path, env={"PATH": os.defpath}, output=tmp_path / "other")
    try:
        with hold(reason="run T-2-a1", pid=other.pid), hold(reason="run T-1-a1", pid=child.pid):
            assert sorted(why for _, _, why, _ in locks(address)) == ["run T-1-a1", "run T-2-a1"]
            os.kill(child.pid, signal.SIGKILL)
            wait_until(lambda: child.poll() is not None, 30, "the run is dead")
            wait_until(lambda: len(locks(address)) == 1, 20, "its lock is off the list")
            assert [why for _, _, why, _ in locks(address)] == ["run T-2-a1"]
    finally:
        for each in (child, other):
            proc.kill_tree(each.id, grace_s=0, clock=CLOCK)
            each.poll()


@pytest.mark.covers("D01", "D04")
def test_the_awake_services_own_command_is_held_and_listed_for_as_long_as_it_runs(
    address: str, tmp_path: Path
) -> None:
    stage = Stage(tmp_path)
    stage.store.close()
    argv = service_of(stage.paths, stage.settings, platform="linux").keep_awake
    env = {"PATH": os.defpath, "DBUS_SYSTEM_BUS_ADDRESS": address}
    child = proc.spawn(argv, cwd=tmp_path, env=env, output=tmp_path / "awake")
    try:
        wait_until(lambda: listed(address), 20, "the lock is there")
        assert locks(address) == [("autopilot", "sleep:idle", "the night shift is on", "block")]
        assert child.poll() is None
    finally:
        proc.kill_tree(child.id, grace_s=1, clock=CLOCK)
        child.poll()
    wait_until(lambda: listed(address) == [], 20, "it ended with the service")


def test_the_check_up_reads_its_own_lock_back_from_the_real_list_and_gives_it_back(address: str) -> None:
    line = power.sleep_lock(CLOCK)
    assert (line.verdict, line.evidence) == ("go", "logind gives it, and lists it")
    wait_until(lambda: listed(address) == [], 20, "it was given back")


@pytest.mark.covers("D01", "D04")
def test_a_daemon_that_no_service_keeps_holds_a_lock_from_on_to_off(address: str, tmp_path: Path) -> None:
    """A laptop that was armed at seven for ten o'clock slept before a first run could take a lock."""
    config = '[identity]\nname = "P"\nemail = "p@example.org"\n[awake]\nlid = "always"\n'
    daemon = Daemon(tmp_path / "home", config=config, env={"DBUS_SYSTEM_BUS_ADDRESS": address})
    daemon.start()
    try:
        assert listed(address) == []
        for _ in range(2):
            daemon.call("POST", "/v1/switch", on=True, ignore_window=True)
            wait_until(lambda: listed(address), 20, "the lock is there")
            what = "sleep:idle:handle-lid-switch"
            assert locks(address) == [("autopilot", what, "autopilot is on", "block")]
            daemon.call("POST", "/v1/switch", on=False)
            wait_until(lambda: listed(address) == [], 20, "it was let go")
        daemon.call("POST", "/v1/switch", on=True, ignore_window=True)
        wait_until(lambda: listed(address), 20, "the lock is there again")
    finally:
        daemon.kill()
    wait_until(lambda: listed(address) == [], 20, "it ended with the daemon, however that ended")


@pytest.mark.rare
@pytest.mark.covers("D01")
@pytest.mark.field_report("DMN-036")
def test_a_lock_whose_program_is_killed_in_the_middle_of_a_night_is_there_again(
    address: str, tmp_path: Path
) -> None:
    daemon = Daemon(
        tmp_path / "home",
        config='[identity]\nname = "P"\nemail = "p@example.org"\n[daemon]\npoll_s = 5\n',
        env={"DBUS_SYSTEM_BUS_ADDRESS": address},
    )
    daemon.start()
    try:
        daemon.call("POST", "/v1/switch", on=True, ignore_window=True)
        daemon.wait_for_event(Event.AWAKE_HELD)
        process = psutil.Process(daemon.call("GET", "/v1/health")["pid"])
        (holder,) = [each for each in process.children() if "systemd-inhibit" in each.cmdline()[0]]
        for each in (*holder.children(recursive=True), holder):
            each.kill()
        wait_until(lambda: listed(address) == [], 20, "nothing is held")
        daemon.wait_for_event(Event.AWAKE_LOST)
        wait_until(lambda: listed(address), 20, "it is there again")
        assert locks(address) == [("autopilot", "sleep:idle", "autopilot is on", "block")]
        daemon.wait_for_event(Event.AWAKE_HELD, count=2)
        (lock,) = daemon.call("GET", "/v1/status")["awake_locks"]
        assert (lock["kind"], lock["warning"]) == ("logind", "")
    finally:
        daemon.kill()


@pytest.mark.covers("D01", "D04", "D05")
@pytest.mark.field_report("DMN-035")
def test_beside_the_awake_service_the_daemon_holds_the_lid_and_follows_the_configuration(
    address: str, tmp_path: Path
) -> None:
    """The service's own command was written at installation, and holds off sleep alone."""
    plain = '[identity]\nname = "P"\nemail = "p@example.org"\n'
    asked = tmp_path / "asked"
    write_script(tmp_path / "bin" / "systemctl", f"echo \"$@\" >> '{asked}'\n")
    env = {
        "DBUS_SYSTEM_BUS_ADDRESS": address,
        "AUTOPILOT_SERVICE": "systemd",
        "PATH": f"{tmp_path / 'bin'}:/usr/bin:/bin",
    }
    daemon = Daemon(tmp_path / "home", config=f'{plain}[awake]\nlid = "always"\n', env=env)
    daemon.start()
    try:
        daemon.call("POST", "/v1/switch", on=True, ignore_window=True)
        wait_until(lambda: listed(address), 20, "the lid is held off")
        assert locks(address) == [("autopilot", "handle-lid-switch", "autopilot is on", "block")]
        daemon.call("POST", "/v1/switch", on=False)
        wait_until(lambda: listed(address) == [], 20, "it was let go")
        daemon.paths.config_file.write_text(plain)
        daemon.call("POST", "/v1/switch", on=True, ignore_window=True)
        wait_until(lambda: asked.read_text().count(" start ") == 2, 20, "the service was asked for after it")
        assert listed(address) == []
    finally:
        daemon.kill()
