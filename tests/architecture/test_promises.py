"""Each promise of a page names a proof that is there."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from typing import NamedTuple

import pytest

from tests.support.tree import ROOT

PAGES = tuple(sorted((ROOT / "docs").glob("*.md")))
PROMISE = "promise"
MUTANT = "found broken by the mutant"
MUTANTS = ("tests/simulation/mutants.py", "tests/simulation/week_mutants.py")
QUOTED = re.compile(r"`([^`]+)`")


class Promise(NamedTuple):
    """One row of a table whose head begins with `promise`; the last cell is its proof."""

    head: str
    words: str
    proof: str


def promises(text: str) -> Iterator[Promise]:
    """Every row, whatever it looks like, of every table of promises."""
    head = None
    for line in text.splitlines():
        if not line.startswith("|"):
            head = None
            continue
        inner = line.strip().removeprefix("|").removesuffix("|")
        cells = [cell.strip() for cell in re.split(r"(?<!\\)\|", inner)]
        if head is None:
            head = cells
        elif head[0].startswith(PROMISE) and not set(line) <= set("|-: "):
            yield Promise(head[-1], cells[0], cells[-1] if len(cells) == len(head) else "")


def named_tests(path: str) -> frozenset[str]:
    """Names of the tests that a file defines, at its top or in a class, and of test cases that it makes."""
    file = ROOT / path
    if not re.fullmatch(r"tests/(?:\w+/)*test_\w+\.py", path) or not file.is_file():
        return frozenset()
    tree = ast.parse(file.read_bytes())
    inner = [node for each in tree.body if isinstance(each, ast.ClassDef) for node in each.body]
    names = {node.name for node in (*tree.body, *inner) if isinstance(node, ast.FunctionDef)}
    # `TestX = Machine.TestCase` of a stateful test.
    made = [each.targets[0] for each in tree.body if isinstance(each, ast.Assign)]
    names |= {target.id for target in made if isinstance(target, ast.Name)}
    return frozenset(name for name in names if name.lower().startswith("test"))


def lacks(promise: Promise) -> list[str]:
    """What is wrong with the proof of a promise; nothing where each word that it quotes is there."""
    quoted = QUOTED.findall(promise.proof)
    if not quoted:
        return [f"names no proof: {promise.words}"]
    if promise.head == MUTANT:
        return [f"no such mutant: {name}" for name in quoted if name not in mutants()]
    wrong = []
    for proof in quoted:
        path, separator, name = proof.partition("::")
        names = named_tests(path)
        if not names or (separator and name not in names):
            wrong.append(f"no such test: {proof}")
    return wrong


def mutants() -> frozenset[str]:
    """The faults that the simulation plants, by their names."""
    nodes = [node for path in MUTANTS for node in ast.parse((ROOT / path).read_bytes()).body]
    names = {node.name for node in nodes if isinstance(node, ast.FunctionDef)}
    return frozenset(name for name in names if not name.startswith("_"))


def test_every_promise_names_its_proof_and_the_proof_is_there() -> None:
    found = [promise for page in PAGES for promise in promises(page.read_text(encoding="utf-8"))]
    assert len(found) > 100
    assert [wrong for promise in found for wrong in lacks(promise)] == []


HERE = "tests/architecture/test_promises.py"
ROWS = {
    "an empty proof": "| x | |",
    "prose": "| x | the same test, again |",
    "no cell for it": "| x |",
    "a file that is not there": "| x | `tests/unit/test_nothing.py` |",
    "a file without tests": "| x | `tests/support/tree.py` |",
    "a test that is not there": f"| x | `{HERE}::test_nothing` |",
    "the beginning of a name": f"| x | `{HERE}::test_every_promise` |",
    "a helper": f"| x | `{HERE}::lacks` |",
    "a command": "| x | `script/soak` |",
    "a second one that is not there": f"| x | `{HERE}`, `tests/unit/test_nothing.py` |",
}


@pytest.mark.parametrize("row", ROWS.values(), ids=ROWS.keys())
def test_a_promise_without_a_proof_is_found(row: str) -> None:
    (promise,) = promises(f"| promise | test |\n|---|---|\n{row}\n")
    assert lacks(promise)


def test_a_promise_of_a_simulation_names_a_mutant_that_is_there() -> None:
    table = "| promise of a week | found broken by the mutant |\n|---|---|\n| x | `{}` |\n"
    known, unknown = (next(promises(table.format(name))) for name in ("sleep_forgotten", "sleep_forgo"))
    assert (lacks(known), bool(lacks(unknown))) == ([], True)


def test_other_tables_make_no_promise() -> None:
    assert list(promises("| what | command |\n|---|---|\n| x | y |\n")) == []
