"""What a terminal finds in order may be out of the daemon's reach: arming waits for the daemon's own look."""

from __future__ import annotations

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
def daemon(tmp_path: Path, repo: Repo) -> Iterator[Daemon]:
    """One whose HOME knows nothing of what a person's terminal knows."""
    config = (
        'default_agent = "s"\nmin_free_disk_gib = 0\nmin_free_memory_gib = 0\nmax_load_per_cpu = 0\n'
        f'[agents.s]\nkind = "scripted"\n[[repo]]\nname = "shop"\nurl = "{URL}"\nbase = "main"\n'
        f'push_url = "file://{repo.remote}"\nforge = "local"\n'
    )
    daemon = Daemon(tmp_path / "home", config=config, env={**LOOKS, "HOME": str(tmp_path / "of-the-service")})
    (tmp_path / "of-the-service").mkdir()
    daemon.start()
    yield daemon
    daemon.kill()
    daemon.clean_up()


@pytest.fixture
def terminal(daemon: Daemon, tmp_path: Path, repo: Repo) -> Cli:
    """A terminal whose own git finds the remote by another way."""
    person = tmp_path / "person"
    person.mkdir()
    cli = Cli(daemon.home, env={**LOOKS, "HOME": str(person)})
    file = str(person / ".gitconfig")
    git(person, "config", "--file", file, f"url.{repo.remote}.insteadOf", URL)
    return cli


@pytest.mark.slow
@pytest.mark.covers("C01", "C02")
@pytest.mark.field_report("DMN-001")
def test_what_only_the_daemon_cannot_reach_is_told_when_it_is_armed(
    daemon: Daemon, terminal: Cli, tmp_path: Path, repo: Repo
) -> None:
    said = terminal.call("on", "--now")
    assert "✓ repository shop" in said.out
    assert "GO\n" in said.out
    told = said.out.partition("the daemon itself finds, where it runs:\n")[2]
    assert told.startswith("✗ repository shop: ")
    assert told.endswith("on, but held: what these lines keep waits until they are mended\n")
    assert said.code == ExitCode.REFUSED
    again = terminal.call("on", "--now", "--json")
    assert again.code == ExitCode.REFUSED
    assert [line["name"] for line in again.json()["held"]] == ["repository shop"]
    terminal.run("off")
    service = str(tmp_path / "of-the-service" / ".gitconfig")
    git(tmp_path, "config", "--file", service, f"url.{repo.remote}.insteadOf", URL)
    mended = terminal.call("on", "--now", "--json")
    assert (mended.code, mended.json()["held"]) == (ExitCode.OK, [])
