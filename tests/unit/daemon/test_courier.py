"""The digest and reports of drafts go out once, and whatever becomes of them holds nothing up."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from autopilot.config.proc import SpawnError
from autopilot.daemon import transitions_publish
from autopilot.daemon.delivery.rounds import MOST_TRIES
from autopilot.daemon.nightly import write_digest_if_due
from autopilot.daemon.store import queries_runs, steps, writes
from autopilot.daemon.trouble import Trouble
from autopilot.schemas.delivery import ChannelSpec
from autopilot.schemas.machine import State
from autopilot.schemas.publication import PublishOutcome
from tests.support import queue, words
from tests.support.couriers import KILLED, Errands
from tests.support.shop import Stage

Make = Callable[..., Errands]
HOUR_S = 3600


def published(stage: Stage) -> str:
    return queue.publish(stage.store, queue.commit(stage.store, queue.add(stage.store, "Say it"))).id


class TestDigest:
    @pytest.mark.covers("G05")
    def test_it_goes_out_once_it_is_written_through_each_channel_that_is_named(
        self, make_errands: Make
    ) -> None:
        errands = make_errands('report_channels = ["team", "desk"]\n')
        assert not errands.supervisor.launches, "the first daemon of all had no night"
        errands.morning()
        team, desk = errands.specs()
        assert isinstance(team.to, ChannelSpec)
        assert isinstance(desk.to, ChannelSpec)
        assert (team.to.kind, team.to.credential) == ("webhook", "team-hook")
        assert (desk.to.kind, desk.to.argv) == ("command", ("mail", "pat"))
        assert team.text == desk.text
        assert team.text.startswith("autopilot: digest of 2026-01-0")
        assert str(errands.stage.paths.state) in team.roots
        for launch in errands.supervisor.launches:
            assert launch.argv[-3:-1] == ("autopilot.publish", "deliver")
        errands.ends("sent", nth=0)
        errands.ends("sent", nth=1)
        assert errands.states() == ["sent", "sent"]
        for _ in range(3):
            errands.loop.tick()
        assert len(errands.supervisor.launches) == 2
        errands.morning()
        assert len(errands.supervisor.launches) == 4

    def test_without_a_channel_nothing_is_started_and_nothing_is_kept(self, make_errands: Make) -> None:
        errands = make_errands("")
        errands.morning()
        assert list(errands.stage.paths.digests.glob("*.md"))
        assert not errands.supervisor.launches
        assert errands.all() == []

    def test_it_says_too_that_nothing_moves_since_the_daemons_ticks_fail(self, make_errands: Make) -> None:
        errands = make_errands('report_channels = ["team"]\n')
        errands.stage.clock.advance(24 * HOUR_S)
        trouble = Trouble(errands.stage.clock.now_ms(), 3, "the queue cannot be read", "mend it")
        write_digest_if_due(errands.stage.shop, trouble=lambda: trouble)
        (text,) = (one.text for one in errands.all())
        assert "the queue cannot be read" in text

    @pytest.mark.covers("G10")
    @pytest.mark.parametrize(
        ("language", "words"),
        [("de", "autopilot: Bericht vom"), ("tr", "özeti"), ("de-AT", "Bericht"), ("fi", "digest of")],
    )
    def test_it_is_written_in_the_operators_language(
        self, make_errands: Make, language: str, words: str
    ) -> None:
        errands = make_errands(f'report_channels = ["team"]\noutput_language = "{language}"\n')
        errands.morning()
        assert words in errands.specs()[0].text


@pytest.mark.covers("G07")
class TestDraft:
    CONFIG = 'report_channels = ["team"]\nreport_drafts = true\n'

    def test_each_is_told_once_after_it_was_opened(self, make_errands: Make) -> None:
        errands = make_errands(self.CONFIG)
        errands.loop.tick()
        assert errands.all() == []
        name = published(errands.stage)
        errands.loop.tick()
        (spec,) = errands.specs()
        assert spec.text.startswith(f"autopilot: a draft is open for {name} Say it\n")
        assert "https://forge.test/pr/1" in spec.text
        assert "Cost: $1.00" in spec.text
        assert "Gates: " in spec.text
        errands.ends("sent")
        errands.restart()
        for _ in range(3):
            errands.loop.tick()
        assert not errands.supervisor.launches
        assert [(one.kind, one.ticket, one.state) for one in errands.all()] == [("draft", name, "sent")]

    def test_by_default_none_is_told(self, make_errands: Make) -> None:
        errands = make_errands()
        published(errands.stage)
        errands.loop.tick()
        assert errands.all() == []

    def test_one_of_the_day_before_is_not_told_any_more(self, make_errands: Make) -> None:
        errands = make_errands(self.CONFIG)
        published(errands.stage)
        errands.stage.clock.advance(25 * HOUR_S)
        errands.courier(errands.stage.shop)
        assert errands.all() == []

    def test_a_branch_without_a_pull_request_is_none(self, make_errands: Make) -> None:
        errands = make_errands(self.CONFIG)
        stage = errands.stage
        ticket = queue.commit(stage.store, queue.add(stage.store, "Say it"))
        live = transitions_publish.begin_publish(stage.store, ticket, base="main", base_sha=words.BASE)
        queue.end_publish(stage.store, live, queue.verdict(live, PublishOutcome.PUSHED_AWAITING_PR))
        errands.loop.tick()
        assert errands.all() == []


class TestEnds:
    @pytest.mark.parametrize(
        ("outcome", "state"),
        [("sent", "sent"), ("refused", "refused"), ("rejected", "failed"), ("unsure", "unsure")],
    )
    def test_what_was_sent_or_may_have_been_is_never_sent_again(
        self, make_errands: Make, outcome: str, state: str
    ) -> None:
        errands = make_errands()
        errands.morning()
        errands.ends(outcome, code="a-code", message="why")
        errands.restart()
        errands.stage.clock.advance(HOUR_S)
        errands.loop.tick()
        assert not errands.supervisor.launches
        assert [(one.state, one.code, one.reason) for one in errands.all()] == [(state, "a-code", "why")]

    def test_what_was_certainly_not_sent_is_tried_again_and_given_up_by_name(
        self, make_errands: Make
    ) -> None:
        errands = make_errands()
        errands.morning()
        for _ in range(MOST_TRIES):
            errands.ends("not-sent", code="not-connected", message="no connection was made")
            errands.stage.clock.advance(0.5 * HOUR_S)
            errands.loop.tick()
        assert len(errands.supervisor.launches) == MOST_TRIES
        (one,) = errands.all()
        assert (one.state, one.code) == ("failed", "not-connected")
        assert one.reason == f"given up after {MOST_TRIES} tries: no connection was made"

    def test_between_two_tries_there_is_a_pause_and_the_loop_knows_its_end(self, make_errands: Make) -> None:
        errands = make_errands()
        errands.morning()
        errands.ends("not-sent", code="not-connected", message="x")
        (one,) = errands.all()
        assert one.state == "waiting"
        next_ms = errands.courier(errands.stage.shop)
        assert next_ms == one.not_before_ms
        assert 0 < one.not_before_ms - errands.stage.clock.now_ms() <= 60_000
        assert len(errands.supervisor.launches) == 1

    @pytest.mark.parametrize("set_s", [-20 * 3600, -600, 600])
    def test_a_clock_that_is_set_puts_off_nothing_that_waits_and_hurries_nothing(
        self, make_errands: Make, set_s: int
    ) -> None:
        errands = make_errands()
        errands.morning()
        errands.ends("not-sent", code="not-connected", message="x")

        def wait_ms() -> int:
            return errands.all()[-1].not_before_ms - errands.stage.shop.now_ms()

        before_ms = wait_ms()
        stage = errands.stage
        stage.clock.jump_wall(set_s)
        steps.record(stage.store, set_s * 1000, now_ms=stage.clock.now_ms())
        errands.loop.tick()
        assert errands.states() == ["waiting"]
        assert wait_ms() == before_ms
        assert len(errands.specs()) == 1

    @pytest.mark.parametrize("broken", ["", "{", '{"id": "9-9", "outcome": "sent", "finished_ms": 1}'])
    def test_a_publisher_without_a_word_of_its_own_is_judged_by_the_mark(
        self, make_errands: Make, broken: str
    ) -> None:
        errands = make_errands()
        errands.morning()
        (spec,) = errands.specs()
        if broken:
            spec.report.write_text(broken)
        spec.mark.write_text("1-1\n")
        errands.ends(ending=KILLED)
        (one,) = errands.all()
        assert (one.state, one.reason) == ("unsure", f"{KILLED.told}: it may have been sent")

    def test_without_a_mark_nothing_was_sent(self, make_errands: Make) -> None:
        errands = make_errands()
        errands.morning()
        errands.ends(ending=KILLED)
        assert errands.states() == ["waiting"]
        errands.stage.clock.advance(HOUR_S)
        errands.loop.tick()
        errands.ends("sent")
        assert errands.states() == ["sent"]

    def test_one_that_cannot_be_started_waits_and_the_tick_goes_on(self, make_errands: Make) -> None:
        errands = make_errands()
        errands.supervisor.fault = lambda _: SpawnError("spawn-failed", "no more processes")
        ticket = queue.add(errands.stage.store)
        errands.morning()
        assert errands.stage.state(ticket.id) is State.RUNNING
        (one,) = errands.all()
        assert (one.state, one.code) == ("waiting", "not-started")
        assert not errands.loop.complaints.troubles.now

    @pytest.mark.parametrize("config", ["", 'report_channels = ["desk"]\n'])
    def test_what_is_not_wanted_any_more_is_not_sent(self, make_errands: Make, config: str) -> None:
        errands = make_errands()
        errands.morning()
        errands.ends("not-sent", code="not-connected", message="x")
        file = errands.stage.paths.config_file
        file.write_text(file.read_text().replace('report_channels = ["team"]\n', config))
        errands.stage.clock.advance(HOUR_S)
        errands.loop.tick()
        assert len(errands.supervisor.launches) == 1
        assert [(one.state, one.code) for one in errands.all()] == [("failed", "not-wanted")]


def test_a_draft_that_was_merged_meanwhile_is_told_all_the_same(make_errands: Make) -> None:
    errands = make_errands(TestDraft.CONFIG)
    name = published(errands.stage)
    with errands.stage.store.read() as conn:
        (one,) = queries_runs.publications_of(conn, name)
    writes.record_pr_state(errands.stage.store, one.id, "merged", fence=one.fence)
    errands.loop.tick()
    assert len(errands.specs()) == 1
