"""Python projects: pytest where the base uses it, else unittest through our own reporter.

Must not take a command, an option or an interpreter from the branch under test.
Source: docs/decisions/0032.
"""

from __future__ import annotations

import json
import os
from dataclasses import dataclass
from importlib import resources
from typing import TYPE_CHECKING

from autopilot.runner.stacks import custom, python_facts
from autopilot.runner.stacks.stack import (
    ENVIRONMENT,
    BuildCommand,
    CannotRun,
    Command,
    NotNeeded,
    TestCommand,
)
from autopilot.runner.stacks.summary import pytest_summary, unittest_summary

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from autopilot.runner.stacks.stack import Place
    from autopilot.runner.stacks.tree import Tree
    from autopilot.schemas.errors import ConfigError
    from autopilot.schemas.policy import Policy

_REPORTERS = "autopilot.runner.stacks.reporters"
_HAS_PYTEST = "import importlib.util, sys; sys.exit(importlib.util.find_spec('pytest') is None)"
_OWN_OPTIONS = ("-o", "addopts=", "-p", "no:cacheprovider", "-p", "no:sugar", "-p", "no:pretty", "--color=no")


@dataclass(frozen=True, slots=True)
class PythonStack:
    """The adapter; see `Stack`."""

    name: str = "python"

    def weight(self, base: Tree) -> int:
        """Take a manifest at the root, or Python files together with tests."""
        has_tests = bool(python_facts.test_files(base))
        return has_tests + (has_tests or python_facts.has_manifest(base))

    def refusal(self, base: Tree, policy: Policy) -> ConfigError | None:  # noqa: ARG002 - Stack's signature
        """Refuse only a test command of the policy that writes no report we know of."""
        if policy.commands.test is None or _is_known(policy.commands.test):
            return None
        return custom.refusal(policy)

    def shown_test(self, base: Tree, policy: Policy) -> tuple[str, ...]:
        """Give the policy's command, or the runner that the base's tests need."""
        if policy.commands.test is not None:
            return policy.commands.test
        is_unittest = python_facts.test_runner(base) == "unittest"
        return ("python3", "-m", "unittest" if is_unittest else "pytest")

    def setup(self, place: Place) -> Command | NotNeeded:
        """Restore `uv.lock` into an environment of ours outside the tree, frozen."""
        if place.policy.commands.setup is not None:
            return Command(place.policy.commands.setup)
        if "uv.lock" not in place.head.blobs:
            return NotNeeded("no lock file is committed that autopilot restores by itself (uv.lock)")
        uv = place.which("uv")
        if uv is None:
            return NotNeeded("uv.lock is committed, but there is no uv on PATH")
        environment = str(place.scratch / ENVIRONMENT)
        return Command((uv, "sync", "--frozen"), {"UV_PROJECT_ENVIRONMENT": environment})

    def build(self, place: Place) -> BuildCommand | NotNeeded | CannotRun:
        """Compile every tracked Python file, or run the policy's build."""
        if place.policy.commands.build is not None:
            return BuildCommand(command=Command(place.policy.commands.build))
        paths = [path for path, blob in place.head.blobs.items() if path.endswith(".py") and blob.is_file]
        if not paths:
            return NotNeeded("no Python file is tracked")
        python = interpreter(place)
        if python is None:
            return _no_python()
        names, report = place.out / "files.list", place.written / "compile.json"
        names.write_bytes(b"".join(os.fsencode(path) + b"\0" for path in paths))
        argv = (python, "-I", str(_reporter("compile_check.py", place.out)), str(names), str(report))
        inherited = {path for path in paths if place.base.blobs.get(path) == place.head.blobs[path]}
        faults = _CompileFaults(checked=len(paths), inherited=frozenset(inherited))
        return BuildCommand(command=Command(argv), report=report, faults=faults)

    def test(self, place: Place) -> TestCommand | CannotRun:
        """Run pytest or unittest with a report of ours, or the policy's command."""
        policy = place.policy.commands.test
        if policy is not None and not _is_known(policy):
            return custom.test_command(place)
        python = interpreter(place)
        if python is None:
            return _no_python()
        if policy is not None:
            at = _runner_at(policy)
            if policy[at] == "unittest":
                return _unittest(place, policy[: at - 1], policy[at + 1 :])
            return _pytest(place, policy[: at + 1], policy[at + 1 :])
        runner = python_facts.test_runner(place.base)
        has_pytest = runner != "unittest" and place.succeeds((python, "-I", "-c", _HAS_PYTEST))
        if runner == "pytest" and not has_pytest:
            return CannotRun("not-started", f"the project's tests need pytest, and {python} cannot import it")
        if not has_pytest:
            return _unittest(place, (python,), ())
        return _pytest(place, (python, *_started("run_pytest.py", place.out)), ())


@dataclass(frozen=True, slots=True)
class _CompileFaults:
    """Reads the compile report: a file that the branch did not touch does not count against it."""

    checked: int
    inherited: frozenset[str]

    def __call__(self, report: bytes) -> Sequence[str]:
        found = json.loads(report)
        if found["checked"] != self.checked:
            return [f"{found['checked']} of {self.checked} files were checked"]
        return [f"{path}: {why}" for path, why in found["faults"].items() if path not in self.inherited]


def interpreter(place: Place) -> str | None:
    """Choose the restored environment, one that the policy's set-up made, or python3 on PATH."""
    made = [place.scratch / ENVIRONMENT / "bin" / "python"]
    is_tracked = any(path == ".venv" or path.startswith(".venv/") for path in place.head.blobs)
    if place.policy.commands.setup is not None and not is_tracked:
        made.append(place.checkout / ".venv" / "bin" / "python")
    # Unlike Path, this takes a link to what no file can be called.
    return next((str(path) for path in made if os.path.isfile(path)), place.which("python3"))  # noqa: PTH113


def _no_python() -> CannotRun:
    return CannotRun("not-started", "there is no python3 on PATH")


def _reporter(name: str, out: Path) -> Path:
    """Copy a reporter of ours to where the repository's interpreter can read it."""
    copy = out / name
    copy.write_bytes(resources.files(_REPORTERS).joinpath(name).read_bytes())
    return copy


def _started(name: str, out: Path) -> tuple[str, str]:
    """Give the arguments that start a reporter which imports what is installed."""
    return str(_reporter("start.py", out)), str(_reporter(name, out))


def _pytest(place: Place, start: Sequence[str], rest: Sequence[str]) -> TestCommand:
    report = place.written / "junit.xml"
    own = (*_OWN_OPTIONS, "-o", "junit_family=xunit2", f"--junitxml={report}")
    options = (*python_facts.kept_addopts(place.base), *python_facts.kept_options(rest))
    return TestCommand(command=Command((*start, *own, *options)), report=report, read_summary=pytest_summary)


def _unittest(place: Place, start: Sequence[str], rest: Sequence[str]) -> TestCommand:
    report = place.written / "junit.xml"
    argv = (*start, *_started("unittest_junit.py", place.out), str(report), *rest)
    return TestCommand(command=Command(argv), report=report, read_summary=unittest_summary)


def _runner_at(argv: Sequence[str]) -> int:
    """Find pytest or `-m unittest` in a command; -1 when neither is there."""
    for at, word in enumerate(argv):
        if os.path.basename(word) in {"pytest", "py.test"}:  # noqa: PTH119 - a word, not a path of ours
            return at
        if word == "unittest" and at > 1 and argv[at - 1] == "-m":
            return at
    return -1


def _is_known(argv: Sequence[str]) -> bool:
    return _runner_at(argv) >= 0
