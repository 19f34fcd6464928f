"""The pytest plugin that no test gets away from: each has a person's secrets, and leaves none anywhere.

For the time of each test they stand in our environment, from which whatever we start may have them. When it
is over, its temporary folder, what it printed and logged, taken by itself or not, each command line that it
started and this machine's are looked through.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Generator, Iterator, Mapping
from pathlib import Path
from typing import Final

import pytest
from _pytest.capture import CaptureResult

from tests.support import canary

# Who writes the word into a file of its own, for a search to find it.
SHOWN_BY: Final[Mapping[str, str]] = {
    "tests/integration/test_canary.py": "hides it in every way, to see it found",
    "tests/integration/test_report.py": "hides it wherever a report could find it",
    "tests/integration/test_report_broken.py": "as that one",
    "tests/unit/toolchain/test_planted.py": "plays tests that leak it",
}
# What our own Python tells of each program that it starts, and where in that its words are.
# Source: docs.python.org, Audit events table.
_WORDS: Final[Mapping[str, slice]] = {
    "subprocess.Popen": slice(0, 2),
    "os.exec": slice(0, 2),
    "os.posix_spawn": slice(0, 2),
    "os.spawn": slice(1, 3),
    "os.system": slice(0, 1),
}
_TAKEN: Final = pytest.StashKey[list[str]]()
_STARTED: Final = pytest.StashKey[list[str]]()


def pytest_configure(config: pytest.Config) -> None:
    """Have each start of a program told; a hook of this kind stays, so it is made once for a session."""
    started = config.stash[_STARTED] = []

    def told(event: str, given: tuple[object, ...]) -> None:
        if event in _WORDS and canary.holds(repr(given[_WORDS[event]])):
            started.append(event)

    sys.addaudithook(told)


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


@pytest.fixture
def capsys(capsys: pytest.CaptureFixture[str], request: pytest.FixtureRequest) -> pytest.CaptureFixture[str]:
    """What a test prints; what it takes of that is kept from the report, so it is looked at here."""
    return _overlooked(capsys, request)


@pytest.fixture
def capfd(capfd: pytest.CaptureFixture[str], request: pytest.FixtureRequest) -> pytest.CaptureFixture[str]:
    """As that one, of the programs that it starts too."""
    return _overlooked(capfd, request)


def _overlooked(
    capture: pytest.CaptureFixture[str], request: pytest.FixtureRequest
) -> pytest.CaptureFixture[str]:
    read, node = capture.readouterr, request.node
    taken: list[str] = []
    node.stash[_TAKEN] = taken

    def readouterr() -> CaptureResult[str]:
        given = read()
        taken.extend(given)
        return given

    capture.readouterr = readouterr  # type: ignore[method-assign]
    return capture


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """What was printed and logged is looked through with the report of its end, which has all of it."""
    report = yield
    started = item.config.stash[_STARTED]
    if report.when == "teardown" and report.passed and not shows(item):
        holders = [name for name, text in report.sections if canary.holds(text)]
        holders += ["what it took of that"] * any(map(canary.holds, item.stash.get(_TAKEN, ())))
        holders += [f"a command line, by {event}" for event in started]
        if holders:
            report.outcome = "failed"
            report.longrepr = f"a secret of the person's environment stands in: {holders}"
    if report.when == "teardown":
        started.clear()
    return report


def shows(item: pytest.Item) -> bool:
    """Tell whether the test is one of those that may show it."""
    return item.nodeid.partition("::")[0] in SHOWN_BY
