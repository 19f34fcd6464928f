"""No module keeps state, and importing one does nothing."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from tests.architecture.source import Breach, Module, Rule, is_type_checking

SRC = ("src/",)
# Alembic loads these by path and asks for its own names and an upgrade at import.
MIGRATIONS = "src/autopilot/daemon/store/migrations/"
CONSTANT = re.compile(r"_?[A-Z][A-Z0-9_]*")
TYPE_NAME = re.compile(r"_?[A-Z][A-Za-z0-9]*")
READ_ONLY = {"Mapping", "Sequence", "Collection", "Set", "frozenset", "tuple"}
MUTABLE = (ast.List, ast.Dict, ast.Set, ast.ListComp, ast.DictComp, ast.SetComp, ast.GeneratorExp)
MUTABLE_MAKERS = {
    "list", "dict", "set", "bytearray", "collections.defaultdict", "collections.deque",
    "collections.Counter", "collections.OrderedDict", "threading.Lock", "threading.RLock",
    "threading.Event", "threading.local", "queue.Queue", "itertools.count", "contextvars.ContextVar",
}  # fmt: skip
CACHES = {"functools.cache", "functools.lru_cache"}


def kept_state(module: Module) -> Iterator[Breach]:
    for node in module.tree.body:
        if isinstance(node, ast.Assign):
            for target in node.targets:
                yield from _assignment(target, node.value, None)
        elif isinstance(node, ast.AnnAssign) and node.value is not None:
            yield from _assignment(node.target, node.value, node.annotation)
        elif isinstance(node, ast.AugAssign):
            yield Breach(node.lineno, "changes a module-level name")
    for line, name in module.uses:
        if name in CACHES:
            yield Breach(line, f"{name} keeps state in the module")
    for inner in module.nodes:
        if isinstance(inner, ast.Global):
            yield Breach(inner.lineno, "global")


def _assignment(target: ast.expr, value: ast.expr, annotation: ast.expr | None) -> Iterator[Breach]:
    if isinstance(target, ast.Tuple):
        for part in target.elts:
            yield from _assignment(part, value, annotation)
        return
    name = target.id if isinstance(target, ast.Name) else ast.unparse(target)
    if name == "__all__":
        return
    if not (CONSTANT.fullmatch(name) or TYPE_NAME.fullmatch(name)):
        yield Breach(target.lineno, f"{name} is no constant (UPPER_CASE) and no type")
    if _is_mutable(value) and not _is_read_only(annotation):
        yield Breach(target.lineno, f"{name} is mutable: annotate it Mapping or Sequence, or freeze it")


def _is_mutable(value: ast.expr) -> bool:
    if isinstance(value, ast.Call):
        return ast.unparse(value.func) in MUTABLE_MAKERS | {m.partition(".")[2] for m in MUTABLE_MAKERS}
    return isinstance(value, MUTABLE)


def _is_read_only(annotation: ast.expr | None) -> bool:
    """Mapping[...], Final[Mapping[...]] and the like: the type checker then refuses a change."""
    if annotation is None:
        return False
    if isinstance(annotation, ast.Constant) and isinstance(annotation.value, str):
        annotation = ast.parse(annotation.value, mode="eval").body
    if isinstance(annotation, ast.Subscript):
        outer = ast.unparse(annotation.value).rpartition(".")[2]
        return _is_read_only(annotation.slice) if outer == "Final" else outer in READ_ONLY
    return ast.unparse(annotation).rpartition(".")[2] in READ_ONLY


def import_effect(module: Module) -> Iterator[Breach]:
    for node in module.tree.body:
        is_text = isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
        is_main = isinstance(node, ast.If) and ast.unparse(node.test) == "__name__ == '__main__'"
        harmless = (ast.Import, ast.ImportFrom, ast.Assign, ast.AnnAssign, ast.AugAssign, ast.ClassDef)
        functions = (ast.FunctionDef, ast.AsyncFunctionDef)
        if not (is_text or is_main or is_type_checking(node) or isinstance(node, harmless + functions)):
            yield Breach(node.lineno, f"importing it runs: {ast.unparse(node).splitlines()[0]}")


def thawed_dataclass(module: Module) -> Iterator[Breach]:
    for node in module.nodes:
        if not isinstance(node, ast.ClassDef):
            continue
        for decorator in map(ast.unparse, node.decorator_list):
            is_dataclass = decorator.partition("(")[0].rpartition(".")[2] == "dataclass"
            if is_dataclass and "frozen=True" not in decorator:
                yield Breach(node.lineno, f"class {node.name}: values are frozen")


def _x(text: str) -> tuple[str, str]:
    return "src/autopilot/config/x.py", text


RULES = (
    Rule(
        "no module keeps state",
        kept_state,
        SRC,
        exempt=(MIGRATIONS,),
        bad=(
            _x("cache = {}"),
            _x("CACHE = {}"),
            _x("SEEN: set[str] = set()"),
            _x("SEEN: dict[str, int] = {}"),
            _x("import threading\nLOCK = threading.Lock()"),
            _x("logger = make()"),
            _x("def f():\n    global X\n    X = 1"),
            _x("from functools import cache\n@cache\ndef f(): ..."),
            _x("COUNT = 0\nCOUNT += 1"),
            _x("A, b = 1, 2"),
        ),
        good=(
            (f"{MIGRATIONS}env.py", "revision = '1'"),
            _x("LIMIT = 3\nA, _B = 1, 2\n_NAMES = ('a', 'b')\nT = TypeVar('T')\nRow = tuple[str, int]"),
            _x("TABLE: Mapping[str, int] = {'a': 1}\nOTHER: Final[Mapping[str, int]] = {}"),
            _x("LINES: 'Sequence[str]' = ['a']\n__all__ = ['x']\nWORDS = frozenset({'a'})"),
        ),
    ),
    Rule(
        "importing a module does nothing",
        import_effect,
        SRC,
        exempt=(MIGRATIONS,),
        bad=(_x("configure()"), _x("for x in y:\n    z(x)"), _x("with open('x') as f:\n    pass")),
        good=(
            (f"{MIGRATIONS}env.py", "upgrade()"),
            _x('"""Doc."""\nif TYPE_CHECKING:\n    import x\nif __name__ == "__main__":\n    main()'),
        ),
    ),
    Rule(
        "dataclasses are frozen",
        thawed_dataclass,
        SRC,
        bad=(_x("@dataclass\nclass A: ..."), _x("@dataclasses.dataclass(slots=True)\nclass A: ...")),
        good=(_x("@dataclass(frozen=True)\nclass A: ..."),),
    ),
)
