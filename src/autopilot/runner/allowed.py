"""The repository's own commands, as an agent may type them.

Must not take anything from a worktree: the policy and the base commit say what the commands are.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from autopilot.runner.stacks import python_facts
from autopilot.runner.stacks.stack import REPORT_SLOT

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from autopilot.runner.stacks.tree import Tree
    from autopilot.schemas.policy import Policy

Argv = tuple[str, ...]

_PYTEST: Argv = ("python3", "-m", "pytest")
_UNITTEST: Argv = ("python3", "-m", "unittest")
_USUAL: Mapping[str, tuple[Argv, ...]] = {
    "python": (_PYTEST, _UNITTEST, ("python", "-m", "pytest"), ("python", "-m", "unittest"), ("pytest",)),
    "backend-node": (("npm", "test"), ("npm", "ci"), ("npm", "run", "build"), ("node", "--test")),
}


def test_command(policy: Policy, stack: str, base: Tree) -> Argv | None:
    """Give the command to tell the agent about; None where only the gates know one."""
    if policy.commands.test is not None:
        return tuple(word for word in policy.commands.test if REPORT_SLOT not in word)
    if stack == "python":
        return _PYTEST if python_facts.test_runner(base) == "pytest" else _UNITTEST
    return ("npm", "test") if stack == "backend-node" else None


def own_commands(policy: Policy) -> tuple[Argv, ...]:
    """List the commands of the policy, as they are typed: without the slot for our report."""
    own = (policy.commands.setup, policy.commands.build, policy.commands.test)
    return tuple(tuple(word for word in argv if REPORT_SLOT not in word) for argv in own if argv is not None)


def allowed_commands(policy: Policy, stack: str, listed: Sequence[str] = ()) -> tuple[Argv, ...]:
    """List what the agent may run without being asked; `listed` are programs of the guard's settings."""
    return (*own_commands(policy), *_USUAL.get(stack, ()), *((name,) for name in listed))
