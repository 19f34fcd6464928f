"""Reads the summary that a test program prints at its end, to hold it against the report.

Must never turn a missing summary into counts: None means that the program did not get to its end.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

# Each is read once from its first byte on: a test may print a megabyte without a line end.
_PYTEST_TIME = re.compile(rb" in [\d.:]+ ?s?\b")
_PYTEST_SAYS = re.compile(rb"\d [a-z]|no tests ran")
_PYTEST_COUNT = re.compile(rb"(?<!\d)(\d{1,9}) (passed|failed|errors?|xpassed)\b")
_OWN_LINE = re.compile(rb"^autopilot: (\d{1,9}) executed, (\d{1,9}) red\s*$", re.MULTILINE)
_NODE_COUNT = re.compile(rb"^(?:\xe2\x84\xb9|#) (tests|pass|fail|cancelled) (\d{1,9})\s*$", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Summary:
    """Counts as printed. Not exact: it also counts what holds other tests, so it may exceed the report."""

    red: int
    executed: int
    is_exact: bool = True

    def agrees_with(self, executed: int) -> bool:
        """Tell whether a report that shows so many executed tests, none of them red, says the same."""
        return not self.red and (executed == self.executed if self.is_exact else executed <= self.executed)


def pytest_summary(log: bytes) -> Summary | None:
    """Read the last line of the kind `2 failed, 3 passed in 0.12s`."""
    said = next(filter(None, map(_said_by_pytest, reversed(log.split(b"\n")))), None)
    if said is None:
        return None
    counts = {name.rstrip(b"s"): int(number) for number, name in _PYTEST_COUNT.findall(said)}
    red = counts.get(b"failed", 0) + counts.get(b"error", 0)
    return Summary(red=red, executed=red + counts.get(b"passed", 0) + counts.get(b"xpassed", 0))


def _said_by_pytest(line: bytes) -> bytes | None:
    """Give what a summary says before the time that it took; None: the line is none."""
    ends = [match.start() for match in _PYTEST_TIME.finditer(line)]
    said = line[: ends[-1]] if ends else b""
    return said if _PYTEST_SAYS.search(said) else None


def unittest_summary(log: bytes) -> Summary | None:
    """Read the last line of our own unittest reporter: `autopilot: 5 executed, 0 red`."""
    lines = _OWN_LINE.findall(log)
    return Summary(red=int(lines[-1][1]), executed=int(lines[-1][0])) if lines else None


def node_summary(log: bytes) -> Summary | None:
    """Read the last `tests 5`, `pass`, `fail` and `cancelled` lines of node's spec or tap reporter."""
    counts = {name: int(number) for name, number in _NODE_COUNT.findall(log)}
    if not {b"tests", b"pass", b"fail"} <= counts.keys():
        return None
    red = counts[b"fail"] + counts.get(b"cancelled", 0)
    return Summary(red=red, executed=counts[b"pass"] + red, is_exact=False)
