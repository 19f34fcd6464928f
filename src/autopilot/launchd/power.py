"""Where the machine's electricity comes from. Must not judge what follows from it."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Battery:
    """How full it is, in percent, and whether the machine is plugged in; None where it does not say."""

    percent: float
    is_on_mains: bool | None


def battery() -> Battery | None:
    """Look at the battery; None where there is none, or nothing tells: a kernel may know of no supply."""
    import psutil  # noqa: PLC0415 - only where somebody wants to know: it costs a run's start

    try:
        seen = psutil.sensors_battery()
    except (OSError, ValueError, NotImplementedError, AttributeError):  # not built for every system
        return None
    return None if seen is None else Battery(float(seen.percent), seen.power_plugged)


def is_on_mains() -> bool | None:
    """Ask whether it is plugged in; None where it has no battery, or does not say."""
    seen = battery()
    return None if seen is None else seen.is_on_mains
