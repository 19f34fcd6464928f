"""`doctor` says from where the set-up of each repository may read."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from autopilot.config.clock import SystemClock
from autopilot.config.load import load
from autopilot.daemon.checkup.registries import registries
from autopilot.runner.mirror import base_ref
from tests.support.cli import Cli
from tests.support.gitcmd import git
from tests.support.repos import commit_files, init_bare

LOCK = json.dumps({"packages": {"node_modules/p": {"resolved": "https://packages.example/p.tgz"}}})


def told(cli: Cli) -> tuple[str, str]:
    (check,) = registries(load(cli.paths), cli.paths, SystemClock())
    assert check.name == "set-up of shop"
    return check.verdict, check.evidence


@pytest.fixture
def config(tmp_path: Path) -> str:
    return f'[[repo]]\nname = "shop"\npath = "{tmp_path}/shop"\n'


def test_the_hosts_of_the_base_commit_are_named_with_their_file(tmp_path: Path, config: str) -> None:
    cli = Cli(tmp_path / "home", config=config)
    assert told(cli)[1].endswith("what its lock files name is known after its first run")
    mirror = init_bare(cli.paths.mirror("shop"))
    sha = commit_files(mirror, "main", {"package-lock.json": LOCK})
    git(mirror, "update-ref", base_ref("main"), sha)
    verdict, evidence = told(cli)
    assert verdict == "go"
    assert evidence == (
        "may read from pypi.org, files.pythonhosted.org; its lock files name "
        "packages.example:443 (package-lock.json)"
    )


def test_where_it_is_turned_off_nothing_of_a_lock_file_is_named(tmp_path: Path, config: str) -> None:
    cli = Cli(tmp_path / "home", config=f"[network]\nregistry_from_lock = false\n{config}")
    assert "registry_from_lock" in told(cli)[1]
    assert "its lock files name" not in told(cli)[1]


def test_a_mirror_that_cannot_be_read_is_said(tmp_path: Path, config: str) -> None:
    cli = Cli(tmp_path / "home", config=config)
    mirror = cli.paths.mirror("shop")
    mirror.mkdir(parents=True)
    (mirror / "HEAD").write_text("no head")
    assert told(cli)[0] == "warning"
