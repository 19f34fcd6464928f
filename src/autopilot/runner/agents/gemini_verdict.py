"""Decides what the end of a Gemini CLI process means.

Must not trust one sign alone: ended by TERM it ends in 0, without a result. The matrix is in
docs/agents/gemini.md.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from autopilot.config.plain import one_line
from autopilot.runner.agents.complaint import Row, complaint
from autopilot.runner.agents.numbers import mapping, text
from autopilot.runner.agents.refused_host import refused_by_us
from autopilot.schemas.run import Outcome

if TYPE_CHECKING:
    from collections.abc import Mapping

    from autopilot.runner.agents.adapter import Ending

_SIGN_IN = "set GEMINI_API_KEY where the daemon is started; runs see no ~/.gemini"
_LOG = "the whole stream is in the agent's log in the run's folder"
# Its exit codes are not of use here: that of a status of the service is cut to a byte. 41: no way to sign in.
_NO_SIGN_IN = 41
# First match wins. Source: recorded streams; docs/agents/gemini.md.
_WORDS: tuple[Row, ...] = (
    (
        re.compile(r"api key not valid|unauthenticated|permission_denied|\"code\":40[13]"),
        *(Outcome.CREDENTIAL, "agent-not-authenticated", _SIGN_IN),
    ),
    (
        re.compile(r"models/.{0,80}not found"),
        *(Outcome.CONFIGURATION, "agent-model-unknown", "set `model` of the agent to one that there is"),
    ),
    (
        re.compile(r"exceeded your current quota|exhausted your (daily )?quota|resource_exhausted"),
        *(Outcome.AGENT_FAILED, "agent-rate-limited", "the service asks for fewer requests"),
    ),
    (
        re.compile(r"\"code\":5\d\d|internal error|overloaded|unavailable"),
        *(Outcome.AGENT_FAILED, "agent-service-down", "the service is overloaded or broken"),
    ),
    (
        re.compile(r"fetch failed|terminated|econn|socket|premature|incomplete json|stream ended"),
        *(
            Outcome.AGENT_FAILED,
            "agent-unreachable",
            "no whole answer; may it reach its model's host?",
        ),
    ),
)

Verdict = tuple[Outcome | None, str, str, str]
"""Outcome, code, message, hint."""


def judge(result: Mapping[str, Any] | None, ending: Ending) -> Verdict:
    """Say what its end means.

    Args:
        result: the last line of its stream; None: there was none.
        ending: how its process ended.
    """
    told = result or {}
    if told.get("status") == "success" and ending.is_clean:
        return None, "agent-finished", "the agent came to its end", ""
    complained = text(mapping(told.get("error")).get("message"))
    said = one_line(complained) or one_line(ending.tail) or "it said nothing"
    outcome, code, hint = _with_words(complained) if complained else _without(told, ending)
    return outcome, code, f"Gemini CLI ended ({ending}): {said}", hint


def _with_words(words: str) -> tuple[Outcome, str, str]:
    return refused_by_us(words) or complaint(words, _WORDS) or (Outcome.AGENT_FAILED, "agent-error", _LOG)


def _without(told: Mapping[str, Any], ending: Ending) -> tuple[Outcome, str, str]:
    if ending.is_not_found:
        return Outcome.AGENT_MISSING, "agent-missing", "install it: npm install -g @google/gemini-cli"
    if ending.code == _NO_SIGN_IN:
        return Outcome.CREDENTIAL, "agent-not-authenticated", _SIGN_IN
    if told or ending.is_clean:
        return Outcome.AGENT_FAILED, "agent-error" if told else "agent-no-result", _LOG
    hint = "run the same command by hand; the agent's stderr log in the run's folder has all it said"
    return Outcome.AGENT_FAILED, "agent-failed-unknown", hint
