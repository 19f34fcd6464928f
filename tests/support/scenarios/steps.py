"""The words of a scripted model: what it says, calls, costs, and how it fails.

A `Scenario` is played once per client session, one step per request; its last step
repeats. "{cwd}" in any text becomes the client's working directory.
"""

from dataclasses import dataclass, field, replace
from typing import Any


@dataclass(frozen=True, slots=True)
class Usage:
    """Tokens that one answer claims to have cost."""

    input: int = 1000
    output: int = 50
    cache_read: int = 0
    cache_write: int = 0


@dataclass(frozen=True, slots=True)
class ToolCall:
    """One tool that the model asks for."""

    name: str
    input: dict[str, Any]


@dataclass(frozen=True, slots=True)
class ApiError:
    """An error answer in the shape of the Messages API."""

    status: int
    kind: str
    message: str


@dataclass(frozen=True, slots=True)
class Step:
    """The answer to one request.

    `hang_s` waits before the first byte (ends early when the server closes); `cut`
    closes the connection in mid-stream.
    """

    text: str = ""
    tools: tuple[ToolCall, ...] = ()
    usage: Usage = field(default_factory=Usage)
    error: ApiError | None = None
    headers: dict[str, str] = field(default_factory=dict)
    hang_s: float = 0.0
    cut: bool = False
    model: str | None = None


@dataclass(frozen=True, slots=True)
class Scenario:
    """Steps for the sessions whose first prompt holds `when` (empty: for all)."""

    steps: tuple[Step, ...]
    when: str = ""

    def step(self, index: int) -> Step:
        """The n-th answer; the last one repeats."""
        return self.steps[min(index, len(self.steps) - 1)]

    def for_prompt(self, when: str) -> "Scenario":
        """The same steps, for one ticket among several."""
        return replace(self, when=when)

    def after(self, *first: Step) -> "Scenario":
        """The same steps, with some before them: an error that goes away."""
        return replace(self, steps=first + self.steps)
