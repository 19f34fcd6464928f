"""How tests are written."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from tests.architecture.source import Breach, Module, Rule, imports

TESTS = ("tests/",)
WAITING = "tests/support/wait.py"
WORDS = 4


def mocking(module: Module) -> Iterator[Breach]:
    for line, name in imports(module):
        if name == "mock" or name.startswith(("unittest.mock", "mock.", "pytest_mock")):
            yield Breach(line, f"{name}: write a fake in tests/support")


def sleeping(module: Module) -> Iterator[Breach]:
    for line, name in module.uses:
        if name in {"time.sleep", "asyncio.sleep"} and module.path != WAITING:
            yield Breach(line, f"{name}: use wait_until from tests.support.wait")


def terse_name(module: Module) -> Iterator[Breach]:
    for node in module.nodes:
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.name.startswith("test_"):
            words = [word for word in node.name.split("_")[1:] if word]
            if len(words) < WORDS:
                yield Breach(node.lineno, f"{node.name} is no sentence")


RULES = (
    Rule(
        "tests use fakes, not mocks",
        mocking,
        TESTS,
        bad=(
            ("tests/unit/test_x.py", "from unittest import mock"),
            ("tests/unit/test_x.py", "from unittest.mock import patch"),
            ("tests/unit/test_x.py", "import unittest.mock"),
        ),
        good=(("tests/unit/test_x.py", "from tests.support.clock import FakeClock"),),
    ),
    Rule(
        "tests do not sleep",
        sleeping,
        TESTS,
        bad=(("tests/unit/test_x.py", "import time\ndef test_a():\n    time.sleep(0.1)"),),
        good=((WAITING, "import time\ntime.sleep(0.01)"),),
    ),
    Rule(
        "a test's name is a sentence",
        terse_name,
        TESTS,
        bad=(
            ("tests/unit/test_x.py", "def test_add(): ..."),
            ("tests/unit/test_x.py", "def test_it_works(): ..."),
        ),
        good=(("tests/unit/test_x.py", "def test_a_ticket_is_claimed_once(): ..."),),
    ),
)
