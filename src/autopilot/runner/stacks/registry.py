"""The list of stack adapters and the choice among them. A new one: its file here, one line below.

Must choose from the base commit and the policy only.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from autopilot.config.nearest import nearest
from autopilot.runner.stacks.backend_node import BackendNodeStack
from autopilot.runner.stacks.python import PythonStack
from autopilot.runner.stacks.unknown import UnknownStack
from autopilot.schemas.errors import ConfigError
from autopilot.schemas.policy import POLICY_FILE

if TYPE_CHECKING:
    from collections.abc import Sequence

    from autopilot.runner.stacks.stack import Stack
    from autopilot.runner.stacks.tree import Tree
    from autopilot.schemas.policy import Policy

STACKS: Sequence[Stack] = (PythonStack(), BackendNodeStack(), UnknownStack())


def choose(base: Tree, policy: Policy) -> Stack:
    """Choose the adapter for a repository.

    Args:
        base: the files of the base commit.
        policy: what the base commit's `.autopilot.toml` says.

    Returns:
        The named adapter, else the one that knows the base best, else `unknown`.

    Raises:
        ConfigError: the name is not known, two kinds fit equally well, or the tests could not be judged.
    """
    stack = _named(policy.stack) if policy.stack is not None else _detected(base, policy)
    if (fault := stack.refusal(base, policy)) is not None:
        raise fault
    return stack


def _named(name: str) -> Stack:
    by_name = {stack.name: stack for stack in STACKS}
    if name in by_name:
        return by_name[name]
    hint = nearest(name, by_name) or f"it is one of {', '.join(by_name)}"
    raise ConfigError("unknown-stack", f"{POLICY_FILE}: there is no stack {name!r}", hint=hint)


def _detected(base: Tree, policy: Policy) -> Stack:
    weights = {stack.name: stack.weight(base) for stack in STACKS}
    best = max(weights.values())
    fitting = [name for name, weight in weights.items() if weight == best and weight > 0]
    if len(fitting) > 1 and policy.commands.test is None:
        what = f"the repository looks like {' and '.join(fitting)} alike"
        raise ConfigError("ambiguous-stack", what, hint=f'say stack = "{fitting[0]}" in {POLICY_FILE}')
    return _named(fitting[0] if len(fitting) == 1 else "unknown")
