"""Writes the message of the one commit that a run makes, and the text of its request to publish.

Must not let out what `schemas/outbound` finds fault with: no commit message can be changed later, and the
publisher refuses one that breaks a rule. Pure text.
"""

from __future__ import annotations

import re
import textwrap
from typing import TYPE_CHECKING

from autopilot.config.plain import plain
from autopilot.schemas.outbound import clean, clean_line, faults

if TYPE_CHECKING:
    from autopilot.schemas.run import RunSpec

MAX_SUBJECT_CHARS = 100
MAX_SUMMARY_CHARS = 4000
_WIDTH_CHARS = 100
# Whoever an agent names in a trailer, it is not for it to say who signed or helped.
_TRAILER = re.compile(r"^\s*[A-Za-z][A-Za-z0-9-]*-(?:by|with|id):\s", re.IGNORECASE)
_ROBOT = "\N{ROBOT FACE}"


def commit_message(spec: RunSpec, summary: str) -> str:
    """Write subject, summary and the `Ref:` trailer."""
    parts = (_subject(spec), _laid_out(outward(spec, summary)[:MAX_SUMMARY_CHARS]), f"Ref: {spec.ticket_id}")
    message = "\n\n".join(part for part in parts if part)
    return clean(message, roots=_roots(spec)).text.strip() + "\n"


def outward(spec: RunSpec, text: str) -> str:
    """Make a text of an agent's fit to leave this machine, keeping its lines."""
    shown = without_places(spec, plain(text, max_chars=len(text)))
    kept = (line for line in shown.splitlines() if not _TRAILER.match(line) and _ROBOT not in line)
    return clean("\n".join(kept), roots=_roots(spec)).text.strip()


def outward_title(spec: RunSpec) -> str:
    """Make the ticket's title fit to leave this machine; it is never empty."""
    return clean_line(plain(spec.title), roots=_roots(spec)) or "Work on the ticket"


def without_places(spec: RunSpec, text: str) -> str:
    """Make paths in the worktree relative to it."""
    for place in (spec.worktree, spec.worktree.resolve()):
        text = text.replace(f"{place}/", "").replace(str(place), "the worktree")
    return text


def is_outward(spec: RunSpec, text: str) -> bool:
    """Tell whether a text may leave this machine as it is."""
    return not faults(text, roots=_roots(spec))


def _roots(spec: RunSpec) -> tuple[str, ...]:
    places = (spec.worktree, spec.worktree.parent.parent, spec.run_dir, spec.run_dir.parent.parent)
    return tuple(dict.fromkeys(str(place) for place in places))


def _subject(spec: RunSpec) -> str:
    return textwrap.shorten(outward_title(spec), MAX_SUBJECT_CHARS, placeholder=" …")


def _laid_out(text: str) -> str:
    """Wrap long lines, except those that stand as somebody laid them out."""
    lines = (line if _is_laid_out(line) else textwrap.fill(line, _WIDTH_CHARS) for line in text.splitlines())
    # A line that begins with `#` would be taken for a comment by a later `git rebase`.
    return "\n".join(f" {line}" if line.startswith("#") else line for line in lines)


def _is_laid_out(line: str) -> bool:
    return line.startswith((" ", "\t", "-", "*", "|", "`"))
