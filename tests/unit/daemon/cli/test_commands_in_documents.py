"""What the documents tell a person to type is what the command line takes."""

from __future__ import annotations

import argparse
import re
import shlex
from collections.abc import Iterator

import pytest

from autopilot.daemon import cli_page
from autopilot.daemon.cli import frontmatter
from autopilot.daemon.cli.main import build_parser
from autopilot.daemon.cli.verbs import VERBS
from tests.support.tree import ROOT, tree_files

DOCUMENTS = [
    path.as_posix()
    for path in tree_files()
    if path.suffix == ".md" and (path.parts[0] == "docs" or len(path.parts) == 1)
]
INSTEAD = re.compile(r"\b(?:\w+=\S+ )*(autopilot(?:-on|-off)?) (.*)")


def typed(text: str) -> Iterator[list[str]]:
    """The words after `autopilot` in every command of a text, in code blocks and inline."""
    blocks = re.findall(r"^```\w*\n(.*?)^```", text, re.DOTALL | re.MULTILINE)
    inline = re.findall(r"`([^`\n]+)`", re.sub(r"^```.*?^```", "", text, flags=re.DOTALL | re.MULTILINE))
    for line in [*inline, *(line for block in blocks for line in block.splitlines())]:
        match = INSTEAD.fullmatch(line.strip())
        if match is not None:
            yield shlex.split(match[2], comments=True)


def faults(words: list[str]) -> list[str]:
    """What the parser does not know of a command; a value may be missing, as in `autopilot answer`."""
    verb, *rest = words
    if verb not in VERBS:
        return [f"there is no command {verb}"]
    part = cli_page.parts(build_parser([verb]))[verb]
    options = {name for action in part._actions for name in action.option_strings}  # noqa: SLF001 - no other way
    unknown = [word for word in rest if word.startswith("-") and word != "-" and word not in options]
    chosen = [action.choices for action in part._actions if action.choices and not action.option_strings]  # noqa: SLF001
    wrong = [word for word in rest[:1] if chosen and word not in chosen[0]]
    return [f"{verb} has no {word}" for word in [*unknown, *wrong]]


@pytest.mark.parametrize("document", DOCUMENTS)
def test_a_document_names_commands_options_and_acts_that_exist(document: str) -> None:
    text = (ROOT / document).read_text(encoding="utf-8")
    assert [fault for words in typed(text) for fault in faults(words)] == []


def test_a_command_or_option_that_does_not_exist_would_be_found() -> None:
    text = "Use `autopilot status --wach` or\n```sh\nautopilot config explain   # x\nautopilot undo\n```\n"
    assert [fault for words in typed(text) for fault in faults(words)] == [
        "status has no --wach",
        "config has no explain",
        "there is no command undo",
    ]
    assert list(typed('`A=b autopilot add "two words" --file x`')) == [["add", "two words", "--file", "x"]]


def test_every_command_of_the_readme_can_be_typed_as_it_stands() -> None:
    commands = list(typed((ROOT / "README.md").read_text(encoding="utf-8")))
    assert len(commands) > 10
    for words in commands:
        assert isinstance(build_parser([words[0]]).parse_args(words), argparse.Namespace)


def test_the_page_of_commands_is_what_the_parser_says() -> None:
    command = "python -P -m autopilot.daemon.cli_page > docs/cli.md"
    page = (ROOT / "docs" / "cli.md").read_text(encoding="utf-8")
    assert page == cli_page.page(), f"write it anew: {command}"
    assert command in page
    assert [f"## autopilot {verb}" for verb in VERBS] == re.findall(r"^## .*$", page, re.MULTILINE)


def test_every_key_of_a_ticket_file_is_described_and_the_example_is_one() -> None:
    text = (ROOT / "docs" / "tickets.md").read_text(encoding="utf-8")
    assert tuple(re.findall(r"^\| `(\w+)`", text, re.MULTILINE)) == frontmatter.KEYS
    (example,) = re.findall(r"^```markdown\n(.*?)^```", text, re.DOTALL | re.MULTILINE)
    fields, body = frontmatter.split(example)
    # An `origin` is of a ticket that somebody else wrote; the example is a person's own.
    assert tuple(fields) == tuple(key for key in frontmatter.KEYS if key != "origin")
    assert body.startswith("`discounted(994, 1)`")
