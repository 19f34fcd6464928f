"""The guard's socket under whatever sits at its other end: pieces, floods, silence, and leaving."""

from __future__ import annotations

import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from autopilot.config.clock import SystemClock
from autopilot.runner.guard.selftest import client_command
from autopilot.runner.guard.service import MAX_ASKERS, MAX_EVENT_BYTES, GuardService
from autopilot.runner.guard.verdict import GuardContext
from tests.support.asking import ask, event
from tests.support.wait import wait_until


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    tree = tmp_path / "tree"
    tree.mkdir()
    return tree


@pytest.fixture
def service(tmp_path: Path, tree: Path) -> Iterator[GuardService]:
    context = GuardContext(str(tree), str(tmp_path / "tmp"))
    with GuardService(context, tmp_path / "guard.sock", clock=SystemClock()) as service:
        yield service


def told(place: Path, *pieces: bytes, is_over: bool = True) -> bytes:
    """Give the answer to a question that is sent piece by piece."""
    with socket.socket(socket.AF_UNIX) as asked:
        asked.connect(str(place))
        with suppress(BrokenPipeError, ConnectionResetError):
            for piece in pieces:
                asked.sendall(piece)
            if is_over:
                asked.shutdown(socket.SHUT_WR)
        answer = b""
        with suppress(ConnectionResetError):
            while more := asked.recv(65536):
                answer += more
        return answer


def test_a_question_may_come_in_pieces(service: GuardService, tree: Path) -> None:
    question = event("Bash", tree, command="git status")
    assert told(service.socket, *(question[at : at + 1] for at in range(len(question)))) == b"allow\n"
    assert told(service.socket, question[:-1]).startswith(b"block\nrefused (event)")
    assert told(service.socket, question + question).startswith(b"block\n")
    assert told(service.socket, b"\xff\xfe\xff" + question).startswith(b"block\n")


def test_a_question_without_an_end_is_refused(tmp_path: Path, tree: Path) -> None:
    context = GuardContext(str(tree), str(tmp_path / "tmp"))
    with GuardService(context, tmp_path / "guard.sock", clock=SystemClock(), deadline_s=0.2) as service:
        question = event("Bash", tree, command="git status")
        assert told(service.socket, question, is_over=False).startswith(b"block\n")
        assert told(service.socket, question) == b"allow\n"


def test_a_question_that_is_too_large_is_refused_unread(service: GuardService, tree: Path) -> None:
    question = event("Write", tree, file_path="a.txt", content="x" * MAX_EVENT_BYTES)
    assert told(service.socket, question) in {b"", b"block\nrefused (event): the event is too large\n"}
    assert service.asked == 0
    assert service.written == frozenset()


def test_more_questions_than_can_be_heard_are_refused_and_the_guard_goes_on(
    service: GuardService, tree: Path
) -> None:
    question = event("Bash", tree, command="git status")
    held = [socket.socket(socket.AF_UNIX) for _ in range(MAX_ASKERS)]
    try:
        for each in held:
            each.connect(str(service.socket))
            each.sendall(b"{")
        wait_until(
            lambda: told(service.socket, question).startswith(b"block\nrefused (busy)"),
            timeout_s=30,
            what="a refusal for want of room",
        )
    finally:
        for each in held:
            each.close()
    wait_until(lambda: told(service.socket, question) == b"allow\n", timeout_s=30, what="an answer again")


def test_an_asker_that_leaves_is_no_harm(service: GuardService, tree: Path) -> None:
    question = event("Bash", tree, command="git status")
    for cut in (0, 1, len(question)):
        with socket.socket(socket.AF_UNIX) as asked:
            asked.connect(str(service.socket))
            asked.sendall(question[:cut])
    assert told(service.socket, question) == b"allow\n"


def test_a_link_to_the_socket_leads_to_the_guard_and_one_to_nowhere_refuses(
    service: GuardService, tree: Path, tmp_path: Path
) -> None:
    question = event("Bash", tree, command="git push")
    (tmp_path / "link.sock").symlink_to(service.socket)
    (tmp_path / "gone.sock").symlink_to(tmp_path / "nobody")
    assert ask(tmp_path / "link.sock", question).returncode == 2
    assert ask(tmp_path / "gone.sock", event("Bash", tree, command="ls")).returncode == 2


def test_the_deadline_holds_though_its_signal_was_blocked(tmp_path: Path, tree: Path) -> None:
    place = tmp_path / "mute.sock"
    block = (
        "import os, signal, sys; signal.pthread_sigmask(0, {signal.SIGALRM});"
        "os.execv(sys.argv[1], sys.argv[1:])"
    )
    with socket.socket(socket.AF_UNIX) as mute:
        mute.bind(str(place))
        mute.listen()
        done = subprocess.run(
            [sys.executable, "-c", block, *client_command(str(place)), "0.3"],
            input=event("Bash", tree, command="ls"),
            capture_output=True,
            check=False,
        )
    assert done.returncode == 2
    assert b"no answer in time" in done.stderr
