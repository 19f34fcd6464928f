"""The page of every command, written from the parser so that it cannot say anything else.

`docs/cli.md` is made by `python -P -m autopilot.daemon.cli_page > docs/cli.md`; a test fails when it has
drifted.
"""

from __future__ import annotations

import argparse
import sys
from typing import TYPE_CHECKING

from autopilot.daemon.cli.main import build_parser
from autopilot.daemon.cli.verbs import VERBS

if TYPE_CHECKING:
    from collections.abc import Iterator

_HEAD = """\
# Commands

Written from the program; change it there and run `python -P -m autopilot.daemon.cli_page > docs/cli.md`.

Every command explains itself with `--help`. Those that read take `--json`: one document on standard output,
the same bytes whether a daemon answers or the command reads the queue itself; a refusal is then
`{"error": {"code", "what", "hint", "exit"}}`. Ticket numbers are understood as `T-3`, `t-3` and `3`.
`autopilot-on` and `autopilot-off` are `autopilot on` and `autopilot off` under names of their own.

| exit code | means |
|---|---|
| 0 | done |
| 1 | failed: the ticket, its text or its fields |
| 2 | the command line cannot be read |
| 3 | refused: the present state does not allow it, or NO-GO |
| 70 | a bug of ours; a report that can be pasted is left |
| 75 | try again later |
| 78 | the configuration, the database or the state folder is to be mended |
| 130 | interrupted |
"""


def page() -> str:
    """Write the page."""
    verbs = parts(build_parser())
    return (
        "\n".join([_HEAD.rstrip(), *(line for name in VERBS for line in _section(name, verbs[name]))]) + "\n"
    )


def parts(parser: argparse.ArgumentParser) -> dict[str, argparse.ArgumentParser]:
    """Give the parser of each verb."""
    actions = parser._actions  # noqa: SLF001 - argparse has no other way to its sub-commands
    (found,) = (action for action in actions if isinstance(action, argparse._SubParsersAction))  # noqa: SLF001
    return dict(found.choices)


def _section(name: str, parser: argparse.ArgumentParser) -> Iterator[str]:
    summary = VERBS[name]
    yield from ("", f"## autopilot {name}", "", f"{summary[0].upper()}{summary[1:]}.")
    actions = [action for action in parser._actions if action.dest != "help"]  # noqa: SLF001 - as above
    if actions:
        yield from ("", "| argument | what it does |", "|---|---|")
        yield from (f"| {_spelling(action)} | {_escaped(action.help or '')} |" for action in actions)


def _spelling(action: argparse.Action) -> str:
    value = _value(action)
    if not action.option_strings:
        return f"`{value}`"
    return ", ".join(f"`{' '.join(filter(None, (option, value)))}`" for option in action.option_strings)


def _value(action: argparse.Action) -> str:
    if action.nargs == 0:
        return ""
    if action.choices is not None:
        name = _escaped("|".join(map(str, action.choices)))
    else:
        name = str(action.metavar or action.dest.upper())
    match action.nargs:
        case "?":
            return f"[{name}]"
        case "*":
            return f"[{name} …]"
        case "+":
            return f"{name} …"
        case _:
            return name


def _escaped(text: str) -> str:
    return text.replace("|", r"\|")


if __name__ == "__main__":
    sys.stdout.write(page())
