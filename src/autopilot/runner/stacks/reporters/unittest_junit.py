"""Runs unittest in the repository's own interpreter and writes JUnit XML at its very end.

Started as a file: `python unittest_junit.py REPORT [arguments of python -m unittest]`. Without arguments it
finds test files by itself. It must import nothing but the standard library, run on Python 3.8 and newer, and
leave no report when the process ends early: a missing report is how a killed run is known.
"""

from __future__ import annotations

import importlib
import importlib.util
import os
import re
import sys
import unittest
from pathlib import Path
from typing import TYPE_CHECKING, Any
from xml.sax.saxutils import quoteattr

if TYPE_CHECKING:
    from collections.abc import Iterator
    from types import ModuleType

SKIPPED_FOLDERS = frozenset({"node_modules", "venv", "env", "build", "dist", "site-packages", "__pycache__"})
TEST_FILE = re.compile(r"^(test.*|.*_test)\.py$")
UNWRITABLE = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
OUTCOMES = ("passed", "skipped", "failure", "error")


class RecordingResult(unittest.TextTestResult):
    """A text result that also remembers one outcome per test id; the worst one wins."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:  # noqa: ANN401 - handed on as they come
        super().__init__(*args, **kwargs)
        self.outcomes: dict[str, str] = {}

    def note(self, test: unittest.TestCase, outcome: str) -> None:
        """Keep the worse of the known and the new outcome."""
        known = self.outcomes.get(test.id(), OUTCOMES[0])
        self.outcomes[test.id()] = max(known, outcome, key=OUTCOMES.index)

    def startTest(self, test: Any) -> None:  # noqa: ANN401, N802 - unittest's signature, here and below
        self.note(test, "passed")
        super().startTest(test)

    def addError(self, test: Any, err: Any) -> None:  # noqa: ANN401, N802
        self.note(test, "error")
        super().addError(test, err)

    def addFailure(self, test: Any, err: Any) -> None:  # noqa: ANN401, N802
        self.note(test, "failure")
        super().addFailure(test, err)

    def addSkip(self, test: Any, reason: str) -> None:  # noqa: ANN401, N802
        self.note(test, "skipped")
        super().addSkip(test, reason)

    def addExpectedFailure(self, test: Any, err: Any) -> None:  # noqa: ANN401, N802
        self.note(test, "skipped")
        super().addExpectedFailure(test, err)

    def addUnexpectedSuccess(self, test: Any) -> None:  # noqa: ANN401, N802
        self.note(test, "failure")
        super().addUnexpectedSuccess(test)

    def addSubTest(self, test: Any, subtest: Any, err: Any) -> None:  # noqa: ANN401, N802
        if err is not None:
            self.note(test, "failure" if issubclass(err[0], test.failureException) else "error")
        super().addSubTest(test, subtest, err)


class RecordingRunner(unittest.TextTestRunner):
    """Prints like unittest and keeps the result."""

    resultclass = RecordingResult


class ImportFile(unittest.TestCase):
    """The import of one test file, as a test: it is a finding like any other when it fails."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        self.path = path
        self.suite: unittest.TestSuite | None = None
        self.is_retry = False

    def id(self) -> str:
        return f"import.{self.path.relative_to(Path.cwd()).with_suffix('').as_posix()}"

    def runTest(self) -> None:  # noqa: N802 - unittest's name
        self.suite = unittest.defaultTestLoader.loadTestsFromModule(load_module(self.path))
        if self.is_retry:
            self.fail("it could be imported only at the second try")


def load_module(path: Path) -> ModuleType:
    """Import a test file under its package name, or by its path when another file took that name."""
    folder, name = path.parent, path.stem
    while (folder / "__init__.py").is_file():
        folder, name = folder.parent, f"{folder.name}.{name}"
    if str(folder) not in sys.path:
        sys.path.insert(1, str(folder))
    module = importlib.import_module(name)
    if Path(module.__file__ or "").resolve() == path.resolve():
        return module
    spec = importlib.util.spec_from_file_location(re.sub(r"\W", "_", str(path.with_suffix(""))), path)
    if spec is None or spec.loader is None:
        raise ImportError(f"{path} cannot be imported")
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


def find_test_files(root: Path) -> Iterator[Path]:
    """List test files below `root` in a fixed order, without hidden, vendored or built folders."""
    for folder, folders, names in os.walk(root):
        folders[:] = sorted(name for name in folders if name not in SKIPPED_FOLDERS and name[0] != ".")
        yield from (Path(folder, name) for name in sorted(names) if TEST_FILE.match(name))


def load_own_suite(root: Path) -> unittest.TestSuite:
    """Load every test file; a failing import stays in the suite and fails again when it runs."""
    suite = unittest.TestSuite()
    for path in find_test_files(root):
        importer = ImportFile(path)
        importer.run(unittest.TestResult())
        suite.addTest(importer.suite or importer)
        importer.is_retry = True
    return suite


def write_report(path: Path, outcomes: dict[str, str]) -> None:
    """Write one case per test id: whole file first, then its name."""
    lines = ['<?xml version="1.0" encoding="utf-8"?>', "<testsuites><testsuite>"]
    for test_id, outcome in outcomes.items():
        classname, _, name = UNWRITABLE.sub("?", test_id).rpartition(".")
        inner = "" if outcome == "passed" else f"<{outcome}/>"
        lines.append(f"<testcase classname={quoteattr(classname)} name={quoteattr(name)}>{inner}</testcase>")
    lines.append("</testsuite></testsuites>")
    unfinished = Path(f"{path}.part")
    unfinished.write_text("\n".join(lines), encoding="utf-8")
    unfinished.replace(path)


def print_summary(outcomes: dict[str, str]) -> None:
    """Print the line that says the run came to its end."""
    executed = sum(outcome != "skipped" for outcome in outcomes.values())
    red = sum(outcome in {"failure", "error"} for outcome in outcomes.values())
    sys.stderr.write(f"autopilot: {executed} executed, {red} red\n")


def run(arguments: list[str], root: Path) -> RecordingResult:
    """Run what the arguments name, as `python -m unittest` would, or everything there is."""
    runner = RecordingRunner(verbosity=2)
    if not arguments:
        result: unittest.TestResult = runner.run(load_own_suite(root))
    else:
        argv = ["unittest", *arguments]
        result = unittest.main(module=None, argv=argv, testRunner=runner, exit=False).result
    assert isinstance(result, RecordingResult)  # noqa: S101 - the runner's own result class
    return result


def main(argv: list[str]) -> int:
    """Run, report, and end with unittest's exit code."""
    root = Path.cwd()
    sys.path[0] = str(root)
    if (root / "src").is_dir():
        sys.path.insert(1, str(root / "src"))
    result = run(argv[2:], root)
    write_report(Path(argv[1]), result.outcomes)
    print_summary(result.outcomes)
    return 0 if result.wasSuccessful() else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv))
