"""What a stack adapter is: the commands of one kind of project, and how its own reporter is read.

Must not start a process (the gates do) and must not import the gates.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from pathlib import Path

    from autopilot.runner.stacks.summary import Summary
    from autopilot.runner.stacks.tree import Tree
    from autopilot.schemas.errors import ConfigError
    from autopilot.schemas.policy import Policy

# Stands in a command of the policy for the path of the JUnit file that the command shall write.
REPORT_SLOT = "{report}"
# Below `Place.scratch`: the environment that a set-up makes outside the tree. Made anew with each set-up.
ENVIRONMENT = "venv"


@dataclass(frozen=True, slots=True)
class Command:
    """A program to run in the checkout; `env` is added to the gate's own environment."""

    argv: tuple[str, ...]
    env: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class NotNeeded:
    """There is nothing to run, and why: the ledger says `not-applicable`."""

    reason: str


@dataclass(frozen=True, slots=True)
class CannotRun:
    """It should run but cannot: the ledger says `error`."""

    code: str
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class BuildCommand:
    """How the project is built. `faults` reads our own report; None = the exit code is all there is."""

    command: Command
    report: Path | None = None
    faults: Callable[[bytes], Sequence[str]] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class TestCommand:
    """How the tests are run, and where and how the outcome is read.

    Exactly one of `report` (a path of ours) and `pattern` (below the checkout) is set.
    """

    __test__ = False  # not a test class, whatever a collector thinks of its name

    command: Command
    report: Path | None = None
    pattern: str | None = None
    read_summary: Callable[[bytes], Summary | None] | None = None
    is_container: Callable[[str], bool] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """Where a stack's commands will run.

    `out` is a folder of ours for this gate's files, which its commands can read; `written` is the one in it
    that they write to, and where we only read; `scratch` lives through the rounds. `which` finds a program on
    the gate's PATH, which is `path`; `succeeds` runs one outside the checkout.
    """

    checkout: Path
    base: Tree
    head: Tree
    policy: Policy
    out: Path
    written: Path
    scratch: Path
    path: str
    which: Callable[[str], str | None]
    succeeds: Callable[[Sequence[str]], bool]


class Stack(Protocol):
    """One kind of project. Everything is decided from the base commit, never from the branch."""

    @property
    def name(self) -> str:
        """The adapter's name in `.autopilot.toml` and in records."""
        ...

    def weight(self, base: Tree) -> int:
        """Say how surely the base is of this kind: 0 no, 1 yes, 2 yes and it has tests."""
        ...

    def refusal(self, base: Tree, policy: Policy) -> ConfigError | None:
        """Say why its tests could never be judged, before anybody is paid for work on it."""
        ...

    def shown_test(self, base: Tree, policy: Policy) -> tuple[str, ...]:
        """Give the test command as a person would type it; nothing when there is none. For showing only."""
        ...

    def setup(self, place: Place) -> Command | NotNeeded:
        """Give the command that restores what the committed lock file names."""
        ...

    def build(self, place: Place) -> BuildCommand | NotNeeded | CannotRun:
        """Give the build."""
        ...

    def test(self, place: Place) -> TestCommand | CannotRun:
        """Give the test run."""
        ...
