"""The installed service over a night, under a real systemd: what it is handed, the awake lock, on and off."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

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
AWAKE = "autopilot-awake.service"
EXPOSURE = "78"
"""Ten times what `systemd-analyze security` gave for these units; it counts what only system units obey."""
INHIBIT = 'while [ "${1#--}" != "$1" ]; do shift; done\nexec "$@"\n'
"""Gives the lock to anybody: without polkit the real one refuses a user without a session."""


@pytest.fixture(scope="module")
def machine() -> Iterator[Machine]:
    with booted() as made:
        yield made


@pytest.fixture
def night(machine: Machine) -> Iterator[Serviced]:
    made = Serviced(machine)
    yield made
    made.remove()


def is_awake(night: Serviced) -> bool:
    return night.machine.shown(AWAKE, "ActiveState")["ActiveState"] == "active"


@pytest.mark.covers("D01", "D04", "D05")
def test_the_machine_is_kept_awake_from_on_to_off(night: Serviced) -> None:
    write_script(night.machine.home / "bin" / "systemd-inhibit", INHIBIT)
    night.own_all()
    night.ok("install", env={"PATH": f"{night.machine.home}/bin:{SYSTEM_PATH}"})
    night.wait_until_up()
    assert not is_awake(night)
    night.ok("on", "--for", "8h")
    wait_until(lambda: is_awake(night), PATIENCE_S, "it is kept awake")
    night.ok("off")
    wait_until(lambda: not is_awake(night), PATIENCE_S, "it may sleep")
    night.ok("on")
    wait_until(lambda: is_awake(night), PATIENCE_S, "it is kept awake again")
    night.machine.systemctl("stop", UNIT)
    assert not is_awake(night)


def begin_logind(night: Serviced) -> None:
    """Let python-dbusmock's template of logind, which lists its locks, answer the real `systemd-inhibit`."""
    bus_file = f"/run/user/{UID}/mock-bus"
    address = f"unix:path={bus_file}"
    bus = ("dbus-daemon", "--session", "--nofork", "--nopidfile", f"--address={address}")
    told = f"--setenv=DBUS_SYSTEM_BUS_ADDRESS={address}"
    logind = ("/usr/bin/python3", "-m", "dbusmock", "--system", "--template", "logind")
    for unit, *argv in (("mock-bus", *bus), ("mock-logind", told, *logind)):
        said = night.machine.run_as_user("systemd-run", "--user", "--collect", f"--unit={unit}", *argv)
        assert said.code == 0, said
        wait_until(lambda: not night.machine.run("test", "-S", bus_file).returncode, PATIENCE_S, "a bus")
    real = f'DBUS_SYSTEM_BUS_ADDRESS={address} exec /usr/bin/systemd-inhibit "$@"\n'
    write_script(night.machine.home / "bin" / "systemd-inhibit", real)
    night.own_all()
    wait_until(lambda: locks(night) == [], PATIENCE_S, "logind lists no lock")


def locks(night: Serviced) -> list[str] | None:
    """What the system lists of ours; None while nobody answers."""
    script = str(night.machine.home / "bin" / "systemd-inhibit")
    said = night.machine.run_as_user(script, "--list", "--no-legend", "--no-pager")
    return None if said.code else [line for line in said.out.splitlines() if "autopilot" in line]


def keeper(night: Serviced) -> int:
    return int(night.machine.shown(AWAKE, "MainPID")["MainPID"])


@pytest.mark.needs(
    binary="/usr/lib/python3/dist-packages/dbusmock/templates/logind.py", apt="python3-dbusmock"
)
@pytest.mark.covers("D01", "D04")
@pytest.mark.field_report("DMN-036")
def test_the_lock_from_on_to_off_goes_with_its_keeper_or_the_daemon_however_they_end_and_comes_back(
    night: Serviced,
) -> None:
    begin_logind(night)
    try:
        night.ok("install", env={"PATH": f"{night.machine.home}/bin:{SYSTEM_PATH}"})
        daemon = night.wait_until_up()
        night.ok("on", "--for", "8h")
        (lock,) = wait_until(lambda: locks(night) or [], PATIENCE_S, "the lock is there")
        assert "sleep:idle" in lock
        first = keeper(night)
        night.kill(first)
        wait_until(lambda: not locks(night), PATIENCE_S, "it went with its keeper")
        wait_until(lambda: len(locks(night) or ()) == 1, PATIENCE_S, "it is there again")
        second = keeper(night)
        assert second not in {0, first}
        night.kill(daemon)
        wait_until(lambda: not locks(night), PATIENCE_S, "it went with the daemon")
        night.wait_until_up(besides=daemon)
        wait_until(lambda: len(locks(night) or ()) == 1, PATIENCE_S, "the next daemon took it")
        assert keeper(night) not in {0, first, second}
        night.ok("off")
        wait_until(lambda: not locks(night), PATIENCE_S, "it was let go")
    finally:
        for unit in ("mock-logind", "mock-bus"):
            night.machine.systemctl("stop", unit)


@pytest.mark.field_report("DMN-036")
def test_a_lock_that_is_refused_costs_nothing_but_a_warning(night: Serviced) -> None:
    night.install()
    night.ok("on")

    def has_given_up() -> bool:
        shown = night.machine.shown(AWAKE, "ActiveState", "NRestarts")
        return shown["ActiveState"] == "failed" and int(shown["NRestarts"]) <= 3

    wait_until(has_given_up, PATIENCE_S, "it is given up")
    assert night.state() == "active"


def test_systemd_finds_nothing_to_say_about_the_units(night: Serviced) -> None:
    night.install()
    units = sorted(str(path) for path in night.units.glob("*.service"))
    assert len(units) == 3
    said = night.machine.run_as_user("systemd-analyze", "--user", "verify", *units)
    assert (said.code, said.out, said.err) == (0, "", "")
    analyze = ("systemd-analyze", "security", "--offline=true", f"--threshold={EXPOSURE}")
    assert [night.machine.run_as_user(*analyze, unit).code for unit in units] == [0, 0, 0]
    bad = night.units / "bad.service"
    bad.write_text((night.units / UNIT).read_text().replace("WatchdogSec=", "WatchdogSecs="))
    night.own_all()
    said = night.machine.run_as_user("systemd-analyze", "--user", "verify", str(bad))
    assert "Unknown key 'WatchdogSecs'" in said.err


def test_on_starts_the_service_which_has_what_it_was_handed_and_a_stopped_one_stays_stopped(
    night: Serviced,
) -> None:
    config = night.paths.config_file
    config.write_text(
        config.read_text().replace('kind = "scripted"', 'kind = "scripted"\nenv_pass = ["ANTHROPIC_API_KEY"]')
    )
    night.ok("install", "--pass", "ANTHROPIC_API_KEY", env={"ANTHROPIC_API_KEY": "sk-of-the-night"})
    handed = config.with_name("service-environment.json")
    assert handed.stat().st_mode & 0o777 == 0o600
    night.wait_until_up()
    assert night.ok("daemon", "stop") == "stopped\n"
    assert night.machine.shown(UNIT, "ActiveState", "Result") == {
        "ActiveState": "inactive",
        "Result": "success",
    }
    assert "the service was started by systemd" in night.ok("on")
    assert night.json("status")["daemon"]["pid"] == night.machine.main_pid()
    runner = night.begin_run()
    assert "ANTHROPIC_API_KEY=sk-of-the-night" in night.machine.proc(runner, "environ").split("\0")
    said = night.ok("stop", "--all")
    assert "killed daemon" in said
    assert night.machine.shown(UNIT, "ActiveState")["ActiveState"] in {"inactive", "failed"}
    assert not night.machine.proc(runner, "cgroup")
    assert str(handed) in night.ok("uninstall")
    assert not handed.exists()


def test_a_log_out_gives_the_run_back_and_the_next_log_in_goes_on_with_it(night: Serviced) -> None:
    night.install()
    runner = night.begin_run()
    before = night.machine.main_pid()
    night.machine.log_out()
    assert not night.machine.proc(runner, "cgroup")
    night.machine.log_in()
    night.wait_until_up(besides=before)
    night.let_go()
    ticket = night.wait_for_state("T-1", "published")
    assert (ticket["attempts"], ticket["releases"]) == (1, 1)
