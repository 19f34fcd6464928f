"""Whoever must act on an error is told how to mend it."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from tests.architecture.source import Breach, Module, Rule

ERRORS = frozenset({"TransientError", "TicketError", "CeilingError", "ConfigError", "RefusedError", "Stop"})
# What became of one item of a clean-up: its report takes the words alone, and the next night looks again.
DEEDS = "src/autopilot/daemon/gc/removing.py"


def without(module: Module) -> Iterator[Breach]:
    """Name each error that is made without a hint."""
    for node in module.nodes:
        if isinstance(node, ast.Call) and getattr(node.func, "id", "") in ERRORS:
            hints = [word.value for word in node.keywords if word.arg in {"hint", None}]
            if not any(not isinstance(hint, ast.Constant) or hint.value for hint in hints):
                yield Breach(node.lineno, f"{ast.unparse(node.func)} has no hint")


RULES = (
    Rule(
        "each error that is raised on purpose says how to mend it",
        without,
        places=("src/",),
        exempt=(DEEDS,),
        bad=(
            ("src/x.py", "raise ConfigError('a', 'b')"),
            ("src/x.py", "raise Stop('a', 'b', waiting_for='credential', hint='')"),
        ),
        good=(
            ("src/x.py", "raise ConfigError('a', 'b', hint='do c')"),
            ("src/x.py", "raise ConfigError(code, what, **more)"),
        ),
    ),
)
