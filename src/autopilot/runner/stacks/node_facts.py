"""What the base commit says about a Node project: its scripts, its tests, its locked packages.

Must read the base commit only, except for the lock file, which belongs to the branch.
"""

from __future__ import annotations

import json
import re
import shlex
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from autopilot.runner.stacks.tree import Tree

MANIFEST = "package.json"

_LOCK = "package-lock.json"
_TEST_FILE = re.compile(r"(?:^|/)(?:tests?/.*|[^/]*[._-]test|test[._-][^/]*|test)\.[cm]?[jt]sx?$")
_NODE_TEST = re.compile(rb"""['"]node:test['"]""")
_SHELL_ONLY = re.compile(r"[;&|<>$`()\n\\]")
_ASSIGNMENT = re.compile(r"^([A-Za-z_]\w*)=(.*)$", re.DOTALL)
_NO_TESTS = "no test specified"
_READ_TESTS = 200


@dataclass(frozen=True, slots=True)
class Invocation:
    """A command and the variables its script set in front of it."""

    argv: Sequence[str]
    env: Mapping[str, str] = field(default_factory=dict)


def script(base: Tree, name: str) -> str:
    """Give a script of `package.json`; empty when there is none, or only npm's own placeholder."""
    scripts = _json(base.read(MANIFEST)).get("scripts")
    text = scripts.get(name) if isinstance(scripts, dict) else None
    return text if isinstance(text, str) and _NO_TESTS not in text else ""


def has_node_tests(base: Tree) -> bool:
    """Tell whether a test file imports node's own test module."""
    tests = [path for path, blob in base.blobs.items() if blob.is_file and _TEST_FILE.search(path)]
    return any(_NODE_TEST.search(text) for text in base.read_many(tests[:_READ_TESTS]).values())


def test_invocation(base: Tree) -> Invocation | None:
    """Give the base's way to run node's test runner; None when its tests are run by something else."""
    stated = script(base, "test")
    if not stated:
        return Invocation(argv=("node", "--test")) if has_node_tests(base) else None
    if _SHELL_ONLY.search(stated):
        return None
    try:
        words = shlex.split(stated)
    except ValueError:
        return None
    env: dict[str, str] = {}
    while words and (words[0] == "cross-env" or _ASSIGNMENT.match(words[0])):
        word = words.pop(0)
        if (match := _ASSIGNMENT.match(word)) is not None:
            env[match.group(1)] = match.group(2)
    is_node_test = "node" in words and "--test" in words[words.index("node") :]
    return Invocation(argv=tuple(words), env=env) if is_node_test else None


def has_locked_packages(head: Tree) -> bool:
    """Tell whether a committed lock file names a package to restore; one too large to read surely does."""
    if _LOCK not in head.blobs:
        return False
    content = head.read(_LOCK)
    if content is None:
        return True
    lock = _json(content)
    packages = lock.get("packages")
    named = [key for key in packages if key] if isinstance(packages, dict) else []
    return bool(named or lock.get("dependencies"))


def _json(content: bytes | None) -> dict[str, Any]:
    try:
        value = json.loads(content or b"{}")
    except (ValueError, RecursionError):
        return {}
    return value if isinstance(value, dict) else {}
