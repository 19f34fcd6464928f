"""How long a module and a function may be, and how many arguments go by position."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from tests.architecture.source import Breach, Module, Rule

MODULE_LINES = 300
FUNCTION_LINES = 50
POSITIONAL = 4
EVERYWHERE = ("src/", "tests/", "script/")
CALLED_BY_OTHERS = ("src/", "tests/support/")


def long_module(module: Module) -> Iterator[Breach]:
    lines = len(module.text.splitlines())
    if lines > MODULE_LINES:
        yield Breach(lines, f"{lines} lines; at most {MODULE_LINES}")


def long_function(module: Module) -> Iterator[Breach]:
    for function in _functions(module):
        lines = (function.end_lineno or function.lineno) - function.lineno + 1
        if lines > FUNCTION_LINES:
            yield Breach(function.lineno, f"{function.name}: {lines} lines; at most {FUNCTION_LINES}")


def many_positional(module: Module) -> Iterator[Breach]:
    for function in _functions(module):
        arguments = [*function.args.posonlyargs, *function.args.args]
        count = len(arguments) - (arguments[:1] != [] and arguments[0].arg in {"self", "cls"})
        if count > POSITIONAL and not _is_fixture(function):
            yield Breach(
                function.lineno, f"{function.name}: {count} arguments by position; at most {POSITIONAL}"
            )


def _functions(module: Module) -> Iterator[ast.FunctionDef | ast.AsyncFunctionDef]:
    for node in module.nodes:
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            yield node


def _is_fixture(function: ast.FunctionDef | ast.AsyncFunctionDef) -> bool:
    """Pytest passes by name, so the caller cannot mix the arguments up."""
    decorators = [ast.unparse(decorator) for decorator in function.decorator_list]
    return any("fixture" in text for text in decorators)


RULES = (
    Rule(
        "a module has at most 300 lines",
        long_module,
        EVERYWHERE,
        bad=(("src/autopilot/config/x.py", "x = 1\n" * 301),),
        good=(("src/autopilot/config/x.py", "x = 1\n" * 300),),
    ),
    Rule(
        "a function has at most 50 lines",
        long_function,
        EVERYWHERE,
        bad=(("src/autopilot/config/x.py", "def f():\n" + "    x = 1\n" * 50),),
        good=(("src/autopilot/config/x.py", "def f():\n" + "    x = 1\n" * 49),),
    ),
    Rule(
        "past four arguments they go by keyword",
        many_positional,
        CALLED_BY_OTHERS,
        bad=(("src/autopilot/config/x.py", "def f(a, b, c, d, e): ..."),),
        good=(
            ("src/autopilot/config/x.py", "def f(a, b, c, d, *, e, f, g): ..."),
            ("src/autopilot/config/x.py", "class C:\n    def f(self, a, b, c, d): ..."),
            ("tests/support/x.py", "@pytest.fixture\ndef f(a, b, c, d, e): ..."),
        ),
    ),
)
