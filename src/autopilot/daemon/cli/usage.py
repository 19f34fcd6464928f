"""Words of a command line that mean a number or a time; each refusal names the option. Stdlib only."""

from __future__ import annotations

import argparse

from autopilot.schemas.errors import AutopilotError, ExitCode
from autopilot.schemas.units import parse_duration_s

TYPE_CHECKING = False  # not from `typing`: ADR 0072
if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from typing import Any, NoReturn

LONGEST_S = 366 * 86_400.0
"""Longer than any night; beyond it, times run out of the calendar."""


class UsageError(AutopilotError):
    """The command line cannot be read."""

    exit_code = ExitCode.USAGE


class _NoTerminal(argparse.HelpFormatter):
    """What argparse checks each argument with; the terminal's width, dear to ask for, is not needed there."""

    def __init__(self, prog: str) -> None:
        super().__init__(prog, width=80)


class Parser(argparse.ArgumentParser):
    """argparse, with its complaints as errors of ours."""

    def __init__(self, **options: Any) -> None:  # noqa: ANN401 - the base class's own
        """Take what `ArgumentParser` takes, by name."""
        super().__init__(formatter_class=_NoTerminal, **options)

    def format_usage(self) -> str:
        """Give the usage in the terminal's width."""
        self.formatter_class = argparse.HelpFormatter
        return super().format_usage()

    def format_help(self) -> str:
        """Give the help in the terminal's width."""
        self.formatter_class = argparse.HelpFormatter
        return super().format_help()

    def error(self, message: str) -> NoReturn:
        """Refuse the command line.

        Raises:
            UsageError: always.
        """
        raise UsageError("usage", message, hint=f"see: {self.prog} --help")


def refuse_empty(argv: Sequence[str]) -> None:
    """Refuse a word that says nothing: it is a variable that was not set, and no verb means anything by it.

    Raises:
        AutopilotError: there is one; what it belongs to is named.
    """
    for number, word in enumerate(argv):
        option, equals, value = word.partition("=")
        is_option = option.startswith("--") and len(option) > len("--") and " " not in option
        if not word or (is_option and equals and not value):
            before = argv[number - 1] if number else ""
            where = option or (before if before.startswith("-") else f"word {number + 1}")
            what = f"{where} of the command line is empty"
            raise AutopilotError("empty-word", what, hint="is a variable of the shell not set?")


def unknown(word: str, known: Iterable[str]) -> UsageError:
    """Build the error for a command that does not exist, with the one that was probably meant."""
    from autopilot.config.nearest import nearest

    hint = nearest(word, known) or "see: autopilot --help"
    return UsageError("verb-unknown", f"there is no command {word!r}", hint=hint)


def seconds(text: str, option: str) -> float:
    """Read a duration option.

    Raises:
        UsageError: it is no duration, or one longer than a year.
    """
    try:
        duration_s = parse_duration_s(text)
    except ValueError as exc:
        raise UsageError("bad-duration", f"{option}: {exc}", hint=f"e.g. {option} 8h") from exc
    if duration_s > LONGEST_S:
        raise UsageError("bad-duration", f"{option}: {text} is longer than a year", hint=f"e.g. {option} 8h")
    return duration_s


def count(text: str) -> int:
    """Read a whole number of at least one; the type of an argument.

    Raises:
        ArgumentTypeError: it is none.
    """
    if not (text.isascii() and text.isdecimal() and len(text) <= len("1000000") and int(text) > 0):
        msg = f"must be a whole number of at least 1, not {text!r}"
        raise argparse.ArgumentTypeError(msg)
    return int(text)
