"""The real daemon lets the digest and a draft's report out through a real publisher, each once."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path

import pytest

from autopilot.config.clock import SystemClock
from autopilot.config.secrets import variable_for
from autopilot.daemon.store import writes
from autopilot.daemon.store.unit import in_one
from autopilot.schemas.events import Event
from tests.support import queue
from tests.support.person import Person
from tests.support.receiver import PATH, Receiver
from tests.support.wait import wait_until

Make = Callable[..., Person]
TEAM = {"kind": "webhook", "credential": "team-hook", "format": "plain", "limit_s": 30}
DAY_MS = 24 * 3_600_000


@pytest.fixture
def receiver() -> Iterator[Receiver]:
    with Receiver() as receiver:
        yield receiver


@pytest.fixture
def make(tmp_path: Path, receiver: Receiver) -> Iterator[Make]:
    people: list[Person] = []

    def one(**settings: object) -> Person:
        channels = {"report_channels": ["team"], "channels": {"team": TEAM}, "output_language": "de"}
        env = {variable_for("team-hook"): receiver.address}
        person = Person(tmp_path / "person", agents={"good": []}, env=env, **channels, **settings)  # type: ignore[arg-type]
        people.append(person)
        person.paths.ensure()
        with closing(queue.new_store(person.paths.state, SystemClock())) as store:
            queue.publish(store, queue.commit(store, queue.add(store, "Say it", agent="good")))
            then_ms = store.clock.now_ms() - 2 * DAY_MS
            in_one(store, lambda unit: writes.fire(unit, "digest 2020-01-01", then_ms))
        return person

    yield one
    for person in people:
        person.clean_up()


def undelivered(person: Person) -> list[tuple[str, str, str]]:
    return [(row["kind"], row["state"], row["code"]) for row in person.asks("status")["deliveries"]]


def ended(person: Person, number: int) -> Callable[[], bool]:
    """So many are neither waiting nor under way any more."""

    def look() -> bool:
        with closing(person.daemon.store()) as store, store.read() as conn:
            rows = conn.exec_driver_sql("SELECT count(*) FROM deliveries WHERE ended_ms IS NOT NULL")
            return bool(rows.scalar() == number)

    return look


@pytest.mark.slow
@pytest.mark.covers("G05", "G07")
def test_digest_and_draft_arrive_once_and_the_address_is_written_nowhere(
    make: Make, receiver: Receiver
) -> None:
    person = make(report_drafts=True)
    person.daemon.start()
    wait_until(ended(person, 2), 60, "both are sent")
    person.daemon.kill()
    person.daemon.start()
    person.daemon.wait_for_event(Event.DAEMON_READY)
    texts = sorted(call.text for call in receiver.calls)
    assert len(texts) == 2
    assert texts[0].startswith("autopilot: Bericht vom ")
    assert texts[1].startswith("autopilot: ein Entwurf ist offen für T-1 Say it\n")
    assert "https://forge.test/pr/1" in texts[1]
    assert undelivered(person) == []
    assert person.daemon.stop() == 0
    assert [file for file in person.files() if PATH.encode() in file.read_bytes()] == []


@pytest.mark.slow
def test_what_a_kill_cut_off_is_called_what_it_is_and_never_sent_again(
    make: Make, receiver: Receiver
) -> None:
    receiver.answers.append("hang")
    person = make()
    person.daemon.start()
    assert receiver.called.wait(60)
    person.daemon.kill()
    person.daemon.start()
    wait_until(ended(person, 1), 60, "it is judged")
    ((kind, state, code),) = undelivered(person)
    assert (kind, state) == ("digest", "unsure")
    assert code in {"interrupted", "stopped"}, "its publisher is ended first, and may have a last word"
    assert "may have been sent" in person.does("status")
    assert "may have been sent" in person.does("digest")
    assert person.daemon.stop() == 0
    assert len(receiver.calls) == 1


def test_a_receiver_that_is_away_is_tried_again_until_it_is_back(make: Make, receiver: Receiver) -> None:
    port = receiver.server_port
    receiver.close()
    person = make(backoff_s=2, backoff_cap_s=2)
    person.daemon.start()
    person.daemon.wait_for_event(Event.DELIVERY_POSTPONED, {"code": "not-connected"})
    assert [state for _, state, _ in undelivered(person)] in (["waiting"], ["sending"])
    with Receiver(port) as back:
        wait_until(ended(person, 1), 60, "it is sent")
        assert len(back.calls) == 1
    assert undelivered(person) == []
    assert person.daemon.stop() == 0
