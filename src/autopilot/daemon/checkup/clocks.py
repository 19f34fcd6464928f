"""The clock and the time zone: whether the hours that the operator wrote are the hours that will be meant.

Must not change anything. Source: tzset(3): a TZ that the system does not know means UTC, without a word.
"""

from __future__ import annotations

import re
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from autopilot.daemon import demand
from autopilot.daemon.checkup.check import blocked, ok, warning
from autopilot.schemas.units import MS_PER_S, format_duration, local_time

if TYPE_CHECKING:
    from collections.abc import Iterator

    from autopilot.daemon.checkup.scene import Scene
    from autopilot.schemas.checkup import Check

LOCALTIME = Path("/etc/localtime")
_POSIX = re.compile(r"([A-Za-z]{3,}|<[A-Za-z0-9+-]{3,}>)[+-]?\d{1,3}(:\d{2}){0,2}([A-Za-z<].*)?")
_SET = 'set [schedule] timezone = "Europe/Berlin", or whichever is yours'
_EARLIEST_MS = 1_767_225_600_000
"""The beginning of 2026: no clock of a machine that runs this shows less."""
_SOON_MS = 300 * MS_PER_S


def clock(scene: Scene) -> Check:
    """Look whether the clock can be right."""
    now_ms = scene.clock.now_ms()
    if now_ms < _EARLIEST_MS:
        return blocked(
            "clock", f"it shows {local_time(now_ms, UTC)}", "set it: sudo timedatectl set-ntp true"
        )
    try:
        written_ms = scene.paths.database.stat().st_mtime_ns // 1_000_000
    except OSError:
        written_ms = 0
    if written_ms > now_ms + _SOON_MS:
        what = (
            f"it shows {local_time(now_ms, UTC)}, and the queue was written at {local_time(written_ms, UTC)}"
        )
        return warning("clock", what, "if it was set back by mistake: sudo timedatectl set-ntp true")
    return ok("clock", local_time(now_ms, UTC))


def time_zone(scene: Scene, *, localtime: Path = LOCALTIME) -> Iterator[Check]:
    """Look in which zone the window and the digest are meant, and how long tonight's window is."""
    fault = "" if scene.settings.schedule.timezone else _fault(scene, localtime)
    if fault:
        hours = scene.settings.schedule.window
        what = f"{fault}; {hours or 'the digest'} would be meant in UTC"
        yield blocked("time zone", what, _SET) if hours else warning("time zone", what, _SET)
        return
    zone = demand.zone_of(scene.settings)
    now = local_time(scene.clock.now_ms(), zone)
    yield ok("time zone", f"{scene.settings.schedule.timezone or 'of this machine'}: it is {now}")
    yield from _window(scene, zone)


def _window(scene: Scene, zone: ZoneInfo | None) -> Iterator[Check]:
    window = scene.window()
    if window is None:
        when = "at any hour" if scene.until_ms is None else f"until {local_time(scene.until_ms, zone)}"
        yield ok("window", f"tickets are launched {when}")
        return
    opens_ms, closes_ms = window
    length = format_duration((closes_ms - opens_ms) / MS_PER_S)
    seen = f"from {local_time(opens_ms, zone)} to {local_time(closes_ms, zone)}, {length}"
    if _offset_s(opens_ms, zone) != _offset_s(closes_ms, zone):
        seen += "; the clocks change in it"
    if scene.until_ms is not None and scene.until_ms <= opens_ms:
        what = f"the switch turns off at {local_time(scene.until_ms, zone)}, before the window opens: {seen}"
        yield blocked("window", what, "autopilot on --now, or a later --until")
        return
    yield ok("window", seen)


def _fault(scene: Scene, localtime: Path) -> str:
    """Say what is wrong with the system's zone; empty when it is known."""
    given = scene.runner.environment.get("TZ")
    if given is not None:
        return "" if _is_known(given) else f"TZ={given!r} of {scene.runner.who} names no time zone"
    return "" if localtime.exists() else f"neither TZ nor {localtime} says in which time zone this machine is"


def _is_known(given: str) -> bool:
    name = given.removeprefix(":")
    if not name or _POSIX.fullmatch(name):
        return True
    if name.startswith("/"):
        return Path(name).is_file()
    try:
        ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError, OSError):
        return False
    return True


def _offset_s(epoch_ms: int, zone: ZoneInfo | None) -> float:
    offset = datetime.fromtimestamp(epoch_ms / MS_PER_S, tz=UTC).astimezone(zone).utcoffset()
    return 0.0 if offset is None else offset.total_seconds()
