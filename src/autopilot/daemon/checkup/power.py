"""What may put the machine to sleep tonight: its power, its lid, and whether a sleep lock is really held.

Must not change anything but for the moment in which it tries the lock. Source: logind.conf(5): closing the
lid suspends whatever an application asks for, unless LidSwitchIgnoreInhibited= says otherwise.
"""

from __future__ import annotations

import json
import secrets
import sys
import tempfile
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from autopilot.config import environ, proc
from autopilot.config.plain import one_line
from autopilot.daemon.checkup.check import blocked, ok, warning
from autopilot.launchd import awake
from autopilot.launchd import power as mains

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from autopilot.config.clock import Clock
    from autopilot.schemas.checkup import Check

_ASKED_S = 5.0
_LEAST_PERCENT = 20.0
_LIDS = Path("/proc/acpi/button/lid")
_LOGIND = ("org.freedesktop.login1", "/org/freedesktop/login1", "org.freedesktop.login1.Manager")
_LID_PROPERTIES = ("HandleLidSwitch", "HandleLidSwitchExternalPower")
_KEEP_OPEN = (
    'leave the lid open; or [awake] lid = "on-mains"; or set HandleLidSwitch=ignore and'
    " HandleLidSwitchExternalPower=ignore in /etc/systemd/logind.conf"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Power:
    """What the machine says of its power. None: it does not say."""

    is_on_mains: bool | None = None
    percent: float | None = None
    """Of its battery; None where it has none."""
    has_lid: bool = False
    lid_action: str | None = None
    """What the system does when the lid is closed as the machine stands now: suspend, ignore, …"""


def electricity() -> Power:
    """Ask the system where it comes from."""
    battery = mains.battery()
    if battery is None:
        return Power()
    return Power(is_on_mains=battery.is_on_mains, percent=battery.percent)


def facts(clock: Clock) -> Power:
    """Ask the system for all of it."""
    seen = electricity()
    has_battery = seen.percent is not None
    if not ((_LIDS.is_dir() and any(_LIDS.iterdir())) or (sys.platform == "darwin" and has_battery)):
        return seen
    action = lid_action(clock, is_on_mains=seen.is_on_mains is not False)
    return replace(seen, has_lid=True, lid_action=action)


def power(seen: Power) -> Check:
    """Judge where the electricity comes from."""
    if seen.percent is None:
        return ok("power", "no battery: it runs on mains")
    charge = f"battery {seen.percent:.0f} %"
    if seen.is_on_mains is not False:
        return ok("power", f"on mains, {charge}")
    if seen.percent < _LEAST_PERCENT:
        return blocked("power", f"on battery, {charge}: it does not last the night", "plug it in")
    return warning("power", f"on battery, {charge}: it may not last the night", "plug it in")


def lid(seen: Power, *, held_off: str = "never") -> Iterator[Check]:
    """Judge what closing the lid does; a plain sleep lock does not prevent that.

    Args:
        seen: the machine's power.
        held_off: when that is held off too, from on to off and beside runs: `never`, `on-mains` or `always`.
    """
    if not seen.has_lid:
        return
    if held_off == "always" or (held_off == "on-mains" and seen.is_on_mains is not False):
        yield ok("lid", "what closing it does is held off, where the system allows that")
        return
    if seen.lid_action == "ignore":
        yield ok("lid", "closing it does nothing")
        return
    does = seen.lid_action or "suspends, as a rule; this system does not say"
    yield warning("lid", f"closing it: {does}. No sleep lock prevents that", _KEEP_OPEN)


def sleep_lock(clock: Clock, *, platform: str = sys.platform) -> Check:
    """Try for a sleep lock, read back from the system that it is held, and give it back."""
    cure = "keep the machine awake yourself tonight"
    token = secrets.token_hex(4)
    with awake.hold(reason=f"autopilot looks whether it may keep this machine awake ({token})") as lock:
        if lock.kind == "none":
            return warning("sleep lock", f"{lock.detail} [{lock.warning}]", cure)
        listed = _listed(clock, platform)
        if listed is None:
            return ok("sleep lock", f"{lock.kind} gives it; what it holds cannot be read back here")
        if token in listed or (platform == "darwin" and "caffeinate" in listed):
            return ok("sleep lock", f"{lock.kind} gives it, and lists it")
        return warning("sleep lock", f"{lock.kind} seemed to give it, but the system does not list it", cure)


def _listed(clock: Clock, platform: str) -> str | None:
    """Ask the system who keeps it awake; None where it does not answer."""
    if platform == "darwin":
        return _said(("pmset", "-g", "assertions"), clock)
    return _said(("systemd-inhibit", "--list", "--no-pager", "--no-legend"), clock)


def lid_action(clock: Clock, *, is_on_mains: bool) -> str | None:
    """Ask logind; on mains the second property counts, where it is set."""
    told = [_property(name, clock) for name in _LID_PROPERTIES]
    battery, mains = told
    return (mains or battery) if is_on_mains else battery


def _property(name: str, clock: Clock) -> str | None:
    said = _said(("busctl", "--json=short", "--timeout=3", "get-property", *_LOGIND, name), clock)
    try:
        value = json.loads(said or "null")
    except ValueError:
        return None
    return str(value["data"]) if isinstance(value, dict) and value.get("data") else None


def _said(argv: Sequence[str], clock: Clock) -> str | None:
    ours = environ.current()
    bus = {name: value for name, value in ours.items() if name == "DBUS_SYSTEM_BUS_ADDRESS"}
    with tempfile.TemporaryDirectory(prefix="autopilot-asked-") as folder:
        output = Path(folder) / "output"
        ended = proc.run(
            argv,
            cwd=Path(folder),
            env={"PATH": environ.search_path(ours), "LANG": "C.UTF-8", "COLUMNS": "1000", **bus},
            output=output,
            clock=clock,
            wall_s=_ASKED_S,
            grace_s=1.0,
        )
        if not ended.ok:
            return None
        return one_line(output.read_bytes(), max_chars=100_000)
