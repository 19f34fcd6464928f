"""No home, no zone, no PATH, closed or full streams: a sane exit code, and no crash report."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

from autopilot.schemas.errors import ExitCode
from tests.support.cli import COMMAND, Cli
from tests.support.daemon import Daemon
from tests.support.shop import CONFIG

FULL = pytest.mark.skipif(
    not Path("/dev/full").exists(), reason="only Linux has a device that is always full"
)


@pytest.fixture(scope="module")
def cli(tmp_path_factory: pytest.TempPathFactory) -> Cli:
    made = Cli(tmp_path_factory.mktemp("home"), config=CONFIG)
    for number in range(60):
        made.told("add", "--repo", "shop", f"Ticket {number} " + "é" * 100)
    return made


def shell(cli: Cli, words: str, tail: str) -> subprocess.CompletedProcess[str]:
    """Type a command with its redirections."""
    command = " ".join(f"'{word}'" for word in COMMAND)
    return subprocess.run(
        ["bash", "-c", f"{command} {words} {tail}"],
        env=cli.env,
        cwd=cli.home,
        capture_output=True,
        text=True,
        check=False,
    )


def reports(cli: Cli) -> list[Path]:
    folder = cli.paths.state / "reports"
    return list(folder.glob("crash-*")) if folder.is_dir() else []


@pytest.mark.parametrize(
    ("tail", "code"),
    [
        ("<&- >&-", ExitCode.OK),
        ("<&- >&- 2>&-", ExitCode.OK),
        (">&- 2>/dev/null", ExitCode.OK),
        pytest.param(">/dev/full", ExitCode.FAILED, marks=FULL),
        pytest.param(">/dev/full 2>/dev/full", ExitCode.FAILED, marks=FULL),
        pytest.param("--json >/dev/full", ExitCode.FAILED, marks=FULL),
        ("| head -n 1; exit ${PIPESTATUS[0]}", ExitCode.OK),
        ("--json | head -c 1; exit ${PIPESTATUS[0]}", ExitCode.OK),
    ],
)
def test_a_list_of_many_pages_ends_sanely_whatever_its_streams_are(cli: Cli, tail: str, code: int) -> None:
    done = shell(cli, "list", tail)
    assert done.returncode == code, done
    assert "Traceback" not in done.stderr
    assert reports(cli) == []


@pytest.mark.parametrize(
    "tail",
    [
        "2>&-",
        "<&- >&- 2>&-",
        pytest.param("2>/dev/full", marks=FULL),
        "2>&1 >&- | true; exit ${PIPESTATUS[0]}",
    ],
)
def test_a_refusal_keeps_its_exit_code_where_nothing_can_be_complained(cli: Cli, tail: str) -> None:
    done = shell(cli, "add --repo nowhere 'Mend it'", tail)
    assert done.returncode == ExitCode.FAILED, done
    assert done.stdout == ""
    assert reports(cli) == []


@pytest.mark.parametrize(
    "env",
    [
        {"LANG": "C", "LC_ALL": "C"},
        {"LANG": "de_XX.nonsense", "LC_ALL": "nonsense"},
        {"TZ": "Nowhere/Land"},
        {"TZ": ":/etc/passwd"},
        {"TZ": ""},
        {"PATH": ""},
        {"HOME": "relative"},
        {"PYTHONIOENCODING": "ascii"},
    ],
    ids=str,
)
def test_an_odd_environment_changes_nothing_in_what_is_kept(cli: Cli, env: Mapping[str, str]) -> None:
    said = cli.run("add", "--repo", "shop", "--json", "Mend ümläuts", env=env)
    assert said.code == ExitCode.OK, said
    ticket = said.json()["ticket"]
    shown = cli.run("show", ticket["id"], "--json", env=env)
    assert json.loads(shown.out)["ticket"]["title"] == "Mend ümläuts"


@pytest.fixture
def bare(tmp_path: Path) -> Iterator[Daemon]:
    daemon = Daemon(tmp_path / "home", config=CONFIG)
    yield daemon
    daemon.clean_up()


@pytest.mark.parametrize(
    "env",
    [{}, {"PATH": "", "TZ": "Nowhere/Land", "LC_ALL": "C"}],
    ids=["nothing at all", "nonsense"],
)
def test_a_daemon_runs_without_home_path_or_zone(bare: Daemon, env: Mapping[str, str]) -> None:
    bare.env = dict(env)
    bare.start()
    bare.call("POST", "/v1/switch", on=True, ignore_window=True)
    assert bare.call("GET", "/v1/status")["switch"]["is_on"] is True
    assert bare.stop() == ExitCode.OK
