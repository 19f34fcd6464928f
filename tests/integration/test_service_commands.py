"""`install`, `uninstall` and `service` where no service manager answers, and the program that they name."""

from __future__ import annotations

import shlex
import subprocess
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from autopilot.config import handed
from autopilot.config.clock import SystemClock
from autopilot.daemon import keeping, starts
from autopilot.daemon.api import client
from autopilot.daemon.starts import failed_starts
from autopilot.daemon.version import program_version
from autopilot.launchd import keeper
from autopilot.launchd.service import BURST, BURST_WITHIN_S
from autopilot.schemas.errors import AutopilotError, ExitCode
from tests.support.cli import COMMAND, Cli
from tests.support.clock import FakeClock
from tests.support.daemon import PATIENCE_S
from tests.support.shop import CONFIG
from tests.support.wait import wait_until

UNITS = ".config/systemd/user"
pytestmark = pytest.mark.skipif("sys.platform != 'linux'", reason="the units of systemd")


@pytest.fixture
def cli(tmp_path: Path) -> Cli:
    """A home whose user has no manager that could be reached."""
    nowhere = tmp_path / "runtime"
    nowhere.mkdir()
    env = {"XDG_RUNTIME_DIR": str(nowhere), "DBUS_SESSION_BUS_ADDRESS": f"unix:path={nowhere}/bus"}
    return Cli(tmp_path / "home", config=CONFIG, env=env)


def unit(cli: Cli, name: str = "autopilot.service") -> str:
    """What `install` would write."""
    contents = cli.run("install", "--dry-run", "--json").json()["contents"]
    text: str = contents[f"{cli.home}/{UNITS}/{name}"]
    return text


def values(text: str, key: str) -> list[str]:
    return [line.partition("=")[2] for line in text.splitlines() if line.startswith(f"{key}=")]


def test_without_a_manager_install_refuses_by_name_and_writes_nothing(cli: Cli) -> None:
    said = cli.run("install", "--json")
    assert (said.code, said.error["code"]) == (ExitCode.REFUSED, "no-service-manager")
    assert "autopilot on" in said.error["hint"]
    assert not (cli.home / UNITS).exists()


def test_a_dry_run_shows_every_file_and_command_and_changes_nothing(cli: Cli) -> None:
    said = cli.run("install", "--dry-run")
    assert said.code == ExitCode.OK
    assert f"# {cli.home}/{UNITS}/autopilot.service (new)" in said.out
    assert "$ systemctl --user enable autopilot.service" in said.out
    assert not (cli.home / UNITS).exists()


def test_without_a_service_there_is_nothing_to_remove_and_status_says_so(cli: Cli) -> None:
    assert cli.told("uninstall").startswith("no service is installed\n")
    said = cli.run("service", "status", "--json")
    assert said.code == ExitCode.REFUSED
    assert "no service is installed → autopilot install" in said.json()["notes"]


def test_a_file_that_we_did_not_write_is_not_touched(cli: Cli) -> None:
    foreign = cli.home / UNITS / "autopilot.service"
    foreign.parent.mkdir(parents=True)
    foreign.write_text("[Service]\nExecStart=/bin/true\n")
    said = cli.run("install", "--json")
    assert (said.code, said.error["code"]) == (ExitCode.REFUSED, "service-foreign")
    assert cli.run("uninstall").code == ExitCode.OK
    foreign.unlink()
    foreign.symlink_to("/dev/null")  # masked by the operator
    assert cli.run("install", "--json").error["code"] == "service-foreign"
    assert foreign.is_symlink()


def test_the_service_of_another_state_folder_is_not_touched(cli: Cli, tmp_path: Path) -> None:
    other = cli.home / UNITS / "autopilot.service"
    text = unit(cli).replace(f'"AUTOPILOT_HOME={cli.home}"', '"AUTOPILOT_HOME=/another"')
    other.parent.mkdir(parents=True)
    other.write_text(text)
    for verb in ("install", "uninstall"):
        said = cli.run(verb, "--json")
        assert (said.code, said.error["code"]) == (ExitCode.REFUSED, "service-elsewhere")
        assert "AUTOPILOT_HOME=/another autopilot uninstall" in said.error["hint"]
    assert other.read_text() == text
    assert any("/another" in note for note in cli.run("service", "status", "--json").json()["notes"])


def test_a_variable_that_is_not_set_cannot_be_handed_over(cli: Cli) -> None:
    said = cli.run("install", "--pass", "NOT_SET_HERE", "--json")
    assert said.code == ExitCode.REFUSED


def test_a_service_that_cannot_be_reached_is_none(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    installed = cli.home / UNITS / "autopilot.service"
    text = unit(cli)
    installed.parent.mkdir(parents=True)
    installed.write_text(text)
    for name, value in cli.env.items():
        monkeypatch.setenv(name, value)
    init = keeper.find(SystemClock())
    assert keeping.installed_home(init) == keeping.our_home() == str(cli.home)
    assert keeping.installed(SystemClock()) is None


@pytest.fixture
def started() -> Iterator[list[subprocess.Popen[bytes]]]:
    processes: list[subprocess.Popen[bytes]] = []
    yield processes
    for process in processes:
        process.terminate()
        process.wait(PATIENCE_S)


@pytest.mark.field_report("DMN-010")
def test_the_daemon_comes_up_with_nothing_but_what_the_unit_says(
    cli: Cli, started: list[subprocess.Popen[bytes]]
) -> None:
    text = unit(cli)
    (command,) = values(text, "ExecStart")
    argv = shlex.split(command)
    argv[0] = argv[0].removeprefix(":")
    assert argv[0].startswith("/")
    env = dict(word.split("=", 1) for line in values(text, "Environment") for word in shlex.split(line))
    started.append(subprocess.Popen(argv, cwd="/", env=env, stderr=subprocess.DEVNULL))

    def is_up() -> bool:
        assert started[0].poll() is None
        with suppress(AutopilotError):
            return bool(client.call(cli.paths.control_socket, "GET", "/v1/health")["status"] == "ok")
        return False

    wait_until(is_up, PATIENCE_S, "it answers")


@pytest.mark.field_report("DMN-047")
def test_launchd_is_given_0_where_another_start_would_change_nothing(cli: Cli) -> None:
    cli.paths.ensure()
    good = cli.paths.config_file.read_text()
    cli.paths.config_file.write_text("no_such_key = 1\n")
    said = cli.run("daemon", "run", env={"AUTOPILOT_SERVICE": "launchd"})
    assert said.code == ExitCode.OK
    assert "no_such_key" in said.err
    assert cli.run("daemon", "run").code == ExitCode.CONFIG
    cli.paths.config_file.write_text(good)
    failed = failed_starts(cli.paths)
    assert failed is not None
    assert failed.count == 2


@pytest.mark.field_report("DMN-047")
def test_launchd_is_given_up_after_as_many_failures_as_systemd_allows(cli: Cli) -> None:
    clock = FakeClock(SystemClock().now_ms())
    for _ in range(BURST - 1):
        starts.begin(cli.paths.ensure(), clock)
    assert not starts.is_hopeless(cli.paths, clock, count=BURST, within_s=BURST_WITHIN_S)
    starts.begin(cli.paths, clock)
    said = cli.run("daemon", "run", env={"AUTOPILOT_SERVICE": "launchd"})
    assert said.code == ExitCode.OK
    assert "too many starts failed" in said.err
    assert "the service was given up" in cli.told("status")
    clock.advance(BURST_WITHIN_S + 60)
    assert not starts.is_hopeless(cli.paths, clock, count=BURST, within_s=BURST_WITHIN_S)
    clock.jump_wall(-365 * 24 * 3600)  # it ran ahead when they failed
    assert not starts.is_hopeless(cli.paths, clock, count=BURST, within_s=BURST_WITHIN_S)


def test_what_was_handed_over_and_lies_open_keeps_the_service_from_starting(cli: Cli) -> None:
    file = handed.file_beside(cli.paths.config_file)
    handed.write(file, {"ANTHROPIC_API_KEY": "x"})
    file.chmod(0o644)
    cli.paths.ensure()
    said = cli.run("daemon", "run", env={"AUTOPILOT_SERVICE": "systemd"})
    assert said.code == ExitCode.CONFIG
    assert f"chmod 600 {file}" in said.err
    assert "others may read it" in cli.told("status")


def test_status_tells_when_the_daemon_is_of_another_version_and_when_files_differ(
    cli: Cli, started: list[subprocess.Popen[bytes]], monkeypatch: pytest.MonkeyPatch
) -> None:
    installed = cli.home / UNITS / "autopilot.service"
    text = unit(cli)
    installed.parent.mkdir(parents=True)
    installed.write_text(text)
    started.append(subprocess.Popen([*COMMAND, "daemon", "run"], env=cli.env, stderr=subprocess.DEVNULL))
    wait_until(cli.paths.control_socket.exists, PATIENCE_S, "a daemon listens")
    running = program_version()
    monkeypatch.setattr("autopilot.daemon.version.program_version", lambda: "9.9.9")
    wait_until(lambda: cli.call("service", "status", "--json").json()["daemon"], PATIENCE_S, "it answers")
    notes = cli.call("service", "status", "--json").json()["notes"]
    assert any(f"version {running}, installed is 9.9.9" in note for note in notes), notes
    assert any("its files are not those" in note for note in notes), notes
