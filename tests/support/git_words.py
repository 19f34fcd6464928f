"""Which commands of git the product calls, read from its source."""

from __future__ import annotations

import ast
import subprocess
from collections.abc import Iterator

from tests.support.gitcmd import git_binary
from tests.support.tree import ROOT, tree_files

# These speak of git's commands, and call none through the wrapper.
_SPEAKERS = ("runner/guard/", "runner/agents/", "daemon/cli/")


def commands_of_git() -> frozenset[str]:
    """Every command that this git has built in."""
    listed = subprocess.run([git_binary(), "--list-cmds=builtins"], capture_output=True, check=True)
    return frozenset(listed.stdout.decode().split())


def called_by_us() -> dict[str, str]:
    """Each command of git with a place in src that calls it."""
    known = commands_of_git()
    found: dict[str, str] = {}
    for name in tree_files():
        path = name.as_posix().removeprefix("src/autopilot/")
        if name.suffix != ".py" or path == name.as_posix() or path.startswith(_SPEAKERS):
            continue
        tree = ast.parse((ROOT / name).read_bytes())
        if _has_git(tree):
            found |= {word: f"{path}:{line}" for line, word in words(tree) if word in known}
    return found


def words(tree: ast.AST) -> Iterator[tuple[int, str]]:
    """First words of what is called with, or laid ready as, a command line."""
    for node in ast.walk(tree):
        if not isinstance(node, ast.Call | ast.Tuple):
            continue
        parts = node.args if isinstance(node, ast.Call) else node.elts
        if parts and isinstance(parts[0], ast.Constant) and isinstance(parts[0].value, str):
            yield node.lineno, parts[0].value


def _has_git(tree: ast.AST) -> bool:
    """Whether a module has a git of ours at hand."""
    for node in ast.walk(tree):
        name = node.id if isinstance(node, ast.Name) else node.attr if isinstance(node, ast.Attribute) else ""
        if name in {"git", "_git", "Git", "network"}:
            return True
    return False
