"""What did not go out, or may have, is named in the digest and in status, with its reason."""

from __future__ import annotations

from collections.abc import Callable

from autopilot.daemon import view
from autopilot.daemon.cli import status
from autopilot.daemon.digest import gather, render
from tests.support.couriers import Errands

Make = Callable[..., Errands]
HOUR_S = 3600


class TestTold:
    def test_digest_and_status_name_what_did_not_go_out_with_its_reason(self, make_errands: Make) -> None:
        errands = make_errands()
        errands.morning()
        errands.ends("unsure", code="no-answer", message="no usable answer came (ReadTimeout)")
        desk = errands.stage.desk()
        now_ms = errands.stage.clock.now_ms()
        night = gather.night(desk, since_ms=now_ms - 24 * HOUR_S * 1000)
        text = render.markdown(night)
        assert "## Not delivered" in text
        assert "digest through team may have been sent: no usable answer came" in text
        (told,) = render.as_json(night)["deliveries"]
        assert (told["state"], told["channel"]) == ("unsure", "team")
        shown = view.status(desk)
        assert [row["state"] for row in shown["deliveries"]] == ["unsure"]
        lines = "\n".join(status.lines(shown))
        assert "digest through team may have been sent" in lines
        errands.morning()
        assert "may have been sent" in errands.specs()[-1].text

    def test_what_was_sent_is_told_nowhere(self, make_errands: Make) -> None:
        errands = make_errands()
        errands.morning()
        errands.ends("sent")
        desk = errands.stage.desk()
        assert view.status(desk)["deliveries"] == []
        assert "Not delivered" not in render.markdown(gather.night(desk, since_ms=0))
