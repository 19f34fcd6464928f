"""Units at the borders: money in integer micro-dollars, durations in seconds, times in UTC epoch ms.

Must not read a clock, a locale or the environment. Stdlib only: the command line imports this at start.
"""

from __future__ import annotations

import math
import re

TYPE_CHECKING = False  # not from `typing`: ADR 0072
if TYPE_CHECKING:
    from collections.abc import Mapping
    from datetime import tzinfo
    from decimal import Decimal

MICRO_PER_USD = 1_000_000
MS_PER_S = 1000
GIB = 1024**3
MAX_USD = 1_000_000_000
MAX_RUN_MICRO_USD = 1_000_000 * MICRO_PER_USD
"""Above this a run's spend is a fault of the teller; a few of such would overflow every sum they are in."""

MAX_DURATION_S = 100 * 365 * 86_400
"""A moment that far ahead can still be written as a date and kept in the database."""

_ISO_UTC = r"\b\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z\b"
_DURATION_PART = r"(\d+(?:\.\d+)?)(ms|s|m|h|d)"
_SHOWN_MICRO_USD = 100
_MINUTE_S = 60
_HOUR_S = 3600
_DAY_S = 86_400
_SECONDS_PER: Mapping[str, float] = {"ms": 0.001, "s": 1, "m": _MINUTE_S, "h": _HOUR_S, "d": _DAY_S}


def micro_usd(dollars: Decimal | float | str) -> int:
    """Turn dollars into micro-dollars, rounding up so that a cost is never understated.

    Args:
        dollars: an amount in US dollars.

    Returns:
        The amount in millionths of a dollar.

    Raises:
        ValueError: the amount is not a finite, non-negative number of at most a billion.
    """
    from decimal import ROUND_CEILING, Decimal, InvalidOperation  # noqa: PLC0415 - ADR 0072

    try:
        amount = Decimal(str(dollars))
    except InvalidOperation as exc:
        msg = f"not an amount of dollars: {dollars!r}"
        raise ValueError(msg) from exc
    if not amount.is_finite() or not 0 <= amount <= MAX_USD:
        msg = f"an amount of dollars must be finite, not negative and no fantasy: {dollars!r}"
        raise ValueError(msg)
    return int((amount * MICRO_PER_USD).to_integral_value(rounding=ROUND_CEILING))


def format_usd(cost_micro_usd: int) -> str:
    """Show micro-dollars with two to four decimals: `$2.00`, `$0.018`; never nothing for something."""
    shown, rest = divmod(cost_micro_usd, _SHOWN_MICRO_USD)
    shown += 2 * rest + shown % 2 > _SHOWN_MICRO_USD  # half to even
    if cost_micro_usd and not shown:
        return "<$0.0001"
    whole, decimals = divmod(shown, MICRO_PER_USD // _SHOWN_MICRO_USD)
    return f"${whole}.{f'{decimals:04d}'.rstrip('0').ljust(2, '0')}"


def parse_duration_s(text: str) -> float:
    """Read a duration such as `90s`, `10m`, `1h30m` or `2d`.

    Returns:
        Seconds.

    Raises:
        ValueError: the text is not a duration, or one without an end.
    """
    compact = text.strip().lower().replace(" ", "")
    parts: list[tuple[str, str]] = re.findall(_DURATION_PART, compact)
    if not parts or "".join(number + unit for number, unit in parts) != compact:
        msg = f"not a duration: {text!r} (write it like 90s, 10m, 1h30m or 2d)"
        raise ValueError(msg)
    duration_s = math.fsum(float(number) * _SECONDS_PER[unit] for number, unit in parts)
    if not math.isfinite(duration_s) or duration_s > MAX_DURATION_S:
        msg = f"no clock can measure a duration like {text[:20]!r}…"
        raise ValueError(msg)
    return duration_s


def format_duration(duration_s: float) -> str:
    """Show seconds in at most two units: `45s`, `12m 05s`, `3h 20m`, `2d 4h`."""
    total = max(0, round(duration_s))
    if total < _MINUTE_S:
        return f"{total}s"
    if total < _HOUR_S:
        return f"{total // _MINUTE_S}m {total % _MINUTE_S:02d}s"
    if total < _DAY_S:
        return f"{total // _HOUR_S}h {total % _HOUR_S // _MINUTE_S:02d}m"
    return f"{total // _DAY_S}d {total % _DAY_S // _HOUR_S}h"


def iso_utc(epoch_ms: int) -> str:
    """Show UTC epoch milliseconds as RFC 3339 with millisecond precision and a `Z`."""
    from datetime import UTC, datetime, timedelta  # noqa: PLC0415 - ADR 0072

    moment = datetime(1970, 1, 1, tzinfo=UTC) + timedelta(milliseconds=epoch_ms)
    return moment.isoformat(timespec="milliseconds").replace("+00:00", "Z")


def local_time(epoch_ms: int, zone: tzinfo | None = None) -> str:
    """Show UTC epoch milliseconds as the clock on the wall shows them, to the minute, with its zone.

    Args:
        epoch_ms: the moment.
        zone: whose clock; by default this process's.
    """
    from datetime import UTC, datetime  # noqa: PLC0415 - ADR 0072

    return f"{datetime.fromtimestamp(epoch_ms / MS_PER_S, tz=UTC).astimezone(zone):%Y-%m-%d %H:%M %Z}"


def in_local_time(text: str, zone: tzinfo | None = None) -> str:
    """Show each time that `iso_utc` wrote into a text as the clock on the wall shows it, with its zone.

    What is kept is in UTC; what a person reads stands beside other times of theirs.

    Args:
        text: anything; a time that no clock can show stays as it is.
        zone: whose clock; by default this process's.
    """

    def shown(match: re.Match[str]) -> str:
        try:
            return local_time(parse_iso_ms(match.group()), zone)
        except (ValueError, OverflowError, OSError):
            return match.group()

    return re.sub(_ISO_UTC, shown, text)


def parse_iso_ms(text: str) -> int:
    """Read an RFC 3339 time with an offset.

    Returns:
        UTC epoch milliseconds.

    Raises:
        ValueError: the text is no time, or has no offset and so could mean two instants.
    """
    from datetime import UTC, datetime, timedelta  # noqa: PLC0415 - ADR 0072

    moment = datetime.fromisoformat(text.strip())
    if moment.tzinfo is None:
        msg = f"a time needs its offset: {text!r} (write 2026-01-31T22:00:00+01:00, or end it with Z)"
        raise ValueError(msg)
    return round((moment - datetime(1970, 1, 1, tzinfo=UTC)) / timedelta(milliseconds=1))
