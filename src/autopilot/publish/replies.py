"""What any server says beside what was asked for: how long to wait, and why not.

Must not put a server's words into an error: whoever does cleans them.
Source: GitHub, "Rate limits for the REST API" (retry-after, x-ratelimit-remaining, x-ratelimit-reset);
Atlassian, "Rate limiting" (Retry-After in seconds).
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import httpx

from autopilot.schemas.units import MS_PER_S

if TYPE_CHECKING:
    from collections.abc import Mapping

    from autopilot.config.clock import Clock

_LIMIT_S, _MOST_S = 60.0, 6 * 3600.0


def limit_s(response: httpx.Response, words: str, clock: Clock) -> float | None:
    """Give how many seconds to wait, or None when this is no rate limit.

    Args:
        response: the whole of it.
        words: the server's explanation: some limits are told by it alone.
        clock: the time, which a reset is a moment of.
    """
    if response.status_code not in {httpx.codes.FORBIDDEN, httpx.codes.TOO_MANY_REQUESTS}:
        return None
    headers = response.headers
    wait_s = _number(headers.get("retry-after"))
    if wait_s is None and headers.get("x-ratelimit-remaining") == "0":
        reset_s = _number(headers.get("x-ratelimit-reset"))
        wait_s = _LIMIT_S if reset_s is None else reset_s - clock.now_ms() / MS_PER_S
    if wait_s is None:
        is_limit = response.status_code == httpx.codes.TOO_MANY_REQUESTS
        return _LIMIT_S if is_limit or "rate limit" in words.casefold() else None
    return min(max(wait_s, 1.0), _MOST_S)


def explanation(response: httpx.Response) -> Mapping[str, Any] | None:
    """Give the object that a refusal carries; None where it carries none."""
    try:
        body = json.loads(response.content)
    except (ValueError, RecursionError):
        return None
    return body if isinstance(body, dict) else None


def _number(text: str | None) -> float | None:
    return float(text) if text and text.isascii() and text.strip().isdecimal() else None
