"""What the base commit says about a Python project: its manifest, its tests, its pytest options.

Must read the base commit only; the branch under test could say anything.
"""

from __future__ import annotations

import configparser
import re
import shlex
import tomllib
from fnmatch import fnmatch
from typing import TYPE_CHECKING, Any, Literal

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from autopilot.runner.stacks.tree import Tree

Runner = Literal["pytest", "unittest", "either"]

_MANIFESTS = ("pyproject.toml", "setup.py", "setup.cfg", "requirements*.txt")
_REQUIREMENTS = ("pyproject.toml", "setup.cfg", "setup.py", "requirements*.txt", "Pipfile", "tox.ini")
_PYTEST_ONLY = frozenset({"pytest.ini", ".pytest.ini", "conftest.py"})
_TEST_NAME = re.compile(r"(?:^|/)(?:test[^/]*|[^/]*_test)\.py$")
_PYTEST_STYLE = re.compile(rb"^(?:import pytest|from pytest|(?:async )?def test)", re.MULTILINE)
_READ_TESTS = 200

# Options that hide the summary, move the report, or need the cache plugin, which is off in a checkout that is
# to stay as committed. Those in the second list take a value.
# fmt: off
_SPOILERS = frozenset({
    "--collect-only", "--collectonly", "--co", "-q", "-qq", "--quiet", "--no-summary",
    "--lf", "--last-failed", "--ff", "--failed-first", "--nf", "--new-first", "--cache-clear",
    "--sw", "--stepwise", "--sw-skip", "--stepwise-skip", "--sw-reset", "--stepwise-reset",
})
_VALUE_SPOILERS = frozenset({
    "--junitxml", "--junit-xml", "--junit-prefix", "--junitprefix", "--color", "--cache-show",
    "--lfnf", "--last-failed-no-failures",
})
# fmt: on


def has_manifest(base: Tree) -> bool:
    """Tell whether the root holds a file that says: this is a Python project."""
    return any(fnmatch(path, pattern) for path in base.blobs for pattern in _MANIFESTS)


def test_files(base: Tree) -> list[str]:
    """List the files that hold tests, by their names."""
    return [path for path, blob in base.blobs.items() if blob.is_file and _TEST_NAME.search(path)]


def test_runner(base: Tree) -> Runner:
    """Say which runner the base's tests need; `either` when it has no tests to tell by."""
    if (
        any(path.rpartition("/")[2] in _PYTEST_ONLY for path in base.blobs)
        or _pytest_options(base) is not None
    ):
        return "pytest"
    tests = test_files(base)
    if any(_PYTEST_STYLE.search(text) for text in base.read_many(tests[:_READ_TESTS]).values()):
        return "pytest"
    stated = [path for path in base.blobs if any(fnmatch(path, pattern) for pattern in _REQUIREMENTS)]
    if any(b"pytest" in text for text in base.read_many(stated).values()):
        return "pytest"
    return "unittest" if tests else "either"


def kept_addopts(base: Tree) -> tuple[str, ...]:
    """Give the base's own pytest options without those that would take the report or the summary away."""
    stated = _pytest_options(base) or {}
    options = stated.get("addopts", "")
    try:
        words = shlex.split(options) if isinstance(options, str) else [str(word) for word in options]
    except ValueError:
        return ()
    return kept_options(words)


def kept_options(words: Sequence[str]) -> tuple[str, ...]:
    """Drop the pytest options that would take the report or the summary away."""
    return tuple(_without_spoilers(iter(words)))


def _without_spoilers(words: Iterator[str]) -> Iterator[str]:
    for word in words:
        name, has_value, _ = word.partition("=")
        if name in _VALUE_SPOILERS:
            if not has_value:
                next(words, None)
        elif word == "-p":
            value = next(words, "")
            if not value.startswith("no:"):
                yield from (word, value)
        elif name not in _SPOILERS and not word.startswith("-pno:"):
            yield word


def _pytest_options(base: Tree) -> dict[str, Any] | None:
    """Find pytest's settings the way pytest does: the first file that has its section."""
    for path, section in (("pytest.ini", "pytest"), (".pytest.ini", "pytest")):
        if path in base.blobs:
            return _ini_section(base.read(path), section) or {}
    if (from_toml := _toml_options(base.read("pyproject.toml"))) is not None:
        return from_toml
    for path, section in (("tox.ini", "pytest"), ("setup.cfg", "tool:pytest")):
        if (found := _ini_section(base.read(path), section)) is not None:
            return found
    return None


def _toml_options(content: bytes | None) -> dict[str, Any] | None:
    try:
        tool = tomllib.loads((content or b"").decode()).get("tool", {})
    except (tomllib.TOMLDecodeError, UnicodeDecodeError, RecursionError):
        return None
    stated = tool.get("pytest") if isinstance(tool, dict) else None
    if not isinstance(stated, dict):
        return None
    inner = stated.get("ini_options", stated)
    return inner if isinstance(inner, dict) else {}


def _ini_section(content: bytes | None, section: str) -> dict[str, Any] | None:
    parser = configparser.RawConfigParser()
    try:
        parser.read_string((content or b"").decode())
    except (configparser.Error, UnicodeDecodeError):
        return None
    return dict(parser[section]) if parser.has_section(section) else None
