"""Decides what the end of a Gemini CLI process means.

Must not trust one sign alone: ended by TERM it ends in 0, without a result. The matrix is in
docs/agents/gemini.md.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from autopilot.config.plain import one_line
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
from autopilot.runner.agents.status import sorted_out

if TYPE_CHECKING:
    from collections.abc import Mapping

    from autopilot.runner.agents.adapter import Ending
    from autopilot.runner.agents.complaint import Row
    from autopilot.runner.agents.framing import JsonLines

_SIGN_IN = "set GEMINI_API_KEY where the daemon is started; runs see no ~/.gemini"
# Its exit codes are not of use here: that of a status of the service is cut to a byte. 41: no way to sign in.
_NO_SIGN_IN = 41
_NO_KEY, _NO_MODEL = not_signed_in(_SIGN_IN), no_such_model()
# The service's own JSON; in what it quotes there, each mark before a quote sign keeps it apart.
_STATUS = re.compile(r"\[API Error: \{.*?\"code\"\s*:\s*(\d{3})\b", re.DOTALL)
# It answers 400 to a wrong key.
_OF_REQUEST: tuple[Row, ...] = ((re.compile(r"message\W{1,12}api key not valid"), _NO_KEY),)
# Where no status is told. First match wins. Source: recorded streams; docs/agents/gemini.md.
_WORDS: tuple[Row, ...] = (
    (re.compile(r"api key not valid|unauthenticated|permission_denied"), _NO_KEY),
    (re.compile(r"models/.{0,80}not found"), _NO_MODEL),
    (
        re.compile(r"exceeded your current quota|exhausted your (daily )?quota|resource_exhausted"),
        RATE_LIMITED,
    ),
    (re.compile(r"internal error|overloaded|unavailable"), SERVICE_DOWN),
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
    told = _STATUS.match(words)
    status = int(told[1]) if told else 0
    return refused_by_us(words, status) or sorted_out(
        status,
        words,
        _WORDS,
        of_request=_OF_REQUEST,
        no_sign_in=_NO_KEY,
        no_model=_NO_MODEL,
    )


def _without_words(told: Mapping[str, Any], lines: JsonLines, ending: Ending) -> Found:
    if ending.code == _NO_SIGN_IN:
        return _NO_KEY
    if told:
        return ERROR
    return without_result(lines, ending, install="install it: npm install -g @google/gemini-cli")
