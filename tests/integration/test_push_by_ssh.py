"""A push by OpenSSH, to its own server on this machine: each refusal has its name, and nobody is asked."""

from __future__ import annotations

import getpass
import os
import shutil
import socket
import subprocess
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from autopilot.config.clock import SystemClock
from autopilot.publish import trial
from autopilot.schemas.publication import ForgeSpec, PushTrialReport, PushTrialSpec
from tests.support.gitcmd import git
from tests.support.repo_traps import write_script
from tests.support.repos import Repo, make_repo
from tests.support.wait import wait_until

pytestmark = pytest.mark.needs(binary="/usr/sbin/sshd", apt="openssh-server")
SSHD = "/usr/sbin/sshd"
PRIVILEGES = Path("/run/sshd")
"""A server of root's wants this folder, empty; its service would make it. Tests beside this one share it."""


@dataclass(frozen=True, slots=True)
class Server:
    """A server that lets one key in, and what a client has to know of it."""

    folder: Path
    port: int

    @property
    def known(self) -> str:
        kind, key, *_ = (self.folder / "host.pub").read_text().split()
        return f"[127.0.0.1]:{self.port} {kind} {key}\n"


def key(file: Path, passphrase: str = "") -> Path:
    argv = ["ssh-keygen", "-q", "-t", "ed25519", "-N", passphrase, "-f", str(file)]
    subprocess.run(argv, check=True, stdin=subprocess.DEVNULL)
    return file


def answers(port: int) -> bool:
    with socket.socket() as tried:
        return tried.connect_ex(("127.0.0.1", port)) == 0


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Server]:
    folder = tmp_path / "server"
    folder.mkdir(mode=0o700)
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        made = Server(folder, free.getsockname()[1])
    key(folder / "host")
    key(folder / "mine")
    (folder / "config").write_text(
        f"Port {made.port}\nListenAddress 127.0.0.1\nHostKey {folder}/host\nPidFile none\nUsePAM no\n"
        f"AuthorizedKeysFile {folder}/mine.pub\nStrictModes no\nPasswordAuthentication no\n"
        "KbdInteractiveAuthentication no\nPermitRootLogin prohibit-password\n"
    )
    if os.geteuid() == 0:
        PRIVILEGES.mkdir(mode=0o755, exist_ok=True)
    log = (folder / "log").open("wb")
    argv = [SSHD, "-D", "-e", "-f", str(folder / "config")]
    with log, subprocess.Popen(argv, stdin=subprocess.DEVNULL, stdout=log, stderr=log) as process:
        try:
            wait_until(lambda: answers(made.port), 20, "the server listens")
            yield made
        finally:
            process.kill()


@pytest.fixture
def repo(tmp_path: Path) -> Repo:
    return make_repo(tmp_path / "r")


def tried(
    server: Server, repo: Repo, monkeypatch: pytest.MonkeyPatch, *, known: str, identity: Path | None
) -> PushTrialReport:
    """Try with the real client, which is pointed at files of the test instead of those of a person."""
    folder = server.folder / "tried"
    folder.mkdir()
    (folder / "known").write_text(known)
    (folder / "ssh").write_text(
        f"Host *\n UserKnownHostsFile {folder}/known\n GlobalKnownHostsFile /dev/null\n"
        f" IdentityFile {identity or '/dev/null'}\n IdentitiesOnly yes\n IdentityAgent none\n"
    )
    real = shutil.which("ssh")
    write_script(folder / "bin" / "ssh", f"exec '{real}' -F '{folder}/ssh' \"$@\"\n")
    window = write_script(folder / "window", f"#!/bin/sh\ntouch '{folder}/asked'\nsleep 600\n")
    monkeypatch.setenv("PATH", f"{folder / 'bin'}:{os.environ['PATH']}")
    for name, value in (("SSH_ASKPASS", str(window)), ("SSH_ASKPASS_REQUIRE", "force"), ("DISPLAY", ":9")):
        monkeypatch.setenv(name, value)
    url = f"ssh://{getpass.getuser()}@127.0.0.1:{server.port}{repo.remote}"
    spec = PushTrialSpec(
        id="try-r",
        report=folder / "report.json",
        workdir=folder / "work",
        forge=ForgeSpec(kind="github", push_url=url, api_url=url, project="o/r", credential=""),
        branch="autopilot/rehearsal",
        wall_s=60,
    )
    begun_s = time.monotonic()
    report = trial.attempt(spec, clock=SystemClock(), folder=folder)
    assert not (folder / "asked").exists()
    assert time.monotonic() - begun_s < 30
    return report


def test_a_key_that_is_let_in_would_push_and_nothing_is_pushed(
    server: Server, repo: Repo, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = git(repo.remote, "for-each-ref")
    report = tried(server, repo, monkeypatch, known=server.known, identity=server.folder / "mine")
    assert report.ok, report
    assert git(repo.remote, "for-each-ref") == before


@pytest.mark.field_report("PUB-023", "PUB-024")
def test_a_host_whose_key_nobody_accepted_is_told_with_what_to_do(
    server: Server, repo: Repo, monkeypatch: pytest.MonkeyPatch
) -> None:
    report = tried(server, repo, monkeypatch, known="", identity=server.folder / "mine")
    assert (report.ok, report.code, report.is_transient) == (False, "remote-unusable", False)
    assert "accept its key" in report.hint


@pytest.mark.field_report("PUB-024")
def test_a_host_whose_key_is_another_than_it_was_is_told_as_one_that_is_not_trusted(
    server: Server, repo: Repo, monkeypatch: pytest.MonkeyPatch
) -> None:
    other = key(server.folder / "other").with_suffix(".pub").read_text().split()
    known = f"[127.0.0.1]:{server.port} {other[0]} {other[1]}\n"
    report = tried(server, repo, monkeypatch, known=known, identity=server.folder / "mine")
    assert (report.ok, report.code, report.is_transient) == (False, "remote-unusable", False)


@pytest.mark.field_report("PUB-023", "PUB-024")
@pytest.mark.parametrize("which", ["none", "a stranger's", "one with a passphrase"])
def test_a_sign_in_that_fails_is_a_credential_and_no_time_out(
    server: Server, repo: Repo, monkeypatch: pytest.MonkeyPatch, which: str
) -> None:
    identity = None
    if which == "a stranger's":
        identity = key(server.folder / "stranger")
    elif which == "one with a passphrase":
        identity = key(server.folder / "closed", passphrase="made up for this test")
        shutil.copy(identity.with_suffix(".pub"), server.folder / "mine.pub")
    report = tried(server, repo, monkeypatch, known=server.known, identity=identity)
    assert (report.ok, report.code, report.is_transient) == (False, "remote-refused-credential", False)
    assert report.hint
