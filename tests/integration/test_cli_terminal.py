"""What reaches the terminal and what a person does at it: pipes that close, Ctrl-C, odd locales, odd text."""

from __future__ import annotations

import os
import shlex
import signal
import subprocess
from pathlib import Path

import pytest

from autopilot.schemas.errors import ExitCode
from tests.support.cli import BIDI, COMMAND, ESCAPE, Cli, fill
from tests.support.shop import CONFIG
from tests.support.terminal import on_a_terminal
from tests.support.wait import wait_until

READERS = [["list"], ["status"], ["show", "T-5"], ["show", "T-2"], ["why", "T-3"], ["digest"], ["review"]]
HIDDEN = (ESCAPE[0], BIDI, "\x9b", "\x07")


@pytest.fixture(scope="module")
def cli(tmp_path_factory: pytest.TempPathFactory) -> Cli:
    made = Cli(tmp_path_factory.mktemp("filled"), config=CONFIG)
    fill(made)
    return made


@pytest.mark.parametrize("words", READERS)
@pytest.mark.parametrize("form", [[], ["--json"]])
def test_no_control_character_of_a_ticket_reaches_a_pipe(cli: Cli, words: list[str], form: list[str]) -> None:
    told = cli.told(*words, *form)
    assert not any(char in told for char in HIDDEN)
    assert all(char.isprintable() or char in "\n\t" for char in told)


@pytest.mark.parametrize("words", READERS)
def test_no_control_character_of_a_ticket_reaches_a_terminal(cli: Cli, words: list[str]) -> None:
    shown = on_a_terminal([*COMMAND, *words], cwd=cli.home, env=cli.env)
    assert shown.code == ExitCode.OK
    assert shown.text
    assert "\x1b[2J" not in shown.text
    assert BIDI not in shown.text


def test_a_pipe_that_closes_early_is_no_error(cli: Cli) -> None:
    for count in (1, 0):
        command = " ".join(f"'{word}'" for word in COMMAND)
        script = f"{command} list | head -n {count}; echo ${{PIPESTATUS[0]}}"
        done = subprocess.run(
            ["bash", "-c", script], env=cli.env, cwd=cli.home, capture_output=True, text=True, check=True
        )
        assert done.stdout.splitlines()[-1] == "0"
        assert done.stderr == ""


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="only Linux has a device that is always full")
def test_output_that_cannot_be_written_is_a_failure_that_says_so(cli: Cli) -> None:
    with Path("/dev/full").open("wb") as full:
        done = subprocess.run(
            [*COMMAND, "list"], env=cli.env, cwd=cli.home, stdout=full, stderr=subprocess.PIPE, check=False
        )
    assert done.returncode == ExitCode.FAILED
    assert b"the output could not be written: No space left on device" in done.stderr
    assert b"Traceback" not in done.stderr


def test_a_closed_standard_output_is_no_bug(cli: Cli) -> None:
    script = f"exec >&-; exec {shlex.join(COMMAND)} status"
    done = subprocess.run(["bash", "-c", script], env=cli.env, cwd=cli.home, capture_output=True, check=False)
    assert (done.returncode, done.stderr) == (ExitCode.OK, b"")


@pytest.mark.parametrize("locale", ["C", "en_US.ISO-8859-1"])
def test_the_terminals_encoding_is_nobodys_crash_and_json_is_utf8_in_every_locale(
    cli: Cli, locale: str
) -> None:
    env = {**cli.env, "LC_ALL": locale, "PYTHONIOENCODING": "ascii" if "8859" in locale else ""}
    done = subprocess.run(
        [*COMMAND, "status"], env=env, cwd=cli.home, capture_output=True, check=False, text=False
    )
    assert (done.returncode, done.stderr) == (ExitCode.OK, b"")
    as_json = subprocess.run(
        [*COMMAND, "show", "T-2", "--json"], env=env, cwd=cli.home, capture_output=True, check=True
    )
    assert as_json.stdout == cli.run("show", "T-2", "--json").out.encode()


@pytest.mark.parametrize("words", [["status", "--watch"], ["status", "--watch", "--json"]])
def test_ctrl_c_ends_the_watch_with_130_and_without_a_traceback(cli: Cli, words: list[str]) -> None:
    watching = cli.start(*words)
    assert watching.stdout is not None
    first = watching.stdout.readline()
    assert first.startswith((b"autopilot  off", b"{"))
    os.kill(watching.pid, signal.SIGINT)
    _, err = watching.communicate(timeout=30)
    assert watching.returncode == ExitCode.INTERRUPTED
    assert err == b"autopilot: interrupted; nothing that was queued is lost\n"


def test_the_watch_on_a_terminal_stays_on_the_screen_until_ctrl_c(cli: Cli) -> None:
    shown = on_a_terminal([*COMMAND, "status", "--watch"], cwd=cli.home, env=cli.env, until="waits on you")
    assert shown.code == ExitCode.INTERRUPTED
    assert "Show prices" in shown.text


def test_waiting_for_a_run_that_does_not_begin_can_be_interrupted(cli: Cli) -> None:
    waiting = cli.start("logs", "T-6", "--follow")
    assert waiting.stderr is not None
    assert b"T-6 has not run yet; waiting" in wait_until(waiting.stderr.readline, 30, "it says that it waits")
    os.kill(waiting.pid, signal.SIGINT)
    assert waiting.wait(30) == ExitCode.INTERRUPTED
    waiting.communicate()
