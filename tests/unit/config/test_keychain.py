"""The macOS keychain says readable, missing or locked, and is never asked for a value. A stand-in answers."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from autopilot.config import keychain
from autopilot.config.clock import SystemClock
from tests.support.repo_traps import write_script

CLOCK = SystemClock()


@pytest.fixture
def asked(tmp_path: Path) -> Path:
    return tmp_path / "asked"


def security(
    folder: Path, asked: Path, monkeypatch: pytest.MonkeyPatch, *, find: str, show: str = "exit 0"
) -> None:
    """A stand-in for `security`: there is no such program but on macOS."""
    (folder / "bin").mkdir()
    write_script(
        folder / "bin" / "security",
        f'#!/bin/sh\necho "$*" >> "{asked}"\ncase "$1" in\nfind*) {find} ;;\nshow*) {show} ;;\nesac\n',
    )
    monkeypatch.setenv("PATH", f"{folder / 'bin'}:{os.environ['PATH']}")


@pytest.mark.covers("C03", "C08")
@pytest.mark.parametrize(
    ("answers", "standing"),
    [
        (("exit 0", "exit 0"), "readable"),
        (("exit 44", "exit 0"), "missing"),
        (("exit 0", "echo 'User interaction is not allowed.' >&2; exit 36"), "locked"),
        (("exit 36", "exit 36"), "locked"),
    ],
)
def test_the_three_answers_are_told_apart(
    tmp_path: Path, asked: Path, monkeypatch: pytest.MonkeyPatch, answers: tuple[str, str], standing: str
) -> None:
    security(tmp_path, asked, monkeypatch, find=answers[0], show=answers[1])
    assert keychain.status("autopilot", "github", CLOCK) == standing


def test_no_value_is_asked_for(tmp_path: Path, asked: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    security(tmp_path, asked, monkeypatch, find="exit 0")
    keychain.status("autopilot", "github", CLOCK)
    words = asked.read_text().split()
    assert words[:5] == ["find-generic-password", "-s", "autopilot", "-a", "github"]
    assert not {"-g", "-w"} & set(words)


def test_a_dialog_that_nobody_answers_is_a_locked_keychain(
    tmp_path: Path, asked: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(keychain, "_ASKED_S", 0.5)
    security(tmp_path, asked, monkeypatch, find="exit 0", show="exec sleep 600")
    assert keychain.status("autopilot", "github", CLOCK) == "locked"


def test_a_machine_without_the_program_has_no_keychain() -> None:
    assert keychain.status("autopilot", "github", CLOCK) == "no-backend"
