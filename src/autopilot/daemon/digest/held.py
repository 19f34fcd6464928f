"""What the digest says of holds that have ended: which, for how long, and what the cause was.

Must not read anything: all of it is in the night. Source: docs/decisions/0175.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from autopilot.config.plain import one_line
from autopilot.daemon.digest.machine import MARKDOWN_SPECIAL
from autopilot.schemas.units import MS_PER_S, format_duration, local_time

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from autopilot.daemon.digest.night import Night
    from autopilot.daemon.store.past_holds import PastHold

USUAL = frozenset({"outside-window", "switch-off", "slots-full", "repo-busy", "dependency", "not-before"})
"""Holds that an ordinary night has, and that no person could have done without: named, not told of."""
MOST = 20
_MAX_CHARS = 300


def merged(found: Iterable[PastHold], since_ms: int) -> tuple[PastHold, ...]:
    """Make one of what one hold left in a night, which begins at a moment; the longest comes first.

    Args:
        found: by their end, the earliest first.
        since_ms: UTC epoch ms; how long a hold stood is counted from there.
    """
    whole: dict[tuple[str, str], PastHold] = {}
    for each in found:
        start_ms = max(each.since_ms, min(since_ms, each.until_ms))
        held_ms = min(each.held_ms, each.until_ms - start_ms)
        before = whole.get((each.name, each.scope))
        if before is not None:
            start_ms, held_ms = min(before.since_ms, start_ms), before.held_ms + held_ms
        times = each.times + (before.times if before else 0)
        whole[each.name, each.scope] = replace(each, since_ms=start_ms, held_ms=held_ms, times=times)
    return tuple(sorted(whole.values(), key=lambda one: (-one.held_ms, one.name, one.scope)))


def untoward(night: Night) -> tuple[PastHold, ...]:
    """Give those that do not belong to an ordinary night."""
    return tuple(one for one in night.past_holds if one.name not in USUAL)


def lines(night: Night) -> Iterator[str]:
    """Give a line for each of these."""
    told = untoward(night)
    yield from (_line(one, night) for one in told[:MOST])
    if len(told) > MOST:
        yield f"and {len(told) - MOST} more: `autopilot digest --json`"


def usual(night: Night) -> str:
    """Name the others in one sentence, with a space before it; empty where there were none."""
    names = sorted({one.name for one in night.past_holds} & USUAL)
    return f" Held as on any night: {', '.join(names)}." if names else ""


def _line(one: PastHold, night: Night) -> str:
    scope = "" if one.scope == "host" else f" ({_plain(one.scope)})"
    often = f", {one.times} times" if one.times > 1 else ""
    span = f"{local_time(one.since_ms, night.zone)} to {local_time(one.until_ms, night.zone)}"
    long = format_duration(one.held_ms / MS_PER_S)
    return f"{_plain(one.name)}{scope}: {_plain(one.cause)}, for {long}{often}, {span} → {_plain(one.cure)}"


def _plain(text: str) -> str:
    return one_line(text, max_chars=_MAX_CHARS).translate(MARKDOWN_SPECIAL)
