"""Leases with real processes: who is held still, killed or left alone, and what becomes of the ticket."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import closing, nullcontext
from pathlib import Path

import pytest

from autopilot.config import proc
from autopilot.config.clock import SystemClock
from autopilot.daemon.inbox import Inbox
from autopilot.daemon.store import queries_runs
from autopilot.daemon.store.rows import Attempt
from autopilot.daemon.supervisor import Supervisor
from autopilot.daemon.watch import Order
from autopilot.schemas.events import Event
from autopilot.schemas.run import Lease, Outcome, RunResult
from tests.support.house import House
from tests.support.publication import local_publication
from tests.support.publisher import publisher_environment, read_verdict
from tests.support.repo_traps import write_script
from tests.support.repos import make_repo
from tests.support.runs import Host
from tests.support.tree import ROOT
from tests.support.wait import wait_until

LEASE_S = 8.0
LONG_S = 120.0
"""For who must not lose its lease while the machine is busy."""
SETTINGS = "daemon = {{ poll_s = 600, drain_s = 60, lease_s = {lease_s} }}\n"
HANG = [{"spend": {"usd": 0.5}}, {"hang": True}]
Build = Callable[..., House]


@pytest.fixture
def build(tmp_path: Path) -> Iterator[Build]:
    houses: list[House] = []

    def make(lease_s: float = LEASE_S, **agents: object) -> House:
        settings = SETTINGS.format(lease_s=lease_s)
        houses.append(House(tmp_path, settings=settings, **agents))  # type: ignore[arg-type]
        houses[0].begin()
        return houses[0]

    yield make
    for house in houses:
        house.clean_up()


def attempts(house: House, name: str) -> tuple[Attempt, ...]:
    with closing(house.daemon.store()) as store, store.read() as conn:
        return queries_runs.attempts_of(conn, name)


def beats(house: House, name: str) -> int:
    """The lease's counter: how often it was renewed."""
    file = house.paths.run_dir(attempts(house, name)[0].run_id) / "lease"
    return file.stat().st_mtime_ns // 10**9


def result_of(house: House, name: str) -> RunResult:
    """What the first run has left, once it has."""
    file = house.paths.run_dir(attempts(house, name)[0].run_id) / "result.json"
    wait_until(file.exists, 60, "the run has ended itself")
    return RunResult.model_validate_json(file.read_bytes())


def end(house: House, name: str) -> None:
    """Cancel what hangs; then everything is in order."""
    house.daemon.call("POST", f"/v1/tickets/{name}/cancel")
    house.daemon.wait_for_state(name, "cancelled")
    house.assert_in_order()


@pytest.mark.slow
def test_a_run_whose_daemon_stands_still_ends_itself_and_is_given_back_without_using_an_attempt(
    build: Build,
) -> None:
    house = build(hang=HANG)
    name = house.add(agent="hang")
    house.wait_for_journal(Event.AGENT_SPENT)
    assert house.daemon.process is not None
    os.kill(house.daemon.process.pid, signal.SIGSTOP)
    result = result_of(house, name)
    assert (result.outcome, result.code) == (Outcome.STOPPED, "lease-lost")
    wait_until(lambda: not house.daemon.live_runs(), 20, "the agent is gone with its runner")
    os.kill(house.daemon.process.pid, signal.SIGCONT)
    wait_until(lambda: house.daemon.ticket(name)["releases"] == 1, 60, "the ticket is given back")
    ticket = house.daemon.wait_for_state(name, "running")
    assert (ticket["attempts"], ticket["losses"], ticket["sessions"]) == (1, 0, 2)
    assert ticket["spent_micro_usd"] >= 500_000
    end(house, name)


@pytest.mark.slow
def test_a_run_whose_daemon_was_killed_ends_itself_and_the_next_daemon_gives_its_ticket_back(
    build: Build,
) -> None:
    house = build(hang=HANG)
    name = house.add(agent="hang")
    house.wait_for_journal(Event.AGENT_SPENT)
    house.daemon.kill()
    assert result_of(house, name).code == "lease-lost"
    wait_until(lambda: not house.daemon.live_runs(), 20, "the agent is gone with its runner")
    house.daemon.start()
    wait_until(lambda: house.daemon.ticket(name)["sessions"] == 2, 60, "it runs again")
    ticket = house.daemon.ticket(name)
    assert (ticket["attempts"], ticket["releases"], ticket["losses"]) == (1, 1, 0)
    end(house, name)


@pytest.mark.slow
def test_a_daemon_that_is_back_within_the_lease_adopts_the_run_and_keeps_it_alive(
    build: Build,
) -> None:
    house = build(LONG_S, waits=[{"say": "waiting"}, {"wait_for_file": "go"}])
    name = house.add(agent="waits")
    house.wait_for_journal(Event.AGENT_SPOKE)
    house.daemon.kill()
    house.daemon.start()
    house.daemon.wait_for_event(Event.RUN_ADOPTED)
    before = beats(house, name)
    wait_until(lambda: beats(house, name) >= before + 3, 60, "it is renewed again and again")
    (house.paths.worktree(name) / "go").mkdir()  # an empty folder is no change
    house.daemon.wait_for_state(name, "parked")  # it changed nothing
    (attempt,) = attempts(house, name)
    assert attempt.outcome == Outcome.NO_CHANGES
    house.assert_in_order()


@pytest.mark.slow
def test_a_runner_that_stands_still_is_killed_with_its_agent_after_its_lease_and_started_anew(
    build: Build,
) -> None:
    house = build(hang=HANG)
    name = house.add(agent="hang")
    house.wait_for_journal(Event.AGENT_SPENT)
    wait_until(lambda: attempts(house, name)[0].process, 20, "its process is written down")
    os.kill((attempts(house, name)[0].process or (0, 0))[0], signal.SIGSTOP)
    house.daemon.wait_for_event(Event.RUN_LOST, {"cause": "died"})
    attempt = attempts(house, name)[0]
    assert "stood still" in attempt.message
    wait_until(lambda: house.daemon.ticket(name)["sessions"] == 2, 60, "it runs again")
    assert attempt.run_id not in house.daemon.live_runs()
    assert house.daemon.ticket(name)["losses"] == 1
    end(house, name)


def test_a_runner_that_nobody_looks_after_leaves_a_result_and_nothing_running(tmp_path: Path) -> None:
    host, repo = Host(tmp_path / "state"), make_repo(tmp_path / "repositories")
    lease = Lease(file=tmp_path / "lease", lease_s=LEASE_S)
    spec = host.spec(repo, host.agent([{"say": "thinking"}, {"hang": True}]), lease=lease)
    spec_file = spec.run_dir / "spec.json"
    spec_file.write_text(spec.model_dump_json())
    done = subprocess.run(
        [sys.executable, "-P", "-m", "autopilot.runner", "run", str(spec_file)],
        cwd=tmp_path,
        env={"PATH": os.defpath, "HOME": str(tmp_path), "PYTHONPATH": str(ROOT / "src")},
        timeout=60,
        check=False,
    )
    assert done.returncode == 0
    result = RunResult.model_validate_json((spec.run_dir / "result.json").read_bytes())
    assert (result.outcome, result.code) == (Outcome.STOPPED, "lease-lost")
    assert "nobody has renewed its lease" in result.message


def test_a_publisher_that_nobody_looks_after_stops_and_cleans_up(tmp_path: Path) -> None:
    lease = {"file": str(tmp_path / "lease"), "lease_s": 2.0}
    publication = local_publication(tmp_path).with_spec(lease=lease)
    os.mkfifo(tmp_path / "never")
    write_script(publication.remote / "hooks" / "pre-receive", f"read -r line < {tmp_path / 'never'}")
    done = subprocess.run(
        [sys.executable, "-P", "-m", "autopilot.publish", str(publication.write())],
        cwd=tmp_path,
        env=publisher_environment(tmp_path / "home"),
        timeout=60,
        check=False,
    )
    assert done.returncode == 0
    verdict = read_verdict(publication)
    assert (verdict["outcome"], verdict["code"]) == ("publish-deferred", "stopped")
    assert [path.name for path in (publication.folder / "work").iterdir()] == [".lock"]


def test_a_child_that_knows_no_lease_is_adopted_and_left_in_peace(tmp_path: Path) -> None:
    """As a runner of an earlier version is, when the program was upgraded under it."""
    inbox, clock = Inbox(), SystemClock()
    order = Order(
        key="T-1-a1-00000001",
        journal=tmp_path / "events.jsonl",
        fence=1,
        wall_s=60,
        grace_s=1,
        keep_awake=lambda _: nullcontext(),
        lease=tmp_path / "lease",
        lease_s=2,
    )
    child = proc.spawn(
        [sys.executable, "-I", "-c", "import threading; threading.Event().wait(60)"],
        cwd=tmp_path,
        env={"PATH": os.defpath, proc.RUN_ID_VARIABLE: order.key},
        output=tmp_path / "child.log",
    )
    supervisor = Supervisor(clock=clock, inbox=inbox)
    assert supervisor.adopt(order, child.id)
    wait_until((tmp_path / "lease").exists, 20, "it is renewed all the same")
    before = (tmp_path / "lease").stat().st_mtime_ns
    wait_until(
        lambda: (tmp_path / "lease").stat().st_mtime_ns >= before + 3 * 10**9, 20, "a lease has passed"
    )
    assert child.poll() is None
    assert supervisor.held() == {order.key: 1}
    supervisor.stop_all("the test ends")
    wait_until(lambda: child.poll() is not None, 20, "it is ended")
    supervisor.forget(order.key)
