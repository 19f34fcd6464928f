"""Names at the top of a module that nothing in the product uses."""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from tests.architecture.source import Module


class Unused(NamedTuple):
    """One name that nobody needs."""

    path: str
    line: int
    name: str


def unused(modules: Iterable[Module]) -> list[Unused]:
    """Every name that a module defines at its top and that neither it nor another one uses.

    A use within its own definition is none, nor is a place in `__all__`. What has a decorator is handed to
    it.
    """
    own = {module.path: Counter(_loads(module.tree)) for module in modules}
    of_others = {name for module in modules for name in _reaches(module.tree)}
    return [
        Unused(module.path, node.lineno, name)
        for module in modules
        for node in module.tree.body
        for name in _defined(node)
        if own[module.path][name] == Counter(_loads(node))[name]
        if name.startswith("_") or name not in of_others
    ]


def _defined(node: ast.stmt) -> Iterator[str]:
    names: list[str] = []
    if isinstance(node, ast.ClassDef) or (isinstance(node, ast.FunctionDef) and not node.decorator_list):
        names = [node.name]
    elif isinstance(node, ast.Assign):
        names = [target.id for target in node.targets if isinstance(target, ast.Name)]
    elif isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
        names = [node.target.id]
    yield from (name for name in names if not name.startswith("__"))


def _loads(tree: ast.AST) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load):
            yield node.id


def _reaches(tree: ast.AST) -> Iterator[str]:
    """What a module takes out of others: by an import, or as an attribute of whatever it is."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute):
            yield node.attr
        elif isinstance(node, ast.ImportFrom):
            yield from (alias.name for alias in node.names)
