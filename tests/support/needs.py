"""Programs that a test cannot do without: `@pytest.mark.needs(binary="node", apt="nodejs")`.

Of a package that has no program, a file is named by its path. Missing on a developer's
machine, the test is skipped and the summary names the command that brings the package.
With CI set, it fails: there `.ci/run` installs what `.ci/apt.txt` lists.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Generator
from pathlib import Path
from typing import NamedTuple

import pytest

from tests.support.tree import ROOT

PACKAGES = ROOT / ".ci" / "apt.txt"
_PROPERTY = "needs-apt"


class Need(NamedTuple):
    """One program and the Debian package that has it."""

    binary: str
    apt: str


def needs_of(item: pytest.Item) -> list[Need]:
    """The item's `needs` marks; TypeError when a mark lacks one of the two names."""
    return [Need(*mark.args, **mark.kwargs) for mark in item.iter_markers("needs")]


def installed_by_ci() -> set[Need]:
    """The programs that CI makes sure of."""
    lines = PACKAGES.read_text(encoding="utf-8").splitlines()
    pairs = [line.split() for line in lines if line.strip() and not line.startswith("#")]
    return {Need(binary=program, apt=package) for package, program in pairs}


@pytest.hookimpl(wrapper=True)
def pytest_make_collect_report(
    collector: pytest.Collector,
) -> Generator[None, pytest.CollectReport, pytest.CollectReport]:
    """A program that CI would not make sure of is a collection error."""
    report = yield
    for item in report.result or []:
        wanted = needs_of(item) if isinstance(item, pytest.Item) else []
        unlisted = set(wanted) - installed_by_ci() if wanted else set()
        if unlisted:
            lines = ", ".join(sorted(f"{need.apt} {need.binary}" for need in unlisted))
            report.outcome = "failed"
            report.longrepr = f"{item.nodeid}: not in .ci/apt.txt: {lines}"
            report.result = []
            break
    return report


def pytest_runtest_setup(item: pytest.Item) -> None:
    for need in needs_of(item):
        if not is_here(need.binary):
            reason = f"needs {need.binary}: apt-get install {need.apt}"
            if os.environ.get("CI") == "true":
                pytest.fail(reason, pytrace=False)
            item.user_properties.append((_PROPERTY, need.apt))
            pytest.skip(reason)


def is_here(binary: str) -> bool:
    """Whether a program can be started by this name, or a file lies at this path."""
    return shutil.which(binary) is not None or (Path(binary).is_absolute() and Path(binary).is_file())


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    skipped = terminalreporter.stats.get("skipped", [])
    packages = {
        str(value)
        for report in skipped
        for name, value in getattr(report, "user_properties", ())
        if name == _PROPERTY
    }
    if packages:
        terminalreporter.section("missing system packages")
        terminalreporter.line(f"{len(skipped)} tests were skipped. To run those that lack a program:")
        terminalreporter.line(f"    apt-get install --yes {' '.join(sorted(packages))}")
