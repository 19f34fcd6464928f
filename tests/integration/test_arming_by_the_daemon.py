"""What a terminal finds in order may be out of the daemon's reach: arming waits for the daemon's own look."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from autopilot.schemas.errors import ExitCode
from tests.support.cli import Cli
from tests.support.daemon import Daemon
from tests.support.gitcmd import git
from tests.support.repos import Repo, make_repo

URL = "https://forge.invalid/o/shop.git"
LOOKS = {"AUTOPILOT__CHECKUP__EVERY_S": "60"}


@pytest.fixture
def repo(tmp_path: Path) -> Repo:
    return make_repo(tmp_path / "r")


@pytest.fixture
def mended(tmp_path: Path) -> Path:
    """Once it is there, the daemon's session reaches the remote too."""
    return tmp_path / "mended"


@pytest.fixture
def daemon(tmp_path: Path, repo: Repo, mended: Path) -> Iterator[Daemon]:
    """One whose session reaches no network, which nothing in its environment tells."""
    config = (
        'default_agent = "s"\nmin_free_disk_gib = 0\nmin_free_memory_gib = 0\nmax_load_per_cpu = 0\n'
        f'[agents.s]\nkind = "scripted"\n[[repo]]\nname = "shop"\nurl = "{URL}"\nbase = "main"\n'
        f'push_url = "file://{repo.remote}"\nforge = "local"\n'
    )
    home, programs = tmp_path / "of-the-service", tmp_path / "programs"
    home.mkdir()
    programs.mkdir()
    shim = programs / "git"
    shim.write_text(
        f"#!/bin/sh\nif [ ! -e {mended} ] && grep -q autopilot.daemon.checkup /proc/$PPID/cmdline; then\n"
        f'echo "fatal: unable to access {URL}: Could not resolve host" >&2; exit 128; fi\n'
        f'exec {shutil.which("git")} "$@"\n'
    )
    shim.chmod(0o755)
    path = f"{programs}:{os.environ['PATH']}"
    daemon = Daemon(tmp_path / "home", config=config, env={**LOOKS, "HOME": str(home), "PATH": path})
    daemon.start()
    yield daemon
    daemon.kill()
    daemon.clean_up()


@pytest.fixture
def terminal(daemon: Daemon) -> Cli:
    return Cli(daemon.home, env=LOOKS)


def let_find(home: Path, repo: Repo) -> None:
    """Let git find the remote by another way, where this is HOME."""
    home.mkdir(exist_ok=True)
    git(home, "config", "--file", str(home / ".gitconfig"), f"url.{repo.remote}.insteadOf", URL)


@pytest.mark.slow
@pytest.mark.covers("C01", "C02")
@pytest.mark.field_report("DMN-001")
def test_what_only_the_daemon_cannot_reach_is_told_when_it_is_armed(
    terminal: Cli, tmp_path: Path, repo: Repo, mended: Path
) -> None:
    let_find(tmp_path / "of-the-service", repo)
    said = terminal.call("on", "--now")
    assert "✓ repository shop" in said.out
    assert "✓ session: all is asked in this terminal, with PATH and variables of the daemon (pid " in said.out
    assert "GO\n" in said.out
    told = said.out.partition("the daemon itself finds, where it runs:\n")[2]
    assert told.startswith("✗ repository shop: ")
    assert told.endswith("on, but held: what these lines keep waits until they are mended\n")
    assert said.code == ExitCode.REFUSED
    again = terminal.call("on", "--now", "--json")
    assert again.code == ExitCode.REFUSED
    (held,) = again.json()["held"]
    assert (held["name"], held["asked_in"]) == ("repository shop", "daemon")
    assert {line["asked_in"] for line in again.json()["checks"]} == {"terminal"}
    terminal.run("off")
    mended.touch()
    at_last = terminal.call("on", "--now", "--json")
    assert (at_last.code, at_last.json()["held"]) == (ExitCode.OK, [])


@pytest.mark.slow
@pytest.mark.covers("C02")
@pytest.mark.field_report("DMN-001", "DMN-010")
def test_what_a_terminal_reaches_by_its_own_home_is_refused_where_the_daemon_has_another(
    daemon: Daemon, tmp_path: Path, repo: Repo
) -> None:
    """It said GO for a remote that only the person's own git could find."""
    let_find(tmp_path / "person", repo)
    said = Cli(daemon.home, env={**LOOKS, "HOME": str(tmp_path / "person")}).call("on", "--now")
    assert (said.code, "✗ repository shop: " in said.out) == (ExitCode.REFUSED, True)
    assert "autopilot on --force 'repository shop'" in said.out
