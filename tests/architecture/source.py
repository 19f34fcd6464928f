"""Python files as the architecture rules see them: a path, a text and a syntax tree."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import PurePosixPath
from typing import NamedTuple

from tests.support.tree import ROOT, tree_files

SRC = "src/autopilot"
PARTS = ("schemas", "config", "runner", "publish", "launchd", "daemon")


@dataclass(frozen=True, eq=False)
class Module:
    """One Python file; `path` is relative to the checkout, with forward slashes."""

    path: str
    text: str
    tree: ast.Module

    @cached_property
    def nodes(self) -> tuple[ast.AST, ...]:
        """Every node of the tree, walked once for all rules."""
        return tuple(ast.walk(self.tree))

    @cached_property
    def uses(self) -> tuple[tuple[int, str], ...]:
        """Every name or attribute chain, spelt with what its imports stand for."""
        return tuple(_dotted_uses(self))

    def is_in(self, *places: str) -> bool:
        """Whether the file is one of these files, or lies in one of these folders (`x/`)."""
        return any(self.path.startswith(p) if p.endswith("/") else self.path == p for p in places)


class Breach(NamedTuple):
    """One place where a rule is broken."""

    line: int
    what: str


Check = Callable[[Module], Iterator[Breach]]
Example = tuple[str, str]  # a path and a source text


class Rule(NamedTuple):
    """A rule, the places it speaks about, and examples on both sides of it."""

    name: str
    check: Check
    places: tuple[str, ...]
    bad: tuple[Example, ...]
    good: tuple[Example, ...] = ()
    exempt: tuple[str, ...] = ()

    def breaches(self, module: Module) -> list[Breach]:
        """What is wrong in this module; nothing where the rule does not apply."""
        applies = module.is_in(*self.places) and not module.is_in(*self.exempt)
        return list(self.check(module)) if applies else []


def parse(path: str, text: str) -> Module:
    """A module from a text."""
    return Module(path, text, ast.parse(text))


def modules() -> list[Module]:
    """Every Python file of the checkout."""
    paths = [name.as_posix() for name in tree_files() if name.suffix == ".py"]
    return [parse(path, (ROOT / path).read_text(encoding="utf-8")) for path in paths]


def source_paths(folder: str) -> list[PurePosixPath]:
    """Python files directly in a folder below src/autopilot; none when it does not exist."""
    paths = [PurePosixPath(name.as_posix()) for name in tree_files()]
    return [p for p in paths if p.suffix == ".py" and p.parent == PurePosixPath(SRC, folder)]


def _dotted_uses(module: Module) -> Iterator[tuple[int, str]]:
    meanings = dict(_imported(module))
    inner: set[ast.AST] = set()
    for node in module.nodes:
        if isinstance(node, ast.Attribute):
            inner.add(node.value)
        if isinstance(node, ast.Attribute | ast.Name) and node not in inner:
            chain = _chain(node)
            if chain:
                head, *rest = chain
                yield node.lineno, ".".join([meanings.get(head, head), *rest])


def imports(module: Module, *, at_start_only: bool = False) -> Iterator[tuple[int, str]]:
    """Every module or member that the file imports, dotted; optionally only what import runs."""
    nodes = _runs_at_import(module.tree) if at_start_only else module.nodes
    for node in nodes:
        if isinstance(node, ast.Import):
            yield from ((node.lineno, alias.name) for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            yield from ((node.lineno, f"{node.module}.{alias.name}") for alias in node.names)


def is_type_checking(node: ast.AST) -> bool:
    """Whether this is `if TYPE_CHECKING:`."""
    if not isinstance(node, ast.If):
        return False
    return _chain(node.test)[-1:] == ["TYPE_CHECKING"]


def _runs_at_import(tree: ast.AST) -> Iterator[ast.AST]:
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) or is_type_checking(node):
            continue
        yield node
        yield from _runs_at_import(node)


def _imported(module: Module) -> Iterator[tuple[str, str]]:
    for node in module.nodes:
        if isinstance(node, ast.Import):
            for alias in node.names:
                top = alias.name.partition(".")[0]
                yield (alias.asname, alias.name) if alias.asname else (top, top)
        elif isinstance(node, ast.ImportFrom) and node.module:
            for alias in node.names:
                yield alias.asname or alias.name, f"{node.module}.{alias.name}"


def _chain(node: ast.AST) -> list[str]:
    parts: list[str] = []
    while isinstance(node, ast.Attribute):
        parts.insert(0, node.attr)
        node = node.value
    return [node.id, *parts] if isinstance(node, ast.Name) else []
