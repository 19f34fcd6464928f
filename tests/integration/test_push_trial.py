"""Whether a branch of ours could be pushed is known before the night; nothing is pushed, nobody is asked."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from autopilot.config import secrets
from autopilot.config.clock import SystemClock
from autopilot.daemon.checkup import remote
from autopilot.publish import trial
from autopilot.schemas.publication import ForgeSpec, PushTrialReport, PushTrialSpec
from tests.support.forge.server import Forge
from tests.support.gitcmd import git
from tests.support.repo_traps import write_script
from tests.support.repos import commit_files, init_bare, make_repo
from tests.support.scenes import limit, scene

BRANCH = "autopilot/rehearsal"
PROJECT = "o/r"


@pytest.fixture
def forge(tmp_path: Path) -> Iterator[Forge]:
    with Forge(tmp_path / "forge") as running:
        running.repositories.add(PROJECT, {"README.md": "hello"})
        yield running


def tried(
    folder: Path, url: str, *, credential: str = "", branch: str = BRANCH, wall_s: float = 20.0
) -> PushTrialReport:
    folder.mkdir(exist_ok=True)
    spec = PushTrialSpec(
        id="try-r",
        report=folder / "report.json",
        workdir=folder / "work",
        forge=ForgeSpec(kind="github", push_url=url, api_url=url, project=PROJECT, credential=credential),
        branch=branch,
        wall_s=wall_s,
    )
    return trial.attempt(spec, clock=SystemClock(), folder=folder)


def refs(repository: Path) -> str:
    return git(repository, "for-each-ref", "--format=%(refname) %(objectname)")


def test_a_remote_that_takes_our_token_would_take_our_branch_and_nothing_is_pushed(
    tmp_path: Path, forge: Forge, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(secrets.variable_for("gh"), forge.token)
    assert tried(tmp_path / "t", forge.git_url(PROJECT), credential="gh").ok
    seen = forge.requests()
    assert any("git-receive-pack" in each.query and each.is_authorized for each in seen)
    assert not any("git-receive-pack" in each.path for each in seen if each.method == "POST")


@pytest.mark.field_report("PUB-024")
def test_a_token_that_is_not_accepted_is_told_as_such(
    tmp_path: Path, forge: Forge, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(secrets.variable_for("gh"), "wrong-token")
    report = tried(tmp_path / "t", forge.git_url(PROJECT), credential="gh")
    assert (report.ok, report.code, report.is_transient) == (False, "remote-refused-credential", False)
    assert "store a token" in report.hint
    assert "wrong-token" not in report.model_dump_json()


@pytest.mark.field_report("PUB-023")
def test_a_remote_that_asks_for_a_password_is_told_at_once_and_nobody_is_asked(
    tmp_path: Path, forge: Forge, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = tmp_path / "asked"
    window = write_script(tmp_path / "window", f'#!/bin/sh\ntouch "{asked}"\nsleep 600\n')
    for name in ("GIT_ASKPASS", "SSH_ASKPASS"):
        monkeypatch.setenv(name, str(window))
    begun_s = time.monotonic()
    report = tried(tmp_path / "t", forge.git_url(PROJECT))
    assert report.code == "remote-refused-credential"
    assert time.monotonic() - begun_s < 15
    assert not asked.exists()


@pytest.mark.field_report("PUB-023")
def test_an_ssh_that_waits_for_a_passphrase_is_ended_when_the_time_is_up(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "bin"
    folder.mkdir()
    write_script(folder / "ssh", "#!/bin/sh\nexec sleep 600\n")
    monkeypatch.setenv("PATH", f"{folder}:{os.environ['PATH']}")
    report = tried(tmp_path / "t", "ssh://git@forge.example/o/r.git", wall_s=1.0)
    assert (report.ok, report.is_transient) == (False, True)
    assert "no answer within 1 s" in report.message


@pytest.mark.field_report("PUB-023", "PUB-024")
def test_a_key_with_a_passphrase_is_refused_as_a_credential_and_nobody_is_asked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The stand-in does as OpenSSH: in batch mode it leaves such a key out, else it asks at the terminal."""
    folder, asked = tmp_path / "bin", tmp_path / "asked"
    folder.mkdir()
    write_script(
        folder / "ssh",
        'case " $* " in *" -oBatchMode=yes "*) ;; *)\n'
        f"touch '{asked}'; exec sleep 600;; esac\n"
        "echo 'git@forge.example: Permission denied (publickey).' >&2\nexit 255\n",
    )
    monkeypatch.setenv("PATH", f"{folder}:{os.environ['PATH']}")
    monkeypatch.setenv("GIT_SSH_COMMAND", "ssh -oBatchMode=no")
    report = tried(tmp_path / "t", "ssh://git@forge.example/o/r.git")
    assert not asked.exists()
    assert (report.ok, report.code, report.is_transient) == (False, "remote-refused-credential", False)
    assert report.hint


@pytest.mark.field_report("PUB-024")
def test_a_host_key_that_nobody_accepted_is_no_time_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "bin"
    folder.mkdir()
    write_script(folder / "ssh", "#!/bin/sh\necho 'Host key verification failed.' >&2\nexit 255\n")
    monkeypatch.setenv("PATH", f"{folder}:{os.environ['PATH']}")
    report = tried(tmp_path / "t", "ssh://git@forge.example/o/r.git")
    assert (report.code, report.is_transient) == ("remote-unusable", False)
    assert "accept its key" in report.hint


def test_a_branch_that_is_called_like_our_folder_is_in_the_way(tmp_path: Path) -> None:
    repo = make_repo(tmp_path / "r")
    git(repo.remote, "branch", "autopilot", "main")
    report = tried(tmp_path / "t", str(repo.remote))
    assert (report.ok, report.code) == (False, "branch-in-the-way")
    assert "git push origin --delete autopilot" in report.hint


@pytest.mark.parametrize("kind", ["a folder", "a file URL", "an empty repository", "names by SHA-256"])
def test_a_remote_on_this_machine_would_take_it_and_stays_as_it_is(tmp_path: Path, kind: str) -> None:
    repo = make_repo(tmp_path / "r")
    place, url = repo.remote, str(repo.remote)
    if kind == "a file URL":
        url = repo.url
    elif kind == "an empty repository":
        place = init_bare(tmp_path / "empty")
        url = str(place)
    elif kind == "names by SHA-256":
        place = tmp_path / "sha256"
        place.mkdir()
        git(place, "init", "-q", "--bare", "--object-format=sha256")
        commit_files(place, "main", {"a": "b"})
        url = str(place)
    before = refs(place)
    report = tried(tmp_path / "t", url)
    assert report.ok, report
    assert refs(place) == before


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_a_remote_on_this_machine_that_cannot_be_written_is_told(tmp_path: Path) -> None:
    repo = make_repo(tmp_path / "r")
    (repo.remote / "objects").chmod(0o500)
    try:
        report = tried(tmp_path / "t", str(repo.remote))
    finally:
        (repo.remote / "objects").chmod(0o700)
    assert report.code == "remote-read-only"


def test_nobody_at_the_other_end_is_transient(tmp_path: Path) -> None:
    report = tried(tmp_path / "t", "http://127.0.0.1:9/o/r.git")
    assert (report.ok, report.code, report.is_transient) == (False, "remote-unreachable", True)


def test_the_line_asks_by_a_child_that_alone_reads_the_token(tmp_path: Path, forge: Forge) -> None:
    """It reads it from the surroundings of whoever will publish, and not from this process's own."""
    config = (
        f'[[repo]]\nname = "r"\nurl = "{forge.git_url(PROJECT)}"\nforge = "github"\nproject = "{PROJECT}"\n'
        f'api_url = "{forge.api_url}"\ncredential = "gh"\n'
    )
    given = {**os.environ, secrets.variable_for("gh"): forge.token}
    looked = scene(tmp_path / "home", config, clock=SystemClock(), environment=given)
    line = remote.takes_our_branch(looked.settings.repos[0], looked, limit())
    assert (line.name, line.blocks) == ("push to r", False), line
    assert forge.token not in line.model_dump_json()


def test_the_line_of_a_remote_that_refuses_has_the_code_and_the_cure(tmp_path: Path, forge: Forge) -> None:
    looked = scene(tmp_path / "home", f'[[repo]]\nname = "r"\nurl = "{forge.git_url(PROJECT)}"\n')
    line = remote.takes_our_branch(looked.settings.repos[0], looked, limit())
    assert line.blocks
    assert "[remote-refused-credential]" in line.evidence
    assert line.cure
