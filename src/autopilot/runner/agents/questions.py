"""Finds the questions that an agent wrote into its final message.

Must not read anything but that message: a question in the middle of the work may have been answered there.
"""

from __future__ import annotations

import re

from autopilot.config.plain import one_line

QUESTION_PREFIX = "AUTOPILOT-QUESTION:"
MAX_QUESTIONS = 10
_MAX_QUESTION_CHARS = 2000
# Agents decorate: a list dash, a quote mark or bold stars may stand before the prefix.
_QUESTION = re.compile(rf"^(?:[^\S\n]|[>*_\-#`])*+{re.escape(QUESTION_PREFIX)}(.*)$", re.MULTILINE)


def questions_in(final_text: str) -> tuple[str, ...]:
    """Give each question once, in order, in one line."""
    found = (clean_question(match.group(1)) for match in _QUESTION.finditer(final_text))
    return tuple(dict.fromkeys(question for question in found if question))[:MAX_QUESTIONS]


def clean_question(text: str) -> str:
    """Make one readable line of a question."""
    return one_line(text.strip().strip("*_`").strip(), max_chars=_MAX_QUESTION_CHARS)
