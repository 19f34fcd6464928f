"""What is kept of the tools that an agent uses: their names while they are at work, and which it was refused.

Must not grow without end: an agent may talk for as long as its run lasts.
"""

from __future__ import annotations

import re

from autopilot.config.plain import one_line
from autopilot.runner.agents.numbers import text

MAX_DENIALS = 100
_MOST_AT_ONCE, _MAX_NAME_CHARS = 1000, 64
_WORD = re.compile(r"[A-Za-z]{1,20}")
"""Nearly every name; it has no power over a terminal, and is shorter than any token."""


def tool_name(told: object) -> str:
    """Give the name of a tool as it may be shown."""
    if isinstance(told, str) and _WORD.fullmatch(told):
        return told
    return one_line(text(told), max_chars=_MAX_NAME_CHARS)


class Denials:
    """The tools that the client itself has refused; what the guard has refused it tells itself."""

    def __init__(self) -> None:
        """Start with none."""
        self.told: list[str] = []

    def add(self, tool: str) -> None:
        """Take one more."""
        if len(self.told) < MAX_DENIALS:
            self.told.append(f"{tool}: not allowed")


class ToolNames:
    """What the tools are called that are at work, where their end tells the name of the use alone."""

    def __init__(self) -> None:
        """Start with none."""
        self._names: dict[str, str] = {}

    def begin(self, use: object, told: object) -> str:
        """Take a use that begins, and give the name of its tool."""
        name = tool_name(told)
        if len(self._names) < _MOST_AT_ONCE:
            self._names[text(use)] = name
        return name

    def end(self, use: object) -> str:
        """Give the name of the tool whose use is over."""
        return self._names.pop(text(use), "a tool")
