"""`autopilot init` in checkouts of every shape: what it sees of remote, base and forge, without a trace."""

from __future__ import annotations

import tomllib
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

from autopilot.config.load import load
from autopilot.schemas.errors import ExitCode
from tests.support import repo_layouts as layouts
from tests.support.cli import Cli
from tests.support.gitcmd import git
from tests.support.repos import Repo, fingerprint, make_repo

IDENTITY = "[user]\nname = Pat Döe\nemail = pat@example.org\n"


@pytest.fixture
def cli(tmp_path: Path) -> Cli:
    """A person whose git knows them, with nothing configured."""
    made = Cli(tmp_path / "home")
    (made.home / ".gitconfig").write_text(IDENTITY)
    return made


def seen(cli: Cli, checkout: Path, *words: str) -> dict[str, Any]:
    """What init reports of a checkout without writing anything; the checkout is as it was."""
    before = fingerprint(checkout)
    said = cli.call("init", "--dry-run", "--json", "--path", str(checkout), *words)
    assert said.code == ExitCode.OK, said
    assert fingerprint(checkout) == before
    assert [path.name for path in cli.home.iterdir()] == [".gitconfig"]
    survey: dict[str, Any] = said.json()
    return survey


def proposed(report: Mapping[str, Any]) -> dict[str, Any]:
    """The repository's table as it would be written."""
    (table,) = tomllib.loads(report["toml"])["repo"]
    return dict(table)


def subfolder(root: Path) -> tuple[Repo, Path]:
    repo = make_repo(root)
    return repo, repo.checkout / "bill"


def dirty(root: Path) -> tuple[Repo, Path]:
    repo = make_repo(root)
    layouts.dirty_checkout(repo)
    return repo, repo.checkout


def detached(root: Path) -> tuple[Repo, Path]:
    repo = make_repo(root)
    layouts.detach_checkout(repo)
    return repo, repo.checkout


def worktree(root: Path) -> tuple[Repo, Path]:
    repo = layouts.linked_worktree(make_repo(root), root / "side")
    return repo, repo.checkout


def odd_names(root: Path) -> tuple[Repo, Path]:
    repo = make_repo(root / "my \"odd\" 'Größe' -x", base="trunk/ünïcode")
    return repo, repo.checkout


def stale(root: Path) -> tuple[Repo, Path]:
    repo = layouts.stale_origin_head(root)
    return repo, repo.checkout


@pytest.mark.parametrize("build", [subfolder, dirty, detached, worktree, odd_names, stale])
def test_the_remotes_own_default_branch_is_the_base_whatever_the_checkout_is_on(
    cli: Cli, tmp_path: Path, build: Callable[[Path], tuple[Repo, Path]]
) -> None:
    repo, start = build(tmp_path / "r")
    report = seen(cli, start)
    assert proposed(report) == {
        "name": start.name if start.name == "side" else "checkout",
        "url": repo.url,
        "base": repo.base,
        "forge": "local",
    }
    assert report["survey"]["base_source"] == "the remote's default branch"
    assert report["survey"]["tests"]["command"] == "python3 -m unittest"
    uncommitted = [note for note in report["survey"]["notes"] if "uncommitted" in note]
    assert bool(uncommitted) == (build is dirty)


def test_a_remote_given_as_a_folder_is_written_as_an_absolute_path(cli: Cli, tmp_path: Path) -> None:
    repo = make_repo(tmp_path / "r")
    git(repo.checkout, "remote", "set-url", "origin", "../remote.git")
    assert proposed(seen(cli, repo.checkout))["path"] == str(repo.remote)


def test_a_remote_of_another_name_is_taken_when_it_is_the_only_one(cli: Cli, tmp_path: Path) -> None:
    repo = make_repo(tmp_path / "r")
    git(repo.checkout, "remote", "rename", "origin", "upstream")
    assert proposed(seen(cli, repo.checkout))["url"] == repo.url
    git(repo.checkout, "remote", "add", "fork", "../fork.git")
    report = seen(cli, repo.checkout)
    assert proposed(report)["path"] == str(repo.checkout)
    assert "no remote is called origin" in report["survey"]["notes"][0]


def test_without_a_remote_the_repository_itself_is_used_and_a_linked_worktree_never(
    cli: Cli, tmp_path: Path
) -> None:
    repo = make_repo(tmp_path / "r")
    git(repo.checkout, "remote", "remove", "origin")
    report = seen(cli, repo.checkout)
    assert proposed(report)["path"] == str(repo.checkout)
    assert "there is no remote" in report["survey"]["notes"][0]
    side = layouts.linked_worktree(repo, tmp_path / "side")
    assert proposed(seen(cli, side.checkout)) == {
        "name": "side",
        "path": str(repo.checkout),
        "base": "side",
        "forge": "local",
    }


def test_a_remote_that_does_not_answer_is_told_and_the_branch_one_is_on_is_the_base(
    cli: Cli, tmp_path: Path
) -> None:
    repo = make_repo(tmp_path / "r")
    layouts.remote_unplugged(repo)
    report = seen(cli, repo.checkout)
    assert report["survey"]["base_source"] == "the branch you are on"
    assert "the remote did not answer" in report["survey"]["notes"][0]


@pytest.mark.parametrize(
    ("stated", "written"),
    [
        ("https://github.com/o/r.git", "https://github.com/o/r.git"),
        ("https://pat:s3cret@github.com/o/r.git", "https://github.com/o/r.git"),
        ("https://ghp_0123456789abcdefghijklmnopqrstuvwxyz@github.com/o/r", "https://github.com/o/r"),
        ("ssh://git@github.com/o/r.git", "ssh://git@github.com/o/r.git"),
        ("ssh://git:s3cret@github.com/o/r.git", "ssh://git@github.com/o/r.git"),
        ("git@github.com:o/r.git", "git@github.com:o/r.git"),
    ],
)
def test_a_repository_on_github_gets_its_forge_and_no_credential_in_its_address(
    cli: Cli, tmp_path: Path, stated: str, written: str
) -> None:
    repo = make_repo(tmp_path / "r")
    git(repo.checkout, "remote", "set-url", "origin", stated)
    (cli.home / ".gitconfig").write_text(f'{IDENTITY}[url "{repo.url}"]\ninsteadOf = {written}\n')
    report = seen(cli, repo.checkout)
    assert proposed(report) == {
        "name": "checkout",
        "url": written,
        "base": "main",
        "forge": "github",
        "project": "o/r",
        "credential": "github",
    }
    assert "s3cret" not in str(report)
    assert "ghp_" not in str(report)
    told = cli.told("init", "--yes", "--path", str(repo.checkout))
    assert "store a token that may push and open pull requests: " in told
    assert "keyring set autopilot github" in told
    assert "AUTOPILOT_SECRET_GITHUB" in told
    assert load(cli.paths).repo("checkout").credential == "github"


def test_another_forge_is_told_that_its_drafts_are_kept_here(cli: Cli, tmp_path: Path) -> None:
    repo = make_repo(tmp_path / "r")
    address = "git@gitlab.example.org:group/r.git"
    git(repo.checkout, "remote", "set-url", "origin", address)
    (cli.home / ".gitconfig").write_text(f'{IDENTITY}[url "{repo.url}"]\ninsteadOf = {address}\n')
    report = seen(cli, repo.checkout)
    assert proposed(report)["forge"] == "local"
    assert "their drafts are kept here" in report["survey"]["notes"][0]
