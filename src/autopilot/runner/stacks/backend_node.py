"""Node projects: `node --test` with node's own JUnit reporter, or the policy's command.

Must not count a file as a test, a todo as executed, or a file that ended its own process as passed.
Source: docs/decisions/0034.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from importlib import resources
from pathlib import Path
from typing import TYPE_CHECKING

from autopilot.config.foreign_file import UnreadableError, matching
from autopilot.runner.stacks import custom, node_facts
from autopilot.runner.stacks.stack import BuildCommand, CannotRun, Command, NotNeeded, TestCommand
from autopilot.runner.stacks.summary import node_summary
from autopilot.schemas.errors import ConfigError

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from autopilot.runner.stacks.stack import Place
    from autopilot.runner.stacks.tree import Tree
    from autopilot.schemas.policy import Policy

_REPORTERS = "autopilot.runner.stacks.reporters"
_GUARD = "node_guard.cjs"
_SCRIPT_SUFFIXES = frozenset({".js", ".mjs", ".cjs", ".ts", ".mts", ".cts", ".jsx", ".tsx"})
_RESTORE = ("ci", "--no-audit", "--no-fund", "--no-update-notifier")


@dataclass(frozen=True, slots=True)
class BackendNodeStack:
    """The adapter; see `Stack`."""

    name: str = "backend-node"

    def weight(self, base: Tree) -> int:
        """Take a `package.json` at the root; its test script, or files that use node:test, are the tests."""
        if node_facts.MANIFEST not in base.blobs:
            return 0
        has_tests = bool(node_facts.script(base, "test")) or node_facts.has_node_tests(base)
        return 1 + has_tests

    def refusal(self, base: Tree, policy: Policy) -> ConfigError | None:
        """Refuse tests that neither node:test runs nor the policy names a report for."""
        if policy.commands.test is not None:
            return None if _node_test_at(policy.commands.test) >= 0 else custom.refusal(policy)
        if node_facts.test_invocation(base) is not None:
            return None
        stated = node_facts.script(base, "test")
        what = f"package.json tests with {stated!r}" if stated else "package.json names no test script"
        return ConfigError(
            "no-test-command", f"{what}, which gives no report that can be read", hint=custom.HOW
        )

    def shown_test(self, base: Tree, policy: Policy) -> tuple[str, ...]:
        """Give the policy's command, or the base's own test script."""
        run = node_facts.test_invocation(base)
        return policy.commands.test or (tuple(run.argv) if run is not None else ())

    def setup(self, place: Place) -> Command | NotNeeded:
        """Restore `package-lock.json`, frozen."""
        if place.policy.commands.setup is not None:
            return Command(place.policy.commands.setup)
        if not node_facts.has_locked_packages(place.head):
            return NotNeeded("no package-lock.json that names a package is committed")
        return Command(("npm", *_RESTORE), {"npm_config_cache": str(place.scratch / "npm")})

    def build(self, place: Place) -> BuildCommand | NotNeeded | CannotRun:
        """Run the policy's build, or the base's own build script."""
        if place.policy.commands.build is not None:
            return BuildCommand(command=Command(place.policy.commands.build))
        if not node_facts.script(place.base, "build"):
            return NotNeeded("package.json of the base has no build script")
        return BuildCommand(command=Command(("npm", "run", "build")))

    def test(self, place: Place) -> TestCommand | CannotRun:
        """Run node's test runner with a report of ours, or the policy's command."""
        stated = place.policy.commands.test
        if stated is not None and _node_test_at(stated) < 0:
            return custom.test_command(place)
        run = node_facts.Invocation(argv=stated) if stated else node_facts.test_invocation(place.base)
        if run is None:
            return CannotRun("no-report", "the base's test script gives no report that can be read")
        at = _node_test_at(run.argv)
        node = place.which(run.argv[at])
        if node is None:
            return CannotRun("not-started", f"there is no {run.argv[at]} on PATH")
        report = place.written / "junit.xml"
        argv = (*run.argv[:at], node, *_reported(run.argv[at + 1 :], place, report))
        return TestCommand(
            command=Command(argv, {**run.env, "PATH": _path(place)}),
            report=report,
            read_summary=node_summary,
            is_container=_FileNames(place.checkout),
        )


@dataclass(frozen=True, slots=True)
class _FileNames:
    """Says of a passing case whether its name is that of a test file: node reports a file like a test."""

    checkout: Path

    def __call__(self, name: str) -> bool:
        # Unlike Path, this takes any name: a test's may be longer than a file's can be.
        return Path(name).suffix in _SCRIPT_SUFFIXES and os.path.isfile(self.checkout / name)  # noqa: PTH113


def _node_test_at(argv: Sequence[str]) -> int:
    """Find `node` in a command that runs node's test runner; -1 when it does not."""
    at = next((at for at, word in enumerate(argv) if Path(word).name == "node"), -1)
    return at if at >= 0 and "--test" in argv[at:] else -1


def _reported(words: Sequence[str], place: Place, report: Path) -> tuple[str, ...]:
    """Give the arguments of node: our reporters and guard, then its own."""
    own = [
        "--test-reporter=junit",
        f"--test-reporter-destination={report}",
        "--test-reporter=spec",
        "--test-reporter-destination=stdout",
    ]
    if "--test-force-exit" not in words:  # there, node itself ends every file's process
        guard = place.out / _GUARD
        guard.write_bytes(resources.files(_REPORTERS).joinpath(_GUARD).read_bytes())
        own[:0] = ["--require", str(guard)]
    return (*own, *_expanded(words, place.checkout))


def _expanded(words: Sequence[str], checkout: Path) -> Iterator[str]:
    """Drop foreign reporters and expand file patterns, which the script left to its shell."""
    for word in words:
        if not word.startswith("--test-reporter"):
            yield from _matches(word, checkout) or (word,)


def _matches(word: str, checkout: Path) -> list[str]:
    if word.startswith(("-", "/")) or not any(char in word for char in "*?["):
        return []
    try:
        return sorted(path.relative_to(checkout).as_posix() for path in matching(checkout, word))
    except (ValueError, UnreadableError):  # no pattern after all, or node may look for itself
        return []


def _path(place: Place) -> str:
    """Put the project's own programs first, as npm does."""
    return f"{place.checkout / 'node_modules' / '.bin'}:{place.path}"
