"""The pytest plugin that says at the end how many tests a shorter run left out."""

from __future__ import annotations

from typing import Final

import pytest

SHORTER: Final = {"not slow and not rare": ("slow", "rare"), "not rare": ("rare",)}
"""The expressions of `script/test`, and the marks of what each leaves out."""
_COUNT: Final = "autopilot_left_out"


def pytest_configure(config: pytest.Config) -> None:
    config.pluginmanager.register(LeftOut(config), "left-out")


class LeftOut:
    """Counts in the process that collects; with xdist each worker collects the same, and tells."""

    def __init__(self, config: pytest.Config) -> None:
        self._config = config
        self._marks = SHORTER.get(config.getoption("markexpr"), ())
        self._number = 0

    def pytest_deselected(self, items: list[pytest.Item]) -> None:
        self._number += sum(1 for item in items if any(map(item.get_closest_marker, self._marks)))

    def pytest_sessionfinish(self) -> None:
        output = getattr(self._config, "workeroutput", None)
        if output is not None:
            output[_COUNT] = self._number

    @pytest.hookimpl(optionalhook=True)
    def pytest_testnodedown(self, node: object) -> None:
        told = getattr(node, "workeroutput", None) or {}
        self._number = max(self._number, told.get(_COUNT, 0))

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        if self._number:
            terminalreporter.section("left out")
            terminalreporter.line(
                f"{self._number} {' and '.join(self._marks)} tests; "
                "the promises are proven with them alone: script/test --all"
            )
