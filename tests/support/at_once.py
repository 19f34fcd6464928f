"""The pytest plugin that tells what failed when it fails: a run that is cut off must not take it along."""

from __future__ import annotations

import os

import pytest


def pytest_configure(config: pytest.Config) -> None:
    if not hasattr(config, "workerinput"):  # with xdist every report comes to the first process
        config.pluginmanager.register(AtOnce(config), "at-once")


class AtOnce:
    """Says the test and the line that failed; the whole story stands at the end, if there is one."""

    def __init__(self, config: pytest.Config) -> None:
        self._config = config

    @pytest.hookimpl(trylast=True)
    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if not report.failed:
            return
        reporter: pytest.TerminalReporter | None = self._config.pluginmanager.get_plugin("terminalreporter")
        if reporter is not None:
            reporter.ensure_newline()
            reporter.write_line(
                f"failed ({report.when}): {report.nodeid}{os.linesep}{_reason(report)}", red=True
            )


def _reason(report: pytest.TestReport) -> str:
    crash = getattr(report.longrepr, "reprcrash", None)
    if crash is None:
        return report.longreprtext[-500:]
    return f"    {crash.path}:{crash.lineno}: {crash.message.splitlines()[0] if crash.message else ''}"[:500]
