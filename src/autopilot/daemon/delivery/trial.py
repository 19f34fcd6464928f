"""Sends one line through each channel that is in use, because a person asked for it.

Must not be part of what is looked at before a night: whoever reads the channel is told each time.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, assert_never

from autopilot.daemon.checkup.check import blocked, ok, warning
from autopilot.daemon.delivery import waiting
from autopilot.daemon.delivery.catalogue import catalogue
from autopilot.daemon.errand import Errand
from autopilot.daemon.question import GRACE_S, answer
from autopilot.schemas.checkup import Area, Check
from autopilot.schemas.delivery import DeliveryReport, DeliverySpec

if TYPE_CHECKING:
    from collections.abc import Iterator

    from autopilot.config.clock import Clock
    from autopilot.config.paths import Paths
    from autopilot.config.settings import Settings

_MARGIN_S = 10.0


def tried(settings: Settings, paths: Paths, clock: Clock) -> Iterator[Check]:
    """Try each channel of `report_channels`, one after the other."""
    if not settings.report_channels:
        yield ok("channels", "none: the digest stays on this machine")
    for name in settings.report_channels:
        line = _line(f"channel {name}", _sent(name, settings, paths, clock))
        yield line.model_copy(update={"area": Area.CREDENTIALS})


def _sent(name: str, settings: Settings, paths: Paths, clock: Clock) -> DeliveryReport:
    test_id, to = f"test-{name}", waiting.channel_spec(name, settings.channels[name])
    told = answer(
        "deliver",
        lambda report, workdir: DeliverySpec(
            id=test_id,
            report=report,
            workdir=workdir,
            mark=report.with_name(waiting.MARK_FILE),
            to=to,
            text=catalogue(settings.output_language).say("digest.test", channel=name),
            roots=waiting.roots(paths),
            kill_grace_s=GRACE_S,
            created_ms=clock.now_ms(),
        ),
        DeliveryReport,
        key=test_id,
        errand=Errand.to_channel(to),
        clock=clock,
        wall_s=to.limit_s + _MARGIN_S,
    )
    if not isinstance(told, str):
        return told
    what = f"{told}: it may have been sent"
    return DeliveryReport(id=test_id, outcome="unsure", message=what, finished_ms=clock.now_ms())


def _line(label: str, report: DeliveryReport) -> Check:
    match report.outcome:
        case "sent":
            return ok(label, "a test was sent")
        case "unsure":
            return warning(label, report.message, report.hint or "look whether it has arrived")
        case "refused" | "rejected" | "not-sent":
            return blocked(label, report.message, report.hint or "look at its [channels] table")
        case _:
            assert_never(report.outcome)
