"""How our own programs are started, and what git is never told."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from tests.architecture.source import Breach, Module, Rule, dotted_uses

SRC = ("src/",)
SAFE_PATH = {"-P", "-I"}  # -I implies -P
FORCE = {"--force", "-f"}
# Not a push: removing our own worktree, cleaning our own folder.
HARMLESS_WITH_FORCE = {"worktree", "clean", "checkout"}


def unsafe_python(module: Module) -> Iterator[Breach]:
    """`sys.executable` stands in a list or tuple, right before -P (or -I), or is only shown in a text."""
    safe = 0
    for node in ast.walk(module.tree):
        if isinstance(node, ast.FormattedValue):
            safe += ast.unparse(node.value) in {"sys.executable", "executable"}
        elif isinstance(node, ast.List | ast.Tuple):
            for position, element in enumerate(node.elts):
                if ast.unparse(element) in {"sys.executable", "executable"}:
                    following = node.elts[position + 1 : position + 2]
                    safe += [n.value for n in following if isinstance(n, ast.Constant)][:1] in (
                        ["-P"],
                        ["-I"],
                    )
    uses = [line for line, name in dotted_uses(module) if name == "sys.executable"]
    if len(uses) > safe:
        yield Breach(uses[0], "sys.executable without -P right behind it: the cwd could shadow our modules")


def plain_force(module: Module) -> Iterator[Breach]:
    for node in ast.walk(module.tree):
        if isinstance(node, ast.List | ast.Tuple | ast.Set):
            words = _words(node.elts)
        elif isinstance(node, ast.Call):
            words = _words(node.args)
        else:
            continue
        forced = FORCE & words if "push" in words else {"--force"} & words
        if forced and not HARMLESS_WITH_FORCE & words:
            yield Breach(node.lineno, "a push is never forced; use --force-with-lease=<ref>:<expected>")
    for node in ast.walk(module.tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and "push --force " in node.value:
            yield Breach(node.lineno, "a push is never forced")


def _words(nodes: list[ast.expr]) -> set[str]:
    return {n.value for n in nodes if isinstance(n, ast.Constant) and isinstance(n.value, str)}


def _x(text: str) -> tuple[str, str]:
    return "src/autopilot/publish/x.py", text


RULES = (
    Rule(
        "our own Pythons start with -P",
        unsafe_python,
        SRC,
        bad=(
            _x("import sys\nrun([sys.executable, '-m', 'autopilot.runner'])"),
            _x("import sys\nrun([sys.executable])"),
            _x("import sys\npython = sys.executable"),
            _x("from sys import executable\nrun([executable, '-m', 'x'])"),
        ),
        good=(
            _x("import sys\nrun([sys.executable, '-P', '-m', 'autopilot.runner'])"),
            _x("import sys\nrun((sys.executable, '-I', '-c', 'pass'))"),
            _x("import sys\nsay(f'runs on {sys.executable}')"),
        ),
    ),
    Rule(
        "a push is never forced",
        plain_force,
        SRC,
        bad=(
            _x("git('push', '--force', url)"),
            _x("git(['push', '-f', url])"),
            _x("options = ['--force']"),
            _x("hint = 'try git push --force origin'"),
        ),
        good=(
            _x("git('push', f'--force-with-lease={ref}:{sha}', url)"),
            _x("git('worktree', 'remove', '--force', path)"),
        ),
    ),
)
