"""The pytest plugin that no test gets away from: each has a person's secrets, and leaves none anywhere.

For the time of each test they stand in our environment, from which whatever we start may have them. When it
is over, its temporary folder, what it printed and logged and this machine's command lines are looked through.
"""

from __future__ import annotations

import os
from collections.abc import Generator, Iterator, Mapping
from pathlib import Path
from typing import Final

import pytest

from tests.support import canary

# Who writes the word into a file of its own, for a search to find it.
SHOWN_BY: Final[Mapping[str, str]] = {
    "tests/integration/test_canary.py": "hides it in every way, to see it found",
    "tests/integration/test_report.py": "hides it wherever a report could find it",
    "tests/integration/test_report_broken.py": "as that one",
    "tests/unit/toolchain/test_planted.py": "plays tests that leak it",
}


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol() -> Generator[None, object, object]:
    """Plant them, and put back what was there."""
    before = {name: os.environ.get(name) for name in canary.ENVIRONMENT}
    os.environ.update(canary.ENVIRONMENT)
    try:
        return (yield)
    finally:
        for name, value in before.items():
            os.environ.pop(name, None)
            if value is not None:
                os.environ[name] = value


@pytest.fixture
def tmp_path(tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[Path]:
    """The test's own folder; looked through when everything else of the test is over."""
    yield tmp_path
    if not shows(request.node):
        canary.assert_unseen(tmp_path)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """What was printed and logged is looked through with the report of its end, which has all of it."""
    report = yield
    if report.when == "teardown" and report.passed and not shows(item):
        holders = [name for name, text in report.sections if canary.holds(text)]
        if holders:
            report.outcome = "failed"
            report.longrepr = f"a secret of the person's environment stands in: {holders}"
    return report


def shows(item: pytest.Item) -> bool:
    """Tell whether the test is one of those that may show it."""
    return item.nodeid.partition("::")[0] in SHOWN_BY
