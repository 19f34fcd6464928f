"""The installed service under a real systemd: start, stall, crash, too many of them, stop, and end."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator

import pytest

from autopilot.daemon.children import OWN_MEMORY_BYTES, OWN_THREADS
from autopilot.schemas.events import Event
from tests.support.cli import SYSTEM_PATH
from tests.support.init_system import PATIENCE_S, UID, Machine, booted
from tests.support.repo_traps import write_script
from tests.support.serviced import UNIT, Serviced
from tests.support.wait import wait_until

pytestmark = [
    pytest.mark.slow,
    pytest.mark.needs(binary="systemctl", apt="systemd"),
    pytest.mark.needs(binary="dbus-cleanup-sockets", apt="dbus"),
    pytest.mark.needs(binary="bwrap", apt="bubblewrap"),
]

FAMILIES = {"AF_UNIX", "AF_INET", "AF_INET6", "AF_NETLINK"}


@pytest.fixture(scope="module")
def machine() -> Iterator[Machine]:
    with booted() as made:
        yield made


@pytest.fixture
def night(machine: Machine) -> Iterator[Serviced]:
    made = Serviced(machine)
    yield made
    made.remove()


def files(night: Serviced) -> list[str]:
    """What lies in the folder of the user's units."""
    return sorted(str(path.relative_to(night.units)) for path in night.units.rglob("*"))


def assert_hardened(night: Serviced) -> None:
    """Every key that was written is in force: read back from the manager and from the process."""
    status = night.machine.proc(night.machine.main_pid(), "status")
    facts = dict(line.split(":\t", 1) for line in status.splitlines() if ":\t" in line)
    assert (facts["NoNewPrivs"], facts["Seccomp"], facts["Umask"]) == ("1", "2", "0077")
    wanted = (
        "RestrictRealtime",
        "SystemCallArchitectures",
        "RestrictAddressFamilies",
        "SystemCallErrorNumber",
        "RestartUSec",
        "StartLimitBurst",
        "StartLimitIntervalUSec",
        "TimeoutStartUSec",
        "RestartPreventExitStatus",
        "OnFailure",
        "NotifyAccess",
        "Restart",
    )
    shown = night.machine.shown(UNIT, *wanted, "KillMode", "OOMPolicy", "TimeoutStopUSec", "TimeoutAbortUSec")
    assert set(shown.pop("RestrictAddressFamilies").split()) == FAMILIES
    assert shown == {
        "RestrictRealtime": "yes",
        "SystemCallArchitectures": "native",
        "SystemCallErrorNumber": "1",
        "KillMode": "mixed",
        "OOMPolicy": "continue",
        "TimeoutStopUSec": "38s",
        "TimeoutAbortUSec": "15s",
        "RestartUSec": "10s",
        "StartLimitBurst": "10",
        "StartLimitIntervalUSec": "30min",
        "TimeoutStartUSec": "1h",
        "RestartPreventExitStatus": "3 78",
        "OnFailure": "autopilot-notice.service",
        "NotifyAccess": "main",
        "Restart": "on-failure",
    }
    for unit in (UNIT, "autopilot-awake.service", "autopilot-notice.service"):
        assert_filtered(night, unit)
    beside = night.machine.shown("autopilot-awake.service", "BindsTo", "Restart", "RestartUSec", "Type")
    assert beside == {"BindsTo": UNIT, "Restart": "on-failure", "RestartUSec": "2s", "Type": "exec"}
    told = night.machine.shown("autopilot-notice.service", "Type", "TimeoutStartUSec")
    assert told == {"Type": "oneshot", "TimeoutStartUSec": "1min"}


def assert_filtered(night: Serviced, unit: str) -> None:
    """What no build, test or sandbox needs is taken; mounts, debuggers and the network are not."""
    shown = night.machine.shown(
        unit, "SystemCallFilter", "RestrictAddressFamilies", "NoNewPrivileges", "UMask"
    )
    refused = shown.pop("SystemCallFilter")
    assert refused.startswith("~")
    taken = set(refused.removeprefix("~").split())
    assert {"clock_settime", "init_module", "reboot", "swapon", "iopl", "modify_ldt", "uselib"} <= taken
    assert taken.isdisjoint({"mount", "ptrace", "unshare", "clone", "socket", "execve"})
    assert set(shown.pop("RestrictAddressFamilies").split()) == FAMILIES
    assert shown == {"NoNewPrivileges": "yes", "UMask": "0077"}


@pytest.mark.field_report("DMN-006", "DMN-012")
def test_an_installation_serves_says_so_and_leaves_nothing_but_the_queue(night: Serviced) -> None:
    night.paths.state.mkdir(parents=True)
    (night.paths.state / "daemon.lock").write_text("1 5 an-earlier-boot\n")  # a number that lives again
    night.own_all()
    night.install()
    wait_until(
        lambda: "0 under way" in night.machine.shown(UNIT, "StatusText").values(), PATIENCE_S, "a beat"
    )
    shown = night.machine.shown(UNIT, "Type", "NRestarts", "UnitFileState", "WatchdogUSec")
    assert shown == {
        "Type": "notify",
        "NRestarts": "0",
        "UnitFileState": "enabled",
        "WatchdogUSec": "1min 30s",
    }
    assert_hardened(night)
    before = {path: (night.units / path).stat().st_mtime_ns for path in files(night)}
    again = night.json("install")
    assert {file["act"] for file in again["files"]} == {"same"}
    assert {path: (night.units / path).stat().st_mtime_ns for path in files(night)} == before
    status = night.json("service", "status")
    assert (status["notes"], status["service"]["pid"]) == ([], status["daemon"]["pid"])
    night.ok("add", "Mend it")
    said = night.ok("uninstall")
    assert str(night.paths.state) in said
    assert files(night) == []
    assert night.machine.shown(UNIT, "LoadState")["LoadState"] == "not-found"
    assert night.machine.systemctl("list-units", "--all", "--plain", "--no-legend", "autopilot*").out == ""
    assert night.json("list")["tickets"][0]["title"] == "Mend it"
    assert night.ok("uninstall").startswith("no service is installed")


LINGER_FILE = "/var/lib/systemd/linger/nightshift"
# logind asks polkit, which is not in there: in its place, whoever is asked does what loginctl's root would do
LOGINCTL = f"""#!/bin/sh
echo "$@" >> "$HOME/asked"
case "$*" in
*enable-linger*) touch {LINGER_FILE} ;;
*disable-linger*) rm {LINGER_FILE} ;;
esac
"""


def test_linger_that_is_refused_is_told_with_its_cure_and_nothing_is_undone_later(night: Serviced) -> None:
    said = night.ok("install", "--linger")
    night.wait_until_up()
    assert "! it ends with your last log-out: " in said
    assert "→ sudo loginctl enable-linger $USER" in said
    assert not (night.paths.state / "linger-enabled").exists()
    assert night.json("service", "status")["lingers"] is False


@pytest.mark.parametrize("is_persons", [False, True])
def test_linger_is_switched_on_by_install_and_off_by_uninstall_where_it_was_ours(
    night: Serviced, is_persons: bool
) -> None:
    given = night.machine.home / "bin"
    given.mkdir()
    write_script(given / "loginctl", LOGINCTL)
    night.own_all()
    night.machine.run("install", "-d", "-o", str(UID), "/var/lib/systemd/linger")
    if is_persons:
        night.machine.run("touch", LINGER_FILE)
    env = {"PATH": f"{given}:{SYSTEM_PATH}"}
    try:
        said = night.ok("install", "--linger", env=env)
        night.wait_until_up()
        assert "log-out" not in said
        assert night.machine.run("test", "-e", LINGER_FILE).returncode == 0
        assert (night.paths.state / "linger-enabled").exists() is not is_persons
        night.ok("install", "--linger", env=env)  # once more changes nothing
        night.ok("uninstall", env=env)
        assert not (night.paths.state / "linger-enabled").exists()
        assert (night.machine.run("test", "-e", LINGER_FILE).returncode == 0) is is_persons
        asked = night.machine.home / "asked"
        told = asked.read_text().splitlines() if asked.exists() else []
        ours = [f"--no-ask-password {verb}-linger" for verb in ("enable", "disable")]
        assert told == ([] if is_persons else ours)
    finally:
        night.machine.run("rm", "-rf", "/var/lib/systemd/linger")


def test_a_loop_that_stands_still_is_ended_and_started_anew(night: Serviced) -> None:
    night.install(WatchdogSec="3", RestartSec="100ms")
    before = night.machine.main_pid()
    night.machine.signal(before, signal.SIGSTOP)
    night.wait_until_up(besides=before)
    assert night.machine.shown(UNIT, "NRestarts")["NRestarts"] == "1"
    assert len(night.events(Event.DAEMON_READY)) == 2


def test_a_loop_that_stands_still_is_ended_though_the_daemons_other_threads_live(night: Serviced) -> None:
    night.install(WatchdogSec="12", RestartSec="100ms")
    before = night.machine.main_pid()
    with night.machine.one_thread_stands(before):
        said = night.json("status")
        assert "daemon" in said, said
        assert said["daemon"]["pid"] == before  # a thread beside the loop answers
        night.wait_until_up(besides=before)
    assert night.machine.shown(UNIT, "NRestarts")["NRestarts"] == "1"
    assert len(night.events(Event.DAEMON_READY)) == 2


@pytest.mark.field_report("DMN-050")
def test_a_run_outlives_the_crash_of_the_daemon_in_its_own_scope_and_is_published(
    night: Serviced,
) -> None:
    night.install(RestartSec="100ms")
    runner = night.begin_run()
    unit = night.machine.proc(runner, "cgroup").strip().rpartition("/")[2]
    assert unit.startswith("autopilot-T-1-")
    assert unit.endswith(".scope")
    assert "XDG_RUNTIME_DIR" not in night.machine.proc(runner, "environ")
    whole = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    limits = ("MemoryMax", "MemorySwapMax", "TasksMax", "Delegate", "OOMPolicy", "KillMode")
    assert night.machine.shown(unit, *limits) == {
        "MemoryMax": str(round(whole * 0.75) + OWN_MEMORY_BYTES),
        "MemorySwapMax": "0",
        "TasksMax": str(4 * 1000 + OWN_THREADS),
        "Delegate": "yes",
        "OOMPolicy": "continue",
        "KillMode": "mixed",
    }
    before = night.machine.main_pid()
    night.kill(before)
    night.wait_until_up(besides=before)
    assert night.wait_for(Event.RUN_ADOPTED)["pid"] == runner
    night.let_go()
    ticket = night.wait_for_state("T-1", "published")
    assert ticket["attempts"] == 1
    wait_until(lambda: not night.machine.proc(runner, "cgroup"), PATIENCE_S, "the runner is gone")


@pytest.mark.field_report("DMN-047")
def test_too_many_crashes_are_given_up_and_told_and_a_person_starts_it_again(night: Serviced) -> None:
    night.install(RestartSec="50ms", StartLimitBurst="3")
    for _ in range(3):
        pid = night.wait_until_up()
        night.kill(pid)
        wait_until(lambda pid=pid: night.machine.main_pid() != pid, PATIENCE_S, "it is gone")  # type: ignore[misc]
    told = night.wait_for(Event.DAEMON_GIVEN_UP)
    assert "given up" in told["why"]
    wait_until(lambda: night.state() == "failed", PATIENCE_S, "it starts no more")
    assert "the service was given up" in night.ok("status")
    night.ok("on")
    night.wait_until_up()
    assert "given up" not in night.ok("status")


def test_a_configuration_or_program_that_cannot_be_used_is_told_and_not_tried_again(night: Serviced) -> None:
    night.install()
    night.machine.systemctl("stop", UNIT)
    good = night.paths.config_file.read_text()
    night.paths.config_file.write_text("no such key = 1\n")
    night.machine.systemctl("start", UNIT)
    shown = night.machine.shown(UNIT, "ActiveState", "NRestarts", "ExecMainStatus")
    assert shown == {"ActiveState": "failed", "NRestarts": "0", "ExecMainStatus": "78"}
    night.paths.config_file.write_text(good)
    assert night.json("status")["failed_starts"]["count"] >= 1
    unit = night.units / UNIT
    text = unit.read_text()
    unit.write_text(text.replace('ExecStart=":', 'ExecStart=":/gone'))
    night.machine.systemctl("daemon-reload")
    refused = night.json("on")["error"]
    assert (refused["code"], refused["hint"]) == ("daemon-not-up", "autopilot service status")
    assert "203" in refused["what"]
    assert "its files are not those" in " ".join(night.json("service", "status")["notes"])
    night.ok("install")
    night.wait_until_up()
    assert unit.read_text() == text


def test_a_stop_drains_and_gives_the_ticket_back_without_an_attempt(night: Serviced) -> None:
    night.install(TimeoutStopSec="1")  # shorter than the drain: the daemon asks for more time
    runner = night.begin_run()
    assert night.machine.systemctl("stop", UNIT).code == 0
    shown = night.machine.shown(UNIT, "ActiveState", "Result")
    assert shown == {"ActiveState": "inactive", "Result": "success"}
    assert not night.machine.proc(runner, "cgroup")
    ticket = night.json("show", "T-1")["ticket"]
    assert (ticket["state"], ticket["attempts"]) == ("queued", 0)


@pytest.mark.field_report("DMN-019")
def test_on_starts_a_service_at_once_that_rests_before_it_is_started_again(night: Serviced) -> None:
    """It ends for a new version by itself: `on` took its ten seconds for a start that had failed."""
    night.install()
    night.kill(night.machine.main_pid())
    wait_until(lambda: night.machine.shown(UNIT, "SubState")["SubState"] == "auto-restart", 9, "it rests")
    assert night.json("on")["started_by"] == "systemd"
    assert len(night.events(Event.DAEMON_READY)) == 2
