"""Tells an order from what was typed into the wrong place: a command, or several issues. Stdlib only."""

from __future__ import annotations

import re

from autopilot.daemon.cli.verbs import VERBS
from autopilot.schemas.errors import TicketError
from autopilot.schemas.ids import is_reference

TYPE_CHECKING = False  # not from `typing`: ADR 0072
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

_OURS = "autopilot"
# How a verb is said to do its work, as an option or as a word, and the verb that it belongs to.
_MODES: Mapping[str, str] = {
    **dict.fromkeys(("now", "until", "for", "force"), "on"),
    **dict.fromkeys(("finish", "drain"), "off"),
    "dry-run": "on",
    "help": "--help",
    "version": "--version",
}
# A ticket, a time of day, a duration.
_VALUE = r"t-[1-9][0-9]*|[0-9]{1,2}:[0-9]{2}|[0-9]+[smhd]?"
_MOST_WORDS = 4


def check(texts: Sequence[str]) -> None:
    """Refuse what is no order: a command of ours or its modes, a ticket's number, or several issues at once.

    Raises:
        TicketError: `not-a-ticket` or `references-joined`; what was probably meant is in the hint.
    """
    text = " ".join(texts).strip()
    if meant := _command(text):
        hint = f"did you mean: {meant}? A ticket says in a sentence what to do"
        raise TicketError("not-a-ticket", f"{text!r} is a command, not a ticket", hint=hint)
    found = text.split()
    if len(found) > 1 and all(map(is_reference, found)):
        hint = f"add them one by one: autopilot add '{found[0]}'"
        raise TicketError("references-joined", f"{text!r} names several issues", hint=hint)


def _command(text: str) -> str | None:
    """Give the command that a text says, when it says nothing else: one verb at most, and how it is done."""
    found = [word.lstrip("-") for word in text.casefold().split()]
    if found[:1] == [_OURS]:
        found = found[1:]
    verbs = [word for word in found if word in VERBS]
    rest = [word for word in found if word not in VERBS]
    if not found or len(found) > _MOST_WORDS or len(verbs) > 1:
        return None
    if not all(_is_mode(word) or re.fullmatch(_VALUE, word) for word in rest):
        return None
    said = [f"--{word}" if _is_mode(word) else word.upper() if word[0] == "t" else word for word in rest]
    if not verbs:
        verbs = ["show"] if rest[0].startswith("t-") else [_MODES[rest[0]]] if _is_mode(rest[0]) else []
        said = [] if verbs and verbs[0].startswith("-") else said
    return " ".join((_OURS, *verbs, *said)) if verbs else None


def _is_mode(word: str) -> bool:
    return word in _MODES
