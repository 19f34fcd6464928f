"""Reads JUnit XML that the code under test may have written: streaming, bounded, no entities.

Must not trust a count that the report states about itself, and must not build a tree in memory.
Source: docs/decisions/0031 (expat with document types refused, instead of another dependency).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING
from xml.parsers import expat

from autopilot.schemas.gate import TestCounts

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

MAX_FAILING_IDS = 200
MAX_ID_CHARS = 300

_CHUNK_BYTES = 64 * 1024
_MAX_DEPTH = 64
_MAX_DIGITS = 9
_ROOTS = ("testsuites", "testsuite")
_RED = ("failure", "error")


class ReportError(Exception):
    """The report cannot be believed; the text says why."""


@dataclass(frozen=True, slots=True)
class Report:
    """What a report says when its own test cases are counted."""

    passed: int = 0
    failed: int = 0
    errored: int = 0
    skipped: int = 0
    dropped: int = 0
    failing_ids: tuple[str, ...] = ()

    @property
    def red(self) -> int:
        """Count failures and errors."""
        return self.failed + self.errored

    @property
    def executed(self) -> int:
        """Count the leaf tests that ran to a verdict."""
        return self.passed + self.red

    def counts(self) -> TestCounts:
        """Give the counts as the ledger carries them."""
        return TestCounts(
            executed=self.executed,
            passed=self.passed,
            failed=self.failed,
            errored=self.errored,
            skipped=self.skipped,
            failing_ids=self.failing_ids,
        )


def merge(reports: Iterable[Report]) -> Report:
    """Add up the reports of one run."""
    whole = list(reports)
    return Report(
        passed=sum(report.passed for report in whole),
        failed=sum(report.failed for report in whole),
        errored=sum(report.errored for report in whole),
        skipped=sum(report.skipped for report in whole),
        dropped=sum(report.dropped for report in whole),
        failing_ids=tuple(test for report in whole for test in report.failing_ids)[:MAX_FAILING_IDS],
    )


def no_container(_name: str) -> bool:
    """Drop nothing: for reporters that list tests only."""
    return False


def parse_junit(content: bytes, *, is_container: Callable[[str], bool] = no_container) -> Report:
    """Count the test cases of one report.

    Args:
        content: the whole file; its reader has bounded the size.
        is_container: says of a passing case's name that it is a file rather than a test; those are dropped.

    Returns:
        Counts of leaf tests and the ids of the red ones.

    Raises:
        ReportError: it is empty, truncated, no JUnit XML, or declares a document type or an encoding that
            is not known.
    """
    reader = _Reader(is_container)
    parser = expat.ParserCreate()
    parser.StartElementHandler = reader.start
    parser.EndElementHandler = reader.end
    parser.StartDoctypeDeclHandler = reader.refuse_doctype
    try:
        for at in range(0, len(content), _CHUNK_BYTES):
            parser.Parse(content[at : at + _CHUNK_BYTES], False)  # noqa: FBT003 - expat's own signature
        parser.Parse(b"", True)  # noqa: FBT003 - as above
    except expat.ExpatError as exc:
        raise ReportError(f"it is not whole XML: {exc}") from exc
    except (LookupError, ValueError) as exc:  # the encoding that it names: expat asks Python for it
        raise ReportError(f"its encoding cannot be read: {exc}") from exc
    return reader.finish()


class _Case:
    """One `<testcase>` while it is read."""

    def __init__(self, attributes: dict[str, str]) -> None:
        self.name = attributes.get("name", "")
        self.classname = attributes.get("classname", "")
        self.marks: set[str] = set()

    @property
    def outcome(self) -> str:
        """Weigh the marks: red wins over skipped, except that a todo was never meant to pass."""
        for mark in ("todo", "error", "failure", "skipped"):
            if mark in self.marks:
                return mark
        return "passed"

    @property
    def id(self) -> str:
        """Name the test as the reporter did, bounded."""
        full = f"{self.classname}::{self.name}" if self.classname else self.name
        return full if len(full) <= MAX_ID_CHARS else full[: MAX_ID_CHARS - 1] + "…"


class _Reader:
    """Takes expat's events and counts."""

    def __init__(self, is_container: Callable[[str], bool]) -> None:
        self._is_container = is_container
        self._depth = 0
        self._case: _Case | None = None
        self._stated_red = 0
        self._dropped = 0
        self._failing_ids: list[str] = []
        self._counts = dict.fromkeys(("passed", "failure", "error", "skipped", "todo"), 0)

    def start(self, name: str, attributes: dict[str, str]) -> None:
        self._depth += 1
        if self._depth > _MAX_DEPTH:
            raise ReportError(f"elements are nested deeper than {_MAX_DEPTH}")
        if self._depth == 1 and name not in _ROOTS:
            raise ReportError(f"the root element is <{name[:40]}>, not <testsuites>")
        if name == "testsuite":
            self._stated_red += _number(attributes.get("failures")) + _number(attributes.get("errors"))
        elif name == "testcase":
            if self._case is not None:
                raise ReportError("a <testcase> stands inside another")
            self._case = _Case(attributes)
        elif self._case is not None and (name in _RED or name == "skipped"):
            self._case.marks.add("todo" if attributes.get("type") == "todo" else name)

    def end(self, name: str) -> None:
        self._depth -= 1
        if name != "testcase" or self._case is None:
            return
        case, self._case = self._case, None
        if case.outcome == "passed" and self._is_container(case.name):
            self._dropped += 1
            return
        self._counts[case.outcome] += 1
        if case.outcome in _RED and len(self._failing_ids) < MAX_FAILING_IDS:
            self._failing_ids.append(case.id)

    def refuse_doctype(self, *_: object) -> None:
        raise ReportError("it declares a document type")

    def finish(self) -> Report:
        report = Report(
            passed=self._counts["passed"],
            failed=self._counts["failure"],
            errored=self._counts["error"],
            skipped=self._counts["skipped"] + self._counts["todo"],
            dropped=self._dropped,
            failing_ids=tuple(self._failing_ids),
        )
        if self._stated_red and not report.red and not self._counts["todo"]:
            raise ReportError(f"it states {self._stated_red} failures but shows none")
        return report


def _number(text: str | None) -> int:
    is_count = text is not None and text.isascii() and text.isdigit() and len(text) <= _MAX_DIGITS
    return int(text or 0) if is_count else 0
