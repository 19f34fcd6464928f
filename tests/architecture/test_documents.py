"""What the documents tell a person to type exists."""

from __future__ import annotations

import ast
import os
import re

import pytest

from autopilot.daemon.cli.verbs import VERBS
from tests.support.tree import ROOT, tree_files

DOCUMENTS = [path.as_posix() for path in tree_files() if path.suffix == ".md" and path.parts[0] != "tests"]
FIRST_SCREEN_LINES = 20


def commands(text: str) -> set[str]:
    """Verbs that follow `autopilot` in code, block or inline."""
    code = re.findall(r"`(autopilot [^`]+)`", text)
    code += [line for block in re.findall(r"```\n(.*?)```", text, re.DOTALL) for line in block.splitlines()]
    found = (re.match(r"(?:\w+=\S+ )*autopilot ([a-z]+)", line.strip()) for line in code)
    return {match[1] for match in found if match}


def scripts(text: str) -> set[str]:
    """Programs of `script/` that a text names."""
    return {f"script/{name}" for name in re.findall(r"\bscript/([a-z]+)\b", text)}


@pytest.mark.parametrize("document", DOCUMENTS)
def test_a_document_names_commands_and_scripts_that_exist(document: str) -> None:
    text = (ROOT / document).read_text(encoding="utf-8")
    assert commands(text) <= set(VERBS)
    assert [name for name in scripts(text) if not os.access(ROOT / name, os.X_OK)] == []


def test_a_command_or_script_that_does_not_exist_is_found() -> None:
    assert commands("Use `autopilot frobnicate x`.") == {"frobnicate"}
    assert commands("```\nA=b autopilot add x\nautopilot undo\n```\n") == {"add", "undo"}
    assert scripts("run script/frob or script/test") == {"script/frob", "script/test"}


def words_of(module: str) -> set[str]:
    """First words that the entry point of a part matches on: `run`, `verify`, …"""
    tree = ast.parse((ROOT / "src" / "autopilot" / module / "__main__.py").read_text(encoding="utf-8"))
    firsts = [
        node.patterns[0] for node in ast.walk(tree) if isinstance(node, ast.MatchSequence) and node.patterns
    ]
    values = [first.value for first in firsts if isinstance(first, ast.MatchValue)]
    return {
        value.value for value in values if isinstance(value, ast.Constant) and isinstance(value.value, str)
    }


@pytest.mark.covers("B07")
def test_one_document_says_what_each_entry_point_may_do_unattended_and_what_it_never_does() -> None:
    text = (ROOT / "docs" / "unattended-contract.md").read_text(encoding="utf-8")
    rows = [line.strip("|").split("|") for line in text.splitlines() if line.startswith("|")][2:]
    assert all(len(row) == 3 and all(cell.strip() for cell in row) for row in rows)
    entries = " ".join(row[0] for row in rows)
    starts = [path.parent for path in tree_files() if path.parts[0] == "src" and path.name == "__main__.py"]
    assert {"autopilot.runner", "autopilot.publish"} <= {".".join(start.parts[1:]) for start in starts}
    for start in starts:
        name = ".".join(start.parts[1:])
        if start.parts[2] == "daemon":  # the command line and the daemon that it starts
            assert {"`autopilot` (command line)", "the daemon", "the agent"} <= {
                row[0].strip() for row in rows
            }
            continue
        assert f"`{name}`" in entries or f"`{name} " in entries
        assert [word for word in words_of(start.parts[2]) if f"`{name} {word}`" not in entries] == []
    assert words_of("runner") == {"run", "verify", "bounds"}
    assert "unattended-contract.md" in (ROOT / "README.md").read_text(encoding="utf-8")


def test_the_first_screen_of_the_readme_names_the_demo_and_the_tests() -> None:
    lines = (ROOT / "README.md").read_text(encoding="utf-8").splitlines()
    assert {"script/demo", "script/test"} <= scripts("\n".join(lines[:FIRST_SCREEN_LINES]))
    assert {"init", "add", "on", "digest", "review"} <= commands("\n".join(lines))
