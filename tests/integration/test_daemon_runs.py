"""The daemon with real runners: how runs are stopped, followed, adopted, and what is left of them."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path

import pytest

from autopilot.daemon.store import queries_tickets
from autopilot.schemas.errors import ExitCode
from autopilot.schemas.events import Event
from autopilot.schemas.machine import State
from tests.support.house import House
from tests.support.projects import python_project
from tests.support.runs import mending_steps
from tests.support.wait import wait_until

HANG = [{"spend": {"usd": 0.5}}, {"say": "thinking"}, {"hang": True}]
STUBBORN = [
    {"spawn_grandchild": {"seconds": 600, "detach": True}},
    {"ignore_term": True},
    {"spend": {"usd": 0.5}},
    {"hang": True},
]
SLOW_POLL = "daemon = { poll_s = 600, drain_s = 60 }\n"
Build = Callable[..., House]


@pytest.fixture
def build(tmp_path: Path) -> Iterator[Build]:
    houses: list[House] = []

    def make(settings: str = "", **agents: object) -> House:
        houses.append(House(tmp_path, settings=settings, **agents))  # type: ignore[arg-type]
        houses[0].begin()
        return houses[0]

    yield make
    for house in houses:
        house.clean_up()


def spent(house: House) -> int:
    return sum(run["spent_micro_usd"] for run in house.daemon.call("GET", "/v1/status")["running"])


def ask_to_stop(house: House) -> None:
    assert house.daemon.process is not None
    house.daemon.process.terminate()
    wait_until(lambda: house.daemon.call("GET", "/v1/status")["daemon"]["is_draining"], 20, "it drains")


@pytest.mark.covers("B04", "B05", "B17", "B18")
def test_a_ticket_goes_from_the_queue_to_a_draft_in_processes_of_its_own(build: Build) -> None:
    where = "open(os.path.expanduser('~/seen'), 'w')"
    look = f"import json, os; json.dump([dict(os.environ), os.getcwd()], {where})"
    house = build(settings=SLOW_POLL, curious=[{"run": ["python3", "-c", look]}])
    name = house.add(agent="curious")
    house.daemon.wait_for_state(name, "parked")
    (run_folder,) = house.paths.runs.glob(f"{name}-a*")
    env, cwd = json.loads((run_folder / "home" / "seen").read_text())
    assert (env["AUTOPILOT_UNATTENDED"], env["MULTI_AGENT_UNATTENDED"]) == ("1", "1")
    assert not {"AUTOPILOT_HOME", "AUTOPILOT_SECRET_FORGE", "PYTHONPATH"} & set(env)
    assert cwd == str(house.paths.worktree(name))
    good = house.add("Another", agent="good")
    house.daemon.wait_for_state(good, "published")
    house.assert_in_order()
    assert [each.draft for each in house.pull_requests()] == [True]


@pytest.mark.covers("F02")
def test_spend_is_seen_while_the_run_goes_on_and_charged_when_it_is_stopped(build: Build) -> None:
    house = build(hang=HANG)
    name = house.add(agent="hang")
    wait_until(lambda: spent(house) == 500_000, 60, "the daemon knows what was spent")
    house.daemon.call("POST", f"/v1/tickets/{name}/cancel")
    ticket = house.daemon.wait_for_state(name, "cancelled")
    assert ticket["spent_micro_usd"] >= 500_000
    house.assert_in_order()


def test_cancel_ends_an_agent_that_ignores_every_signal_and_has_children_elsewhere(build: Build) -> None:
    house = build(stubborn=STUBBORN)
    name = house.add(agent="stubborn")
    house.wait_for_journal(Event.AGENT_SPENT)
    assert house.daemon.live_runs()
    house.daemon.call("POST", f"/v1/tickets/{name}/cancel")
    house.daemon.wait_for_state(name, "cancelled")
    assert house.daemon.live_runs() == set()
    house.assert_in_order()


@pytest.mark.covers("B01")
def test_off_now_gives_the_running_ticket_back_and_on_takes_it_up_again(build: Build) -> None:
    house = build(hang=HANG)
    name = house.add(agent="hang")
    house.wait_for_journal(Event.AGENT_SPENT)
    house.daemon.call("POST", "/v1/switch", on=False, mode="now")
    ticket = house.daemon.wait_for_state(name, "queued")
    assert (ticket["attempts"], ticket["releases"]) == (0, 1)
    assert house.daemon.live_runs() == set()
    house.daemon.call("POST", "/v1/switch", on=True)
    house.daemon.wait_for_state(name, "running")
    house.daemon.call("POST", "/v1/switch", on=False, mode="now")
    house.daemon.wait_for_state(name, "queued")
    house.assert_in_order()


def test_asked_to_stop_the_daemon_lets_a_run_finish_and_the_next_one_publishes_it(
    build: Build, tmp_path: Path
) -> None:
    gate = tmp_path / "go"
    house = build(waits=[{"say": "waiting"}, {"wait_for_file": str(gate)}])
    patient = house.add(agent="waits")
    house.wait_for_journal(Event.AGENT_SPOKE)
    ask_to_stop(house)
    late = house.add("Too late")
    gate.touch()
    assert house.daemon.process is not None
    assert house.daemon.process.wait(60) == ExitCode.OK
    house.daemon.start()
    house.daemon.wait_for_state(patient, "parked")  # it changed nothing
    house.daemon.wait_for_state(late, "published")
    assert house.count(Event.AGENT_STARTED) == 2
    house.assert_in_order()


def test_asked_twice_the_daemon_stops_what_runs_and_no_attempt_is_used(build: Build) -> None:
    house = build(stubborn=STUBBORN)
    name = house.add(agent="stubborn")
    house.wait_for_journal(Event.AGENT_SPENT)
    ask_to_stop(house)
    assert house.daemon.process is not None
    house.daemon.process.terminate()
    assert house.daemon.process.wait(60) == ExitCode.OK
    assert house.daemon.live_runs() == set()
    with closing(house.daemon.store()) as store, store.read() as conn:
        ticket = queries_tickets.ticket(conn, name)
    assert ticket is not None
    assert (ticket.state, ticket.attempts, ticket.losses) == (State.QUEUED, 0, 0)
    house.assert_in_order()


def test_a_run_that_outlives_the_daemon_is_adopted_with_its_spend_and_can_still_be_cancelled(
    build: Build,
) -> None:
    house = build(hang=HANG)
    name = house.add(agent="hang")
    wait_until(lambda: spent(house) == 500_000, 60, "the daemon knows what was spent")
    run_id = house.daemon.ticket(name)["run_id"]
    house.daemon.kill()
    house.daemon.start()
    house.daemon.wait_for_event(Event.RUN_ADOPTED, {"run": run_id})
    assert spent(house) == 500_000
    house.daemon.call("POST", f"/v1/tickets/{name}/cancel")
    house.daemon.wait_for_state(name, "cancelled")
    house.assert_in_order()


@pytest.mark.covers("B08", "F03")
def test_the_queue_moves_past_tickets_that_stop_and_never_more_run_than_allowed(build: Build) -> None:
    house = build(
        settings="max_parallel_agents = 2\nper_repo_parallel = 2\n",
        asks=[{"ask": "Left or right?"}],
        idle=[{"say": "All done!"}],
    )
    names = [house.add(f"Ticket {agent}", agent=agent) for agent in ("asks", "idle", "good")]
    final = [house.daemon.wait_for_state(name, "parked", "published") for name in names]
    assert [(each["state"], each["waiting_for"]) for each in final] == [
        ("parked", "questions"),
        ("parked", "no-changes"),
        ("published", None),
    ]
    running = 0
    for line in house.daemon.events():
        running += (line["event"] == Event.RUN_STARTED) - (
            line["event"] in {Event.RUN_FINISHED, Event.RUN_LOST}
        )
        assert running <= 2
    house.assert_in_order()


@pytest.mark.slow
@pytest.mark.field_report("DMN-027")
@pytest.mark.parametrize(
    ("step", "rests"),
    [
        ({"exit": 1}, ("failed", None, 2, 2)),
        ({"exit": 139}, ("failed", None, 2, 2)),
        ({"die": "SIGSEGV"}, ("failed", None, 2, 2)),
        ({"print": "}{ no line of ours"}, ("parked", "no-changes", 1, 1)),
    ],
)
def test_dmn_027_an_agent_that_ends_badly_is_tried_again_and_its_ticket_comes_to_rest(
    build: Build, step: dict[str, object], rests: tuple[str, str | None, int, int]
) -> None:
    """DMN-027: a plain crash put the task on 'retrying', and nothing ever started it again."""
    house = build(settings="attempts_per_ticket = 2\n" + SLOW_POLL, bad=[{"spend": {"usd": 0.01}}, step])
    name = house.add(agent="bad")
    ticket = house.daemon.wait_for_state(name, "failed", "parked")
    assert ticket["reason"]
    assert tuple(ticket[name] for name in ("state", "waiting_for", "attempts", "sessions")) == rests
    house.assert_in_order()


@pytest.mark.parametrize(("first", "then"), [("none", "auto"), ("auto", "none")])
def test_a_draft_tells_the_sandbox_of_its_run_though_another_is_configured_by_now(
    build: Build, first: str, then: str
) -> None:
    steps = [{"say": "waiting"}, {"wait_for_file": "go"}, *mending_steps(python_project())]
    house = build(settings=f'sandbox = {{ kind = "{first}" }}\n', patient=steps)
    name = house.add(agent="patient")
    house.wait_for_journal(Event.AGENT_SPOKE)
    file = house.paths.config_file
    file.write_text(file.read_text().replace(f'kind = "{first}"', f'kind = "{then}"', 1))
    (house.paths.worktree(name) / "go").touch()
    house.daemon.wait_for_state(name, "published")
    (draft,) = house.pull_requests()
    [said] = [line for line in draft.body.splitlines() if line.startswith("Sandbox: ")]
    was_open, is_open = first == "none", then == "none"
    assert said.startswith("Sandbox: none in the run") == was_open
    assert said.endswith("none when the gates ran again.") == is_open
    assert ("**Sandbox: none.** In the run, " in draft.body) == was_open
    assert ("**Sandbox: none.** When the gates ran again, " in draft.body) == is_open
    house.assert_in_order()
