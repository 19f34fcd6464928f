"""No line of ours forces a push: neither an option nor a refspec with a plus."""

import ast
from collections.abc import Iterator

import pytest

from tests.support.tree import ROOT

FORCING = {"--force", "-f", "--mirror", "--prune", "--delete", "-d"}


def strings(tree: ast.AST) -> Iterator[str]:
    """Every literal text, and the literal beginning of every f-string."""
    for node in ast.walk(tree):
        if isinstance(node, ast.JoinedStr):
            first = node.values[0] if node.values else None
            yield str(first.value) if isinstance(first, ast.Constant) else ""
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield node.value


def breaches(source: str) -> list[str]:
    found = []
    for node in ast.walk(ast.parse(source)):
        if not isinstance(node, ast.Call | ast.Tuple | ast.List):
            continue
        words = list(strings(node))
        if "push" in words:
            found += [word for word in words if word in FORCING or word.startswith("+")]
    return found


@pytest.mark.field_report("PUB-013")
def test_no_push_of_ours_can_write_over_what_it_did_not_expect() -> None:
    sources = {path: path.read_text("utf-8") for path in (ROOT / "src").rglob("*.py")}
    assert {path: found for path, text in sources.items() if (found := breaches(text))} == {}


@pytest.mark.parametrize(
    "source",
    [
        'git.run("push", "--force", url)',
        'ARGS = ("push", "-f")',
        'git.run("push", url, f"+{sha}:refs/heads/{name}")',
        'git.run("push", url, "+refs/heads/x")',
        'git.run(*["push", "--mirror"])',
    ],
)
def test_every_way_to_force_a_push_is_noticed(source: str) -> None:
    assert breaches(source)


def test_a_lease_is_no_force() -> None:
    assert breaches('git.run("push", f"--force-with-lease={ref}:{old}", url, f"{sha}:{ref}")') == []
