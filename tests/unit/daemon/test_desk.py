"""The operator's desk, asked directly and over the control socket's routes: the same answers."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterator, Mapping
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from autopilot.daemon import desk as counter
from autopilot.daemon import view
from autopilot.daemon.api.answer import content_of
from autopilot.daemon.api.call import Call, CallError
from autopilot.daemon.api.routes import Routes
from autopilot.daemon.desk import Desk
from autopilot.daemon.inbox import Woken
from autopilot.daemon.loop import Loop
from autopilot.daemon.store import writes
from autopilot.schemas.errors import ConfigError, RefusedError, TicketError
from autopilot.schemas.machine import State, WaitingFor
from autopilot.schemas.run import Outcome
from tests.support import queue
from tests.support.shop import Stage


@pytest.fixture
def stage(tmp_path: Path) -> Iterator[Stage]:
    stage = Stage(tmp_path)
    yield stage
    stage.store.close()


@pytest.fixture
def desk(stage: Stage) -> Desk:
    return stage.desk()


@pytest.fixture
def routes(stage: Stage, desk: Desk) -> Routes:
    return Routes(stage.store, desk=lambda: desk, inbox=stage.inbox, about=lambda: {"pid": 7, "version": "1"})


def post(routes: Routes, path: str, **body: object) -> Mapping[str, Any]:
    return routes(Call("POST", path, {}, body))


def get(routes: Routes, path: str, **query: str) -> Mapping[str, Any]:
    answer: Mapping[str, Any] = json.loads(content_of(routes(Call("GET", path, query, {}))))
    return answer


def test_a_ticket_is_added_with_everything_it_says_and_the_loop_is_woken(
    stage: Stage, routes: Routes
) -> None:
    said = {"title": "Fix 'the' sum — ü", "body": "-x\n\n文", "repo": "shop", "priority": 0, "base": "dev"}
    answer = post(routes, "/v1/tickets", **said, by="pat")
    assert answer["is_new"] is True
    assert answer["ticket"].items() >= {**said, "id": "T-1", "state": "queued"}.items()
    assert stage.inbox.take(1) == (Woken("POST /v1/tickets"),)
    assert get(routes, "/v1/tickets/t-1")["history"][0]["by"] == "pat"


@pytest.mark.parametrize(
    ("fields", "code", "named"),
    [
        ({"repo": "shop"}, "ticket-invalid", "title"),
        ({"title": "", "repo": "shop"}, "ticket-invalid", "title"),
        ({"title": "two\nlines", "repo": "shop"}, "ticket-invalid", "title"),
        ({"title": "x", "body": "a\x00b", "repo": "shop"}, "ticket-invalid", "body"),
        ({"title": "x\ud800", "repo": "shop"}, "ticket-invalid", "title"),
        ({"title": "x", "base": "--upload-pack=x", "repo": "shop"}, "ticket-invalid", "base"),
        ({"title": "x", "priority": 9, "repo": "shop"}, "ticket-invalid", "priority"),
        ({"title": "x", "colour": "red", "repo": "shop"}, "ticket-invalid", "colour"),
        ({"title": "x", "not_before_ms": 2**62, "repo": "shop"}, "ticket-invalid", "not_before_ms"),
        ({"title": "x"}, "repo-needed", "repo"),
        ({"title": "x", "repo": "shpo"}, "repo-unknown", "repo"),
        ({"title": "x", "repo": "shop", "agent": "nobody"}, "agent-unknown", "agent"),
        ({"title": "x", "repo": "shop", "depends_on": ["T-99"]}, "dependency-unknown", "T-99"),
    ],
)
def test_a_field_that_is_wrong_is_refused_by_its_name_and_nothing_is_queued(
    desk: Desk, fields: dict[str, object], code: str, named: str
) -> None:
    with pytest.raises(TicketError) as caught:
        counter.add(desk, fields)
    assert caught.value.code == code
    assert named in caught.value.what
    assert counter.tickets(desk) == {"tickets": []}


def test_with_one_repository_a_ticket_need_not_name_it(tmp_path: Path) -> None:
    stage = Stage(tmp_path / "one")
    only = stage.paths.config_file.read_text().split('[[repo]]\nname = "till"')[0]
    stage.paths.config_file.write_text(only)
    stage.current.refresh()
    desk = stage.desk()
    assert counter.add(desk, {"title": "x"})["ticket"]["repo"] == "shop"
    stage.store.close()


def test_the_same_source_twice_is_one_ticket(routes: Routes) -> None:
    first = post(routes, "/v1/tickets", title="x", repo="shop", source_key="o/r#12")
    second = post(routes, "/v1/tickets", title="again", repo="shop", source_key="o/r#12")
    assert (first["is_new"], second["is_new"]) == (True, False)
    assert first["ticket"]["id"] == second["ticket"]["id"]


def test_one_issue_is_one_ticket_however_it_is_referred_to(routes: Routes) -> None:
    keys = ("shop/shop#12", "https://forge.example/shop/shop/issues/12", "https://x/shop/shop/-/issues/12/")
    told = [post(routes, "/v1/tickets", title="x", repo="shop", source_key=key) for key in keys]
    assert {each["ticket"]["id"] for each in told} == {"T-1"}


def test_the_same_number_in_two_repositories_is_two_tickets(routes: Routes) -> None:
    told = [post(routes, "/v1/tickets", title="x", repo=repo, source_key="#12") for repo in ("shop", "till")]
    assert [each["is_new"] for each in told] == [True, True]
    assert not post(routes, "/v1/tickets", title="x", repo="till", source_key="#12")["is_new"]


def test_every_act_on_a_ticket_works_by_its_path(stage: Stage, routes: Routes) -> None:
    writes.turn_on(stage.store, by="test")
    loop = Loop(stage.shop)
    queue.add(stage.store)
    loop.tick()
    stage.hand_in(queue.result(stage.claim_of("T-1"), Outcome.ASKED, questions=("Which?", "And?")))
    loop.tick()
    with pytest.raises(RefusedError):
        post(routes, "/v1/tickets/T-1/answer", answers=["a", "b", "c"])
    answered = post(routes, "/v1/tickets/1/answer", answers=["the left one", "no"])
    assert answered["ticket"]["state"] == "queued"
    shown = get(routes, "/v1/tickets/T-1")
    assert [one["answer"] for one in shown["exchanges"]] == ["the left one", "no"]
    assert post(routes, "/v1/tickets/t-1/cancel")["ticket"]["state"] == "cancelled"
    assert post(routes, "/v1/tickets/T-1/retry")["ticket"]["state"] == "queued"
    with pytest.raises(RefusedError):
        post(routes, "/v1/tickets/T-1/resume")


def test_tickets_are_listed_by_state_repository_and_number(stage: Stage, routes: Routes) -> None:
    for repo in ("shop", "till", "shop"):
        queue.add(stage.store, repo=repo)
    post(routes, "/v1/tickets/2/cancel")

    def ids(**query: str) -> list[str]:
        return [ticket["id"] for ticket in get(routes, "/v1/tickets", **query)["tickets"]]

    assert ids() == ["T-1", "T-2", "T-3"]
    assert ids(state="queued,parked") == ["T-1", "T-3"]
    assert ids(repo="till") == ["T-2"]
    assert ids(limit="1") == ["T-3"]
    with pytest.raises(RefusedError):
        ids(state="sleeping")
    with pytest.raises(CallError):
        ids(limit="-1")


def test_the_switch_is_turned_with_its_limits(stage: Stage, routes: Routes) -> None:
    on = post(routes, "/v1/switch", on=True, until_ms=stage.clock.now_ms() + 5, ignore_window=True)
    assert on["switch"].items() >= {"is_on": True, "ignore_window": True, "by": "operator"}.items()
    off = post(routes, "/v1/switch", on=False, mode="drain", drain_s=60)
    assert off["switch"]["drain_until_ms"] == stage.clock.now_ms() + 60_000


@pytest.mark.parametrize(
    ("path", "body"),
    [
        ("/v1/switch", {}),
        ("/v1/switch", {"on": "maybe"}),
        ("/v1/switch", {"on": False, "mode": "later"}),
        ("/v1/switch", {"on": False, "drain_s": -1}),
        ("/v1/switch", {"on": True, "colour": "red"}),
        ("/v1/breakers", {}),
        ("/v1/tickets/T-1/answer", {"answers": []}),
        ("/v1/tickets/T-1/answer", {"answers": "yes"}),
        ("/v1/tickets/T-1/cancel", {"by": ""}),
        ("/v1/tickets/T-1/explode", {}),
        ("/v1/tickets/T-1/why", {}),
        ("/v2/tickets", {}),
        ("/v1/tickets/../secret", {}),
        ("", {}),
    ],
)
def test_a_call_that_means_nothing_is_refused_and_changes_nothing(
    stage: Stage, routes: Routes, path: str, body: dict[str, object]
) -> None:
    queue.add(stage.store)
    before = view.status(stage.desk())
    with pytest.raises(CallError):
        post(routes, path, **body)
    assert stage.inbox.take(0) == ()
    assert view.status(stage.desk()) == before


@pytest.mark.parametrize("ticket", ["T-99", "nonsense", "0"])
def test_a_ticket_that_does_not_exist_is_said_not_to(routes: Routes, ticket: str) -> None:
    for call in (("GET", ""), ("GET", "/why"), ("POST", "/cancel")):
        with pytest.raises(TicketError) as caught:
            routes(Call(call[0], f"/v1/tickets/{ticket}{call[1]}"))
        assert caught.value.code == "ticket-unknown"


def test_the_status_tells_of_everything_and_can_become_json(stage: Stage, routes: Routes) -> None:
    writes.turn_on(stage.store, by="test")
    queue.add(stage.store, repo="shop")
    queue.add(stage.store, repo="shop")
    Loop(stage.shop).tick()
    status = get(routes, "/v1/status")
    assert json.loads(json.dumps(status)) == status
    assert status["counts"] == {str(state): 0 for state in State} | {"running": 1, "queued": 1}
    assert [one["ticket"]["id"] for one in status["running"]] == ["T-1"]
    assert status["running"][0]["is_alive"] is False
    assert [hold["name"] for hold in status["holds"]] == ["repo-busy"]
    assert status["money"]["reserved_micro_usd"] == 5_000_000
    assert status["daemon"] == {"pid": 7, "version": "1"}
    assert view.status(stage.desk())["daemon"] is None


def test_why_names_every_hold_of_a_queued_ticket_and_keeps_since_when_it_stands(
    stage: Stage, routes: Routes
) -> None:
    writes.turn_off(stage.store, by="test")
    queue.add(stage.store, repo="shop", agent="nobody", not_before_ms=stage.clock.now_ms() + 60_000)
    since_ms = stage.clock.now_ms()
    queue.add(stage.store, "wanted", repo="till")
    Loop(stage.shop).tick()
    stage.clock.advance(30)
    why = get(routes, "/v1/tickets/T-1/why")
    assert [hold["name"] for hold in why["holds"]] == ["switch-off", "agent-unknown", "not-before"]
    assert why["holds"][0]["since_ms"] == since_ms


@pytest.mark.parametrize("state", list(State))
def test_why_says_for_every_state_what_moves_the_ticket_on(stage: Stage, state: State) -> None:
    waiting_for = WaitingFor.BREAKER if state is State.PARKED else None
    ticket = queue.add(stage.store).model_copy(update={"state": state, "waiting_for": waiting_for})
    assert view.next_step(ticket, is_held=False)


def test_why_gives_a_failed_ticket_its_hint_before_the_way_back(stage: Stage) -> None:
    failed = queue.add(stage.store).model_copy(update={"state": State.FAILED, "hint": "free some disk"})
    assert view.next_step(failed, is_held=False) == "free some disk; then autopilot retry T-1"


@pytest.mark.field_report("DMN-024")
def test_health_is_red_when_the_queue_cannot_be_read(stage: Stage, routes: Routes) -> None:
    """DMN-024: the health check did not touch the store and stayed green over a broken one."""
    assert get(routes, "/v1/health")["status"] == "ok"
    with closing(sqlite3.connect(stage.paths.database)) as raw:
        raw.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    with stage.paths.database.open("r+b") as file:
        file.write(b"\x00" * 8192)
    with pytest.raises(ConfigError) as caught:
        get(routes, "/v1/health")
    assert caught.value.code == "database-damaged"
