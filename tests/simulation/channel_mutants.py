"""Faults planted into what goes out; see `mutants.py`."""

from __future__ import annotations

from typing import Any

from autopilot.daemon.delivery import waiting
from autopilot.daemon.store import deliveries
from autopilot.publish import delivery
from tests.simulation.ends import Patch
from tests.simulation.mutants import Mutant


def mark_is_no_obstacle() -> tuple[Patch, ...]:
    """Who finds the mark of an earlier try sends all the same, and who is without a report tries again."""

    def write(path: Any, data: bytes) -> None:
        path.write_bytes(data)

    return ((delivery, "write_new", write), (waiting, "may_be_sent", lambda _: False))


def mark_is_not_asked() -> tuple[Patch, ...]:
    """Without a report it counts as not sent."""
    return ((waiting, "may_be_sent", lambda _: False),)


def doubt_is_tried_again() -> tuple[Patch, ...]:
    """What may have been sent waits for another try, and its mark is taken away."""
    end = deliveries.end

    def ended(store: Any, seen: Any, state: Any, **facts: Any) -> Any:
        if state != "unsure":
            return end(store, seen, state, **facts)
        return deliveries.put_off(store, seen, not_before_ms=0, code=facts["code"], reason=facts["reason"])

    return ((deliveries, "end", ended),)


OF_CHANNELS: dict[str, Mutant] = {
    each.__name__: each for each in (mark_is_no_obstacle, mark_is_not_asked, doubt_is_tried_again)
}
