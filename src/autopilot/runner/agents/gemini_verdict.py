"""Decides what the end of a Gemini CLI process means.

Must not trust one sign alone: ended by TERM it ends in 0, without a result. The matrix is in
docs/agents/gemini.md.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from autopilot.config.plain import one_line
from autopilot.runner.agents.complaint import Row, complaint
from autopilot.runner.agents.ends import (
    ERROR,
    RATE_LIMITED,
    SERVICE_DOWN,
    Found,
    Judged,
    finished,
    no_such_model,
    not_signed_in,
    unreachable,
    without_result,
)
from autopilot.runner.agents.numbers import mapping, text
from autopilot.runner.agents.refused_host import refused_by_us

if TYPE_CHECKING:
    from collections.abc import Mapping

    from autopilot.runner.agents.adapter import Ending
    from autopilot.runner.agents.framing import JsonLines

_SIGN_IN = "set GEMINI_API_KEY where the daemon is started; runs see no ~/.gemini"
# Its exit codes are not of use here: that of a status of the service is cut to a byte. 41: no way to sign in.
_NO_SIGN_IN = 41
# First match wins. Source: recorded streams; docs/agents/gemini.md.
_WORDS: tuple[Row, ...] = (
    (
        re.compile(r"api key not valid|unauthenticated|permission_denied|\"code\":40[13]"),
        not_signed_in(_SIGN_IN),
    ),
    (re.compile(r"models/.{0,80}not found"), no_such_model()),
    (
        re.compile(r"exceeded your current quota|exhausted your (daily )?quota|resource_exhausted"),
        RATE_LIMITED,
    ),
    (re.compile(r"\"code\":5\d\d|internal error|overloaded|unavailable"), SERVICE_DOWN),
    (
        re.compile(r"fetch failed|terminated|econn|socket|premature|incomplete json|stream ended"),
        unreachable(),
    ),
)


def judge(result: Mapping[str, Any] | None, lines: JsonLines, ending: Ending) -> Judged:
    """Say what its end means.

    Args:
        result: the last line of its stream; None: there was none.
        lines: what came of it.
        ending: how its process ended.
    """
    told = result or {}
    if told.get("status") == "success":
        return finished(ending)
    words = text(mapping(told.get("error")).get("message"))
    said = one_line(words) or one_line(ending.tail) or "it said nothing"
    found = _of_words(words) if words else _without_words(told, lines, ending)
    return found.told(f"Gemini CLI ended ({ending}): {said}")


def _of_words(words: str) -> Found:
    return refused_by_us(words) or complaint(words, _WORDS) or ERROR


def _without_words(told: Mapping[str, Any], lines: JsonLines, ending: Ending) -> Found:
    if ending.code == _NO_SIGN_IN:
        return not_signed_in(_SIGN_IN)
    if told:
        return ERROR
    return without_result(lines, ending, install="install it: npm install -g @google/gemini-cli")
