"""What the documents tell a person to type exists."""

from __future__ import annotations

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


def test_the_first_screen_of_the_readme_names_the_demo_and_the_tests() -> None:
    lines = (ROOT / "README.md").read_text(encoding="utf-8").splitlines()
    assert {"script/demo", "script/test"} <= scripts("\n".join(lines[:FIRST_SCREEN_LINES]))
    assert {"init", "add", "on", "digest", "review"} <= commands("\n".join(lines))
