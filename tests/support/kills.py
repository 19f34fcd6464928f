"""The pytest plugin that prints how often something of ours was killed, and how many power cuts.

A test notes what really happened with `record_property("killed runner", 12)`; the sum is shown.
"""

from __future__ import annotations

from collections import Counter

import pytest

COUNTED = ("killed ", "power cuts")


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Sum it up."""
    total: Counter[str] = Counter()
    for report in terminalreporter.stats.get("passed", []):
        for name, value in getattr(report, "user_properties", ()):
            if report.when == "call" and name.startswith(COUNTED) and isinstance(value, int):
                total[name] += value
    if total:
        kills = sum(number for name, number in total.items() if name.startswith("killed "))
        terminalreporter.section("crashes")
        terminalreporter.line(", ".join(f"{name}: {number}" for name, number in sorted(total.items())))
        terminalreporter.line(f"kills in all: {kills}")
