"""Lets one text out of this machine, through one channel, at most once.

The gate is asked first; then a mark is laid down that outlives us, and only then is anything sent. It is
taken away again where nothing was sent for certain. Must not send while the mark of an earlier try is there.
Source: docs/decisions/0166.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from autopilot.config.atomic import write_new
from autopilot.publish.channels.registry import is_there, prepared
from autopilot.publish.channels.sent import LOOK, Sent, sent
from autopilot.publish.facts import secrets_in
from autopilot.schemas import outbound
from autopilot.schemas.delivery import DeliveryReport

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from autopilot.config.clock import Clock
    from autopilot.schemas.delivery import DeliveryOutcome, DeliverySpec

MAX_TEXT_BYTES = 16 * 1024


def deliver(spec: DeliverySpec, *, clock: Clock, folder: Path) -> DeliveryReport:
    """Ask the gate, and send.

    Args:
        spec: what, and where to.
        clock: the time.
        folder: this delivery's own private folder.

    Raises:
        OSError: the mark can be neither made nor taken away.
    """
    text = outbound.contained(outbound.clean(spec.text, roots=spec.roots).text)
    if faults := tuple(dict.fromkeys(_faults(spec, text))):
        hint = "it is not sent; `autopilot digest` shows the whole on this machine"
        return _report(spec, Sent("refused", "outward-text", "; ".join(faults), hint), clock)
    act = prepared(spec, text, clock=clock, folder=folder)
    if isinstance(act, Sent):
        return _report(spec, act, clock)
    try:
        write_new(spec.mark, f"{spec.id}\n".encode())
    except FileExistsError:
        has_arrived = is_there(spec, clock=clock, folder=folder)
        return _report(spec, sent() if has_arrived else _interrupted(), clock)
    done = act()
    if done.outcome == "not-sent":
        spec.mark.unlink()
    return _report(spec, done, clock)


def stopped(spec: DeliverySpec, code: str, what: str, *, now_ms: int) -> DeliveryReport:
    """Say of one that did not come to its end what the mark says: nothing was sent, or nobody can tell."""
    may_be_sent = spec.mark.exists()
    told = f"{what}: it may have been sent" if may_be_sent else what
    outcome: DeliveryOutcome = "unsure" if may_be_sent else "not-sent"
    hint = LOOK if may_be_sent else "it is tried again"
    return DeliveryReport(id=spec.id, outcome=outcome, code=code, message=told, hint=hint, finished_ms=now_ms)


def _interrupted() -> Sent:
    """Say that an earlier try left its mark and no word."""
    return Sent("unsure", "interrupted", "an earlier try was cut off: it may have been sent", LOOK)


def _faults(spec: DeliverySpec, text: str) -> Iterator[str]:
    """Say why a text may not leave; it was made harmless before, as far as that goes."""
    yield from secrets_in({"the text": spec.text})
    yield from secrets_in({"the text": text})
    for fault in outbound.faults(text, roots=spec.roots):
        yield f"the text still holds: {fault}"
    if len(text.encode("utf-8", "surrogatepass")) > MAX_TEXT_BYTES:
        yield f"the text is longer than {MAX_TEXT_BYTES:,} bytes"
    if not text.strip():
        yield "there is no text"


def _report(spec: DeliverySpec, done: Sent, clock: Clock) -> DeliveryReport:
    return DeliveryReport(
        id=spec.id,
        outcome=done.outcome,
        code=done.code,
        message=done.message,
        hint=done.hint,
        finished_ms=clock.now_ms(),
    )
