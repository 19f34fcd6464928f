"""Which of the tests' agents touch something that no sandbox shows, and so must work without one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from tests.support.agents import Agent

OPEN = {"kind": "none"}
"""The table `[sandbox]` for such an agent."""


def reaches_out(given: Agent | Sequence[Mapping[str, object]] | Mapping[str, object]) -> bool:
    """Tell whether it waits for a file of the test's, or writes one."""
    if isinstance(given, Agent):
        return given.takes_notes
    return not isinstance(given, Mapping) and any(map(_is_outside, given))


def _is_outside(step: Mapping[str, object]) -> bool:
    waited = str(step.get("wait_for_file", ""))
    left = step.get("spawn_grandchild")
    ticked = str(left.get("tick", "")) if isinstance(left, Mapping) else ""
    return waited.startswith("/") or ticked.startswith("/")
