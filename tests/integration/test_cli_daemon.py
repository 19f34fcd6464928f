"""The commands while a daemon runs: the same answers, nothing heavy imported, the switch and the journal."""

from __future__ import annotations

import ast
import json
import os
import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from autopilot.config.proc import identity_of, is_alive
from autopilot.schemas.errors import ExitCode
from tests.support.cli import Cli, fill
from tests.support.daemon import PATIENCE_S, Daemon
from tests.support.shop import CONFIG
from tests.support.small_project import small_repo
from tests.support.wait import wait_until

HEAVY = frozenset({"sqlalchemy", "httpx", "git", "keyring", "apscheduler", "pydantic", "rich", "alembic"})
ALSO_HEAVY = frozenset({"structlog", "psutil", "yaml", "shtab", "platformdirs"})
NIGHT = """
launch_stagger_s = 0
min_free_disk_gib = 0
min_free_memory_gib = 0
max_load_per_cpu = 0
default_agent = "scripted"
[schedule]
window = ""
[daemon]
drain_s = 1
[sandbox]
kind = "none"
[agents.scripted]
kind = "scripted"
script = "{script}"
[[repo]]
name = "small"
path = "{remote}"
base = "main"
"""


@pytest.fixture(scope="module")
def daemon(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Daemon]:
    """A daemon that is switched off, over a queue with a ticket in every resting state."""
    made = Daemon(tmp_path_factory.mktemp("daemon") / "home", config=CONFIG)
    yield made
    made.clean_up()


@pytest.fixture(scope="module")
def cli(daemon: Daemon) -> Cli:
    """Commands beside that daemon; the queue was filled before it came up."""
    made = Cli(daemon.home)
    fill(made)
    return made


READS = (
    ["list", "--json"],
    ["list", "--json", "--open", "--repo", "shop", "--limit", "2"],
    ["show", "T-2", "--json"],
    ["show", "T-3", "--json"],
    ["show", "T-99", "--json"],
    ["review", "--json"],
    ["review", "T-1", "--json"],
    ["breaker", "--json"],
    ["logs", "T-5", "--json"],
    ["cancel", "T-1", "--json"],
    ["answer", "T-1", "x", "--json"],
    ["add", "x", "--repo", "shpo", "--json"],
    ["add", "x", "--repo", "shop", "--base", "a b", "--json"],
)


@pytest.fixture(scope="module")
def up(daemon: Daemon, cli: Cli) -> Daemon:
    """The same daemon, running."""
    daemon.start()
    return daemon


@pytest.mark.covers("R03")
def test_json_is_the_same_bytes_from_the_daemon_and_without_it(tmp_path: Path) -> None:
    daemon = Daemon(tmp_path / "home", config=CONFIG)
    cli = Cli(daemon.home)
    fill(cli)
    without = {tuple(words): cli.call(*words) for words in READS}
    try:
        daemon.start()
        for words in READS:
            assert cli.call(*words) == without[tuple(words)], words
        for words in READS[::4]:
            assert cli.run(*words) == without[tuple(words)], words
    finally:
        daemon.clean_up()


def test_the_status_differs_by_the_daemon_and_by_what_time_moves(cli: Cli, up: Daemon) -> None:
    view = json.loads(cli.ok("status", "--json"))
    assert view["daemon"]["pid"] == up.call("GET", "/v1/health")["pid"]
    assert set(view) == set(up.call("GET", "/v1/status"))
    told = cli.ok("status")
    assert re.search(r"^daemon     \S+ runs for \S+ as pid \d+$", told, re.MULTILINE)
    assert "held\n  switch-off: switched off by test" in told
    assert "no daemon is running" not in cli.ok("why", "T-5")


@pytest.mark.usefixtures("up")
@pytest.mark.parametrize(
    "words", [["add", "Mend it", "--repo", "shop"], ["status"], ["list"], ["why", "T-5"], ["show", "T-2"]]
)
def test_with_the_daemon_up_a_command_imports_nothing_heavy(cli: Cli, words: list[str]) -> None:
    code = (
        "import sys\n"
        "from autopilot.daemon.cli.main import run\n"
        "code = run(sys.argv[1:])\n"
        "print(sorted({name.partition('.')[0] for name in sys.modules}), file=sys.stderr)\n"
        "sys.exit(code)\n"
    )
    done = subprocess.run(
        [sys.executable, "-P", "-c", code, *words],
        env=cli.env,
        cwd=cli.home,
        capture_output=True,
        text=True,
        check=True,
    )
    loaded = set(ast.literal_eval(done.stderr))
    assert "autopilot" in loaded
    assert loaded & (HEAVY | ALSO_HEAVY) == set()


@pytest.mark.usefixtures("up")
def test_an_error_of_the_daemon_keeps_its_class_code_and_hint(cli: Cli) -> None:
    said = cli.run("resume", "T-1")
    assert said.code == ExitCode.REFUSED
    assert said.err == (
        "autopilot: T-1 is published: only a parked ticket can be resumed\n"
        "  → `autopilot why T-1` says what would move it\n"
    )


def test_a_second_daemon_is_refused_by_the_command_too(cli: Cli, up: Daemon) -> None:
    said = cli.run("daemon", "run")
    assert said.code == ExitCode.REFUSED
    assert f"pid {up.call('GET', '/v1/health')['pid']}" in said.err


@pytest.mark.usefixtures("up")
def test_a_queue_in_use_is_not_given_up(cli: Cli) -> None:
    said = cli.run("doctor", "--set-aside")
    assert said.code == ExitCode.REFUSED
    assert "a daemon already runs here" in said.err


@pytest.fixture
def night(tmp_path: Path) -> Iterator[Cli]:
    """A configured home with a real repository; whatever daemon the commands start is stopped."""
    project = small_repo(tmp_path / "repo")
    script = tmp_path / "script.yaml"
    script.write_text(
        "rounds:\n"
        "  - - spend: {usd: 0.5}\n"
        f"    - wait_for_file: {tmp_path / 'go'}\n"
        "    - write: {path: answer.txt, text: right}\n"
        "    - spend: {usd: 0.75}\n"
        "    - say: done\n"
    )
    cli = Cli(tmp_path / "a home", config=NIGHT.format(script=script, remote=project.remote))
    yield cli
    (tmp_path / "go").touch()
    cli.run("off", "--now")
    cli.run("daemon", "stop")


@pytest.mark.covers("B01")
def test_on_starts_a_daemon_and_off_ends_the_launching_but_not_the_word(night: Cli) -> None:
    said = night.run("on", "--for", "8h")
    assert said.code == ExitCode.OK, said
    assert "\nGO\n" in said.out
    assert "a daemon was started" in said.out
    view = json.loads(night.ok("status", "--json"))
    assert view["switch"]["is_on"]
    assert abs(view["switch"]["until_ms"] - view["now_ms"] - 8 * 3_600_000) < 60_000
    again = json.loads(night.ok("on", "--json"))
    assert (again["go"], again["started_daemon"], again["switch"]["until_ms"]) == (True, False, None)
    assert night.ok("off") == "off: nothing more is launched; what runs may finish\n"
    night.ok("add", "Mend it")
    assert "switch-off" in night.ok("why", "T-1")
    assert night.ok("daemon", "stop") == "stopped\n"
    assert night.ok("daemon", "stop") == "no daemon runs\n"
    assert not json.loads(night.ok("status", "--json"))["switch"]["is_on"]


def test_a_relative_home_is_the_same_home_for_the_daemon(night: Cli) -> None:
    night.env["AUTOPILOT_HOME"] = "./a home"
    said = night.run("on", cwd=night.home.parent)
    assert said.code == ExitCode.OK, said
    night.env["AUTOPILOT_HOME"] = str(night.home)
    assert json.loads(night.ok("status", "--json"))["daemon"] is not None


def test_follow_shows_elapsed_and_spend_and_ends_with_the_run(night: Cli) -> None:
    night.ok("add", "Mend it")
    following = night.start("logs", "T-1", "--follow")
    assert following.stdout is not None
    night.ok("on")
    read: list[str] = []

    def has_spent() -> bool:
        assert following.stdout is not None
        read.append(following.stdout.readline().decode())
        return "agent.spent" in read[-1]

    wait_until(has_spent, PATIENCE_S, "the first spend is shown")
    assert re.match(r" +\d+s +\$0\.50  agent\.spent", read[-1]), read
    running = night.ok("status")
    assert re.search(r"running\n  T-1  Mend it  \d+s, \$0\.50 of \$5\.00, scripted", running)
    (night.home.parent / "go").touch()
    out, _ = following.communicate(timeout=PATIENCE_S)
    rest = out.decode().splitlines()
    assert following.returncode == ExitCode.OK
    assert any(re.match(r" +\d+s +\$1\.25  run\.finished +outcome=committed", line) for line in rest), rest
    assert rest[-1].startswith("T-1 is ")


def test_follow_ends_when_the_runner_was_killed_and_left_no_result(night: Cli) -> None:
    night.ok("add", "Mend it")
    night.ok("on")
    wait_until(lambda: "running\n  T-1" in night.told("status"), PATIENCE_S, "T-1 runs")
    following = night.start("logs", "T-1", "-f", "--json")
    assert following.stdout is not None
    wait_until(lambda: b"agent.spent" in following.stdout.readline(), PATIENCE_S, "the agent works")  # type: ignore[union-attr]
    night.ok("off")
    store = night.store()
    try:
        from autopilot.daemon.store import queries_runs

        with store.read() as conn:
            (live,) = queries_runs.running(conn)
    finally:
        store.close()
    assert live.attempt.pid is not None
    os.kill(live.attempt.pid, signal.SIGKILL)
    out, err = following.communicate(timeout=PATIENCE_S)
    assert (following.returncode, err) == (ExitCode.OK, b"")
    assert all(json.loads(line)["event"] for line in out.splitlines())


@pytest.mark.covers("B01")
def test_off_now_stops_what_runs_and_the_ticket_goes_back_to_the_queue(night: Cli) -> None:
    night.ok("add", "Mend it")
    night.ok("on")
    wait_until(lambda: "running\n  T-1" in night.told("status"), PATIENCE_S, "T-1 runs")
    assert night.ok("off", "--now") == "off: nothing more is launched\n"
    wait_until(lambda: "T-1 is queued" in night.told("why", "T-1"), PATIENCE_S, "T-1 is queued again")
    shown = json.loads(night.told("show", "T-1", "--json"))
    assert shown["ticket"]["attempts"] == 0


def test_a_daemon_that_was_stopped_leaves_no_process(night: Cli) -> None:
    night.ok("on")
    pid = json.loads(night.ok("status", "--json"))["daemon"]["pid"]
    identity = identity_of(pid)
    assert identity is not None
    night.ok("daemon", "stop")
    assert not is_alive(identity)
