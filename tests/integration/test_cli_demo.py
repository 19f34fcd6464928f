"""`autopilot demo`: three tickets to their ends on any machine, and nothing left running whatever happens."""

from __future__ import annotations

import fcntl
import json
import os
import re
import shlex
import signal
import subprocess
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

from autopilot.daemon.demo.stage import MARK
from autopilot.schemas.errors import ExitCode
from tests.support.cli import Cli
from tests.support.processes import of_home
from tests.support.wait import wait_until

PATIENCE_S = 200.0


@pytest.fixture
def cli(tmp_path: Path) -> Iterator[Cli]:
    """A person whose home has an odd name, whose python3 is broken, and who has configured things."""
    broken = tmp_path / "bin" / "python3"
    broken.parent.mkdir()
    broken.write_text("#!/bin/sh\necho Python 2.7 >&2\nexit 1\n")
    broken.chmod(0o755)
    env = {
        "PATH": f"{broken.parent}:/usr/bin:/bin",
        "AUTOPILOT__MAX_PARALLEL_AGENTS": "not a number",
        "AUTOPILOT__DEFAULT_AGENT": "nobody",
    }
    made = Cli(tmp_path / "my 'odd' home", env=env)
    yield made
    for process in of_home(made.home):
        process.kill()


def started(cli: Cli, until: str) -> tuple[subprocess.Popen[bytes], list[str]]:
    """The demo as far as the line that holds this text."""
    playing = cli.start("demo")
    assert playing.stdout is not None
    lines: list[str] = []

    def shown() -> bool:
        assert playing.stdout is not None
        lines.append(playing.stdout.readline().decode())
        assert lines[-1], lines
        return until in lines[-1]

    wait_until(shown, PATIENCE_S, f"{until} is shown")
    return playing, lines


def typed(cli: Cli, line: str) -> Sequence[str]:
    """The words of a line that the demo told a person to type, from the verb on."""
    words = shlex.split(line, comments=True)
    assert words[0] == "autopilot"
    return words[1:]


@pytest.mark.slow
@pytest.mark.timeout(600)
@pytest.mark.covers("B01", "B05", "B08", "B09", "B10")
def test_after_a_killed_demo_another_plays_well_and_what_it_says_can_be_typed(cli: Cli) -> None:
    killed, _ = started(cli, "running")
    killed.kill()
    killed.communicate()
    home = cli.home / "demo"
    assert of_home(home)

    said = cli.run("demo")
    assert said.code == ExitCode.OK, said
    wait_until(lambda: not of_home(home), PATIENCE_S, "nothing of the demo runs any more")
    assert (
        "✓ T-1 is published\n  ✓ T-2 is parked, waiting for breaker\n  ✓ T-3 is parked, waiting" in said.out
    )
    assert "\nDraft pull request: local://till/pull/1\n" in said.out
    assert "No daemon is running" not in said.out
    moves = [line for line in said.out.splitlines() if re.match(r" +\d+\.\d s  T-", line)]
    assert len(said.out.splitlines()) - len(moves) < 55
    told = said.out.partition("Look around:\n")[2].splitlines()
    assert f"export AUTOPILOT_HOME={shlex.quote(str(home))}" in said.out
    lines = {line.split()[1]: line for line in told if line.startswith("  autopilot ")}
    cli.env = {name: value for name, value in cli.env.items() if "__" not in name}
    cli.env["AUTOPILOT_HOME"] = str(home)
    assert "+    return (price_cents * (100 - percent) + 50) // 100" in cli.ok(*typed(cli, lines["review"]))
    assert "tests-red" in cli.ok(*typed(cli, lines["logs"]))
    assert cli.ok(*typed(cli, lines["answer"])) == "T-3 is queued\n"
    cli.env["PATH"] = f"{home / 'programs'}:{cli.env['PATH']}"
    cli.ok(*typed(cli, lines["on"]))

    def published() -> bool:
        return bool(json.loads(cli.told("show", "T-3", "--json"))["ticket"]["state"] == "published")

    wait_until(published, PATIENCE_S, "T-3 is published")
    assert '"12.05 EUR"' in cli.ok("review", "T-3")
    cli.ok("daemon", "stop")
    assert not of_home(home)


@pytest.mark.slow
@pytest.mark.timeout(300)
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_a_demo_that_is_interrupted_leaves_no_process(cli: Cli, number: signal.Signals) -> None:
    playing, lines = started(cli, "running")
    assert of_home(cli.home / "demo")
    os.kill(playing.pid, number)
    _, err = playing.communicate(timeout=PATIENCE_S)
    assert (playing.returncode, err) == (
        ExitCode.INTERRUPTED,
        b"autopilot: interrupted; nothing that was queued is lost\n",
    )
    assert re.search(r"^ +\d+\.\d s  T-\d(, T-\d)* +running", lines[-1])
    wait_until(lambda: not of_home(cli.home / "demo"), PATIENCE_S, "nothing of the demo runs any more")


def test_a_demo_whose_command_fails_says_what_it_said_and_leaves_no_process(cli: Cli) -> None:
    repository = cli.home / "work"
    repository.mkdir()
    subprocess.run(["git", "init", "-q", str(repository)], check=True)
    said = cli.run("demo", "--home", str(repository / "here"))
    assert said.code in {ExitCode.FAILED, ExitCode.LATER}, said
    assert "lies inside the repository" in said.err
    assert not of_home(repository)


@pytest.mark.parametrize("content", ["a file of mine", ".git"])
def test_a_folder_that_no_demo_made_is_left_alone(cli: Cli, content: str) -> None:
    home = cli.home / "precious"
    home.mkdir()
    (home / content).write_text("mine")
    said = cli.call("demo", "--home", str(home))
    assert said.code == ExitCode.REFUSED
    assert "is not empty and no demo made it" in said.err
    assert [path.name for path in home.iterdir()] == [content]
    assert (home / content).read_text() == "mine"


def test_a_file_is_no_home(cli: Cli) -> None:
    (cli.home / "file").write_text("mine")
    said = cli.call("demo", "--home", str(cli.home / "file"))
    assert said.code == ExitCode.CONFIG
    assert "→ give another --home" in said.err


def test_two_demos_do_not_play_in_one_folder(cli: Cli) -> None:
    home = cli.home / "demo"
    home.mkdir()
    with (home / MARK).open("w") as mark:
        fcntl.flock(mark, fcntl.LOCK_EX)
        said = cli.call("demo")
    assert said.code == ExitCode.REFUSED
    assert f"a demo plays in {home}" in said.err
