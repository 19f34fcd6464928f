"""Text that others wrote enters a prompt through the fence, and in no other way."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from tests.architecture.source import Breach, Module, Rule, imports

PROMPT = "src/autopilot/runner/prompt.py"
# What tickets, people, tests and the repository have written, by the names it has in our records.
OF_OTHERS = frozenset(
    {
        "title",
        "body",
        "acceptance",
        "question",
        "answer",
        "feedback",
        "failing_ids",
        "test_command",
        "summary",
    }
)
FENCES = frozenset({"fence", "theirs"})


def unfenced(module: Module) -> Iterator[Breach]:
    """Name each use of others' text that is neither fenced nor only asked about."""
    parents = {child: node for node in module.nodes for child in ast.iter_child_nodes(node)}
    for node in module.nodes:
        if isinstance(node, ast.Attribute) and node.attr in OF_OTHERS and not _is_safe(node, parents):
            yield Breach(node.lineno, f"{ast.unparse(node)} is others' text and not fenced")


def _is_safe(node: ast.expr, parents: dict[ast.AST, ast.AST]) -> bool:
    child: ast.AST = node
    while (parent := parents.get(child)) is not None:
        if isinstance(parent, ast.Call) and child is not parent.func:
            name = (
                parent.func.attr if isinstance(parent.func, ast.Attribute) else getattr(parent.func, "id", "")
            )
            if name in FENCES:
                return True
        if isinstance(parent, ast.If | ast.IfExp | ast.While) and child is parent.test:
            return True
        child = parent
    return False


def written_elsewhere(module: Module) -> Iterator[Breach]:
    """Name each order to an agent in a module that does not take its prompt from the one that writes them."""
    takes = any(name.startswith("autopilot.runner.prompt.") for _, name in imports(module))
    for node in module.nodes:
        if isinstance(node, ast.Call) and getattr(node.func, "id", "") == "Order" and not takes:
            yield Breach(node.lineno, "an agent is given a prompt that runner/prompt.py has not written")


RULES = (
    Rule(
        "prompts are written in one place",
        written_elsewhere,
        ("src/autopilot/runner/",),
        bad=(("src/autopilot/runner/phases/x.py", "Order(prompt=path)"),),
        good=(
            (
                "src/autopilot/runner/phases/x.py",
                "from autopilot.runner.prompt import write_prompt\nOrder(prompt=write_prompt())",
            ),
        ),
    ),
    Rule(
        "others' text is fenced in a prompt",
        unfenced,
        (PROMPT,),
        bad=(
            (PROMPT, "def f(spec):\n    return f'Do this: {spec.body}'"),
            (PROMPT, "def f(sheet, spec):\n    sheet.ours(spec.title)"),
            (PROMPT, "def f(sheet, counts):\n    names = counts.failing_ids\n    sheet.ours(str(names))"),
        ),
        good=(
            (
                PROMPT,
                "def f(sheet, spec):\n    if spec.body:\n        sheet.theirs(spec.body, source='ticket')",
            ),
            (PROMPT, "def f(sheet, spec):\n    sheet.theirs(f'{spec.title}: {spec.body}', source='x')"),
        ),
    ),
)
