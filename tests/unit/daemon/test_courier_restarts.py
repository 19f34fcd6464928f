"""What becomes of a delivery when the daemon dies or the clock is set."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest

from autopilot.daemon.delivery import waiting
from tests.support.couriers import Errands

Make = Callable[..., Errands]
HOUR_S = 3600


class TestRestart:
    def test_what_a_killed_daemon_was_sending_is_ended_first_and_judged_by_its_mark(
        self, make_errands: Make
    ) -> None:
        errands = make_errands()
        errands.morning()
        (spec,), (launch,) = errands.specs(), errands.supervisor.launches
        spec.mark.write_text("1-1\n")
        errands.restart()
        errands.loop.tick()
        assert errands.supervisor.swept == [launch.order.key]
        assert errands.states() == ["unsure"]
        assert not errands.supervisor.launches

    @pytest.mark.parametrize(("has_mark", "state"), [(True, "unsure"), (False, "failed")])
    def test_one_whose_channel_has_no_table_any_more_is_judged_by_its_mark_all_the_same(
        self, make_errands: Make, has_mark: bool, state: str
    ) -> None:
        errands = make_errands()
        errands.morning()
        if has_mark:
            errands.specs()[0].mark.write_text("1-1\n")
        errands.stage.paths.config_file.write_text("")
        errands.restart()
        errands.loop.tick()
        errands.stage.clock.advance(HOUR_S)
        errands.loop.tick()
        assert errands.states() == [state]
        assert not errands.supervisor.launches

    def test_its_report_counts_more_than_the_mark(self, make_errands: Make) -> None:
        errands = make_errands()
        errands.morning()
        (spec,) = errands.specs()
        spec.mark.write_text("1-1\n")
        report = f'{{"id": "{spec.id}", "outcome": "sent", "finished_ms": 1}}'
        spec.report.write_text(report)
        errands.restart()
        errands.loop.tick()
        assert errands.states() == ["sent"]

    def test_what_had_not_begun_to_send_is_sent_by_the_next_daemon(self, make_errands: Make) -> None:
        errands = make_errands()
        errands.morning()
        errands.restart()
        errands.loop.tick()
        errands.stage.clock.advance(HOUR_S)
        errands.loop.tick()
        errands.ends("sent")
        assert errands.states() == ["sent"]

    def test_where_the_machine_cannot_be_looked_at_it_waits(
        self, make_errands: Make, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        errands = make_errands()
        errands.morning()
        errands.restart()

        def fail(key: str, process: object) -> int:
            raise OSError("too many open files")

        monkeypatch.setattr(errands.supervisor, "sweep", fail)
        errands.loop.tick()
        assert errands.states() == ["sending"]
        monkeypatch.undo()
        errands.loop.tick()
        assert errands.states() == ["waiting"]

    def test_a_queue_that_forgot_it_finds_the_same_mark(self, make_errands: Make) -> None:
        errands = make_errands()
        errands.morning()
        (spec,), (sent,) = errands.specs(), errands.all()
        again = replace(sent, id=77, tries=9, created_ms=1)
        assert waiting.folder_of(errands.stage.paths, again) == spec.mark.parent
        others = (replace(sent, channel="desk"), replace(sent, subject="digest 2026-01-09"))
        assert spec.mark.parent not in [waiting.folder_of(errands.stage.paths, each) for each in others]
