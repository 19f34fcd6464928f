"""How a stream is played to an agent's adapter, and how its ends are written down. The rows: `played`."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from autopilot.runner.agents.adapter import Agent, AgentReport, Ending
from autopilot.runner.agents.events import AgentEvent
from autopilot.schemas.run import Outcome
from tests.support.captures import Capture

Said = tuple[Any, ...]
"""Events of a stream."""
Means = tuple[Outcome | None, str]
"""The outcome and the code that an end has."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Played:
    """One agent.

    `matrix`: what each recorded stream means, by its name and release. `last_words` puts a text into a stream
    that comes to a good end. `errors` are ends in which it complains, with the exit code; `ends` others
    without a result. `strange`: events of odd shapes. `flood`: more uses of tools, and refusals, than anybody
    wants to keep; of the refusals `denials_kept` are told.
    """

    kind: str
    new: Callable[[], Agent]
    matrix: dict[tuple[str, str], Means]
    last_words: Callable[[str], Said]
    errors: tuple[tuple[Said, int, Means], ...]
    ends: tuple[tuple[Said, int, Means], ...]
    strange: Said
    flood: Said
    denials_kept: int = 100

    @property
    def good_end(self) -> Said:
        """A stream that comes to its end with a word."""
        return self.last_words("Done.")

    def play(self, data: bytes | Said, code: int = 0, tail: str = "") -> tuple[AgentReport, list[AgentEvent]]:
        """Feed a stream in small pieces to a new adapter; a negative code is a signal."""
        raw = data if isinstance(data, bytes) else told(*data)
        agent = self.new()
        events = [each for start in range(0, len(raw), 97) for each in agent.feed(raw[start : start + 97])]
        ending = Ending(code, None, tail) if code >= 0 else Ending(None, -code, tail)
        return agent.finish(ending), events

    def replay(self, recorded: Capture) -> tuple[AgentReport, list[AgentEvent]]:
        """Play what was recorded."""
        return self.play(recorded.stdout, recorded.exit_code, recorded.stderr)


def told(*events: object) -> bytes:
    """Write events as lines of JSON."""
    return b"".join(json.dumps(each).encode() + b"\n" for each in events)
