"""A credential that is not accepted: read again and tried once more before a person is asked for."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

from autopilot.config import handed
from autopilot.daemon import decide
from autopilot.daemon.decide import after_run
from autopilot.daemon.decide_publish import after_publish, deferred
from autopilot.daemon.loop import Loop
from autopilot.daemon.rules import Rules
from autopilot.daemon.store import queries_host, writes
from autopilot.daemon.store.rows import HistoryEntry
from autopilot.schemas.decision import Park, PublishDecision, PublishLater, Release, RunDecision
from autopilot.schemas.machine import State, Trigger, WaitingFor
from autopilot.schemas.publication import PublishOutcome, PublishVerdict
from autopilot.schemas.run import Outcome, RunResult
from tests.support import queue, words
from tests.support.shop import Stage

NOW = 1_800_000_000_000
RULES = Rules()
CODE = "agent-not-authenticated"


def decided(report: RunResult, *, was_refused: bool = False) -> RunDecision:
    seen = words.ticket(attempts=1, sessions=1)
    return after_run(seen, report, rules=RULES, now_ms=NOW, jitter=0.0, was_refused=was_refused)


def published(told: PublishVerdict, *, tries: int = 1, moves: Sequence[HistoryEntry] = ()) -> PublishDecision:
    before = deferred(moves, since_ms=NOW)
    return after_publish(told, tries=tries, losses=0, before=before, rules=RULES, now_ms=NOW, jitter=0.0)


@pytest.mark.field_report("DMN-003")
def test_a_credential_that_is_refused_is_read_again_once_and_then_waits_for_a_person() -> None:
    told = words.result(Outcome.CREDENTIAL, code=CODE, hint="sign in anew")
    reason = "the credential is read again, and tried once more: it ended as credential"
    assert decided(told) == Release(NOW + 15_000, reason, "sign in anew")
    again = decided(told, was_refused=True)
    assert again == Park(WaitingFor.CREDENTIAL, "it ended as credential", "sign in anew")


@pytest.mark.parametrize("code", ["agent-billing", "git-host-key"])
def test_where_no_other_credential_would_help_it_waits_for_a_person_at_once(code: str) -> None:
    decision = decided(words.result(Outcome.CREDENTIAL, code=code))
    assert decision == Park(WaitingFor.CREDENTIAL, "it ended as credential", "")
    assert not decide.production(words.result(Outcome.CREDENTIAL, code=code)).may_be_renewed


def moved(trigger: Trigger, reason: str = "") -> HistoryEntry:
    return HistoryEntry(
        id=1,
        ticket_id="T-1",
        trigger=trigger,
        from_state=None,
        to_state=State.QUEUED,
        at_ms=1,
        by="daemon",
        run_id=None,
        reason=reason,
    )


AGAIN = moved(Trigger.RELEASE, f"{decide.RENEWED}: 401")
CLAIM = moved(Trigger.CLAIM)


@pytest.mark.parametrize(
    ("moves", "was_refused"),
    [
        ((), False),
        ((CLAIM, AGAIN, CLAIM), True),
        ((CLAIM, AGAIN, CLAIM, moved(Trigger.RELEASE, "its usage window is used up"), CLAIM), False),
        ((CLAIM, AGAIN, CLAIM, moved(Trigger.PARK), moved(Trigger.RESUME_RUN), CLAIM), False),
        ((CLAIM, AGAIN, CLAIM, moved(Trigger.FAIL), moved(Trigger.REQUEUE), CLAIM), False),
        ((CLAIM, moved(Trigger.PUBLISH_LATER, AGAIN.reason), CLAIM), False),
    ],
)
def test_only_the_try_before_this_one_counts_as_the_first(
    moves: tuple[HistoryEntry, ...], *, was_refused: bool
) -> None:
    assert decide.refused(moves, later=Trigger.RELEASE) is was_refused


@pytest.mark.field_report("DMN-003")
@pytest.mark.parametrize("code", ["forge-refused-credential", "remote-refused-credential"])
def test_a_token_that_is_refused_is_read_again_by_one_more_publisher(code: str) -> None:
    told = PublishVerdict(
        id="T-1-a1-00000000",
        ticket_id="T-1",
        run_id="T-1-a1-00000000",
        outcome=PublishOutcome.VERIFICATION_FAILED,
        code=code,
        message="said the publisher",
        waiting_for="credential",
        hint="store one",
        finished_ms=NOW,
    )
    decision = published(told)
    assert decision == PublishLater(NOW + 60_000, f"{decide.RENEWED}: said the publisher")
    moves = [moved(Trigger.PASS), moved(Trigger.PUBLISH_LATER, decision.reason)]
    again = published(told, tries=2, moves=moves)
    assert again == Park(WaitingFor.CREDENTIAL, "said the publisher", "store one")
    moves.append(moved(Trigger.RESUME_PUBLISH))
    assert isinstance(published(told, tries=3, moves=moves), PublishLater)
    moves[2:] = [moved(Trigger.PUBLISH_LATER, "the remote could not be reached")]
    assert isinstance(published(told, tries=3, moves=moves), PublishLater)


@pytest.fixture
def stage(tmp_path: Path) -> Iterator[Stage]:
    stage = Stage(tmp_path)
    config = stage.paths.config_file
    plain = '[agents.scripted]\nkind = "scripted"\n'
    config.write_text(config.read_text().replace(plain, f'{plain}env_pass = ["SCRIPTED_KEY"]\n'))
    stage.current.refresh()
    yield stage
    stage.store.close()


def refuse(stage: Stage, ticket_id: str) -> None:
    """Let a ticket's run end with a sign-in that its service does not take."""
    stage.hand_in(queue.result(stage.claim_of(ticket_id), Outcome.CREDENTIAL, code=CODE))


def agents_breaker(stage: Stage) -> tuple[str, int]:
    with stage.store.read() as conn:
        row = next(row for row in queries_host.breakers(conn) if row.scope == "agent:scripted")
    return row.state, row.cooldown_ms


def states(stage: Stage) -> list[State]:
    return [stage.state(f"T-{number}") for number in (1, 2, 3)]


@pytest.mark.covers("E02")
@pytest.mark.field_report("DMN-003")
def test_of_several_runs_whose_sign_in_is_refused_one_tries_the_new_one_before_the_others(
    stage: Stage, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = handed.file_beside(stage.paths.config_file)
    for name in ("SCRIPTED_KEY", "AUTOPILOT_HANDED"):
        monkeypatch.setenv(name, "")
        monkeypatch.delenv(name)
    monkeypatch.setenv("AUTOPILOT_SERVICE", "systemd")
    handed.write(file, {"SCRIPTED_KEY": "old"})
    handed.take_in(file)
    for repo in ("shop", "till", "shop"):
        queue.add(stage.store, repo=repo)
    writes.turn_on(stage.store, by="test")
    loop = Loop(stage.shop)
    loop.tick()
    assert states(stage) == [State.RUNNING, State.QUEUED, State.QUEUED]
    stage.clock.advance(2)
    loop.tick()
    assert states(stage) == [State.RUNNING, State.RUNNING, State.QUEUED]
    refuse(stage, "T-1")
    refuse(stage, "T-2")
    handed.write(file, {"SCRIPTED_KEY": "new"})
    loop.tick()
    assert states(stage) == [State.QUEUED] * 3
    assert agents_breaker(stage) == ("open", 15_000)
    assert "breaker-open" in stage.hold_names()
    stage.clock.advance(16)
    loop.tick()
    assert sorted(states(stage)) == [State.QUEUED, State.QUEUED, State.RUNNING]
    (trying,) = (f"T-{number}" for number in (1, 2, 3) if stage.state(f"T-{number}") is State.RUNNING)
    assert stage.supervisor.launches[-1].env["SCRIPTED_KEY"] == "new"
    stage.commit(trying)
    loop.tick()
    assert agents_breaker(stage)[0] == "closed"
    loop.tick()
    assert states(stage).count(State.RUNNING) == 1
    stage.clock.advance(2)
    loop.tick()
    assert states(stage).count(State.RUNNING) == 2


@pytest.mark.field_report("DMN-003")
def test_where_the_credential_is_still_refused_the_ticket_waits_and_the_agent_rests(stage: Stage) -> None:
    queue.add(stage.store)
    writes.turn_on(stage.store, by="test")
    loop = Loop(stage.shop)
    loop.tick()
    refuse(stage, "T-1")
    loop.tick()
    stage.clock.advance(16)
    loop.tick()
    refuse(stage, "T-1")
    loop.tick()
    ticket = queue.look(stage.store, "T-1")
    assert (ticket.state, ticket.waiting_for) == (State.PARKED, WaitingFor.CREDENTIAL)
    assert (ticket.attempts, ticket.releases, ticket.sessions) == (1, 1, 2)
    assert agents_breaker(stage) == ("open", 1_800_000)
