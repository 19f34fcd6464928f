"""Writes the message of the one commit that a run makes.

Must not let out: a closing keyword (people close issues), a mention (nobody is called at night), words about
which tool wrote it, or characters that a terminal obeys. Pure text; the publisher checks it all again.
"""

from __future__ import annotations

import re
import textwrap
from typing import TYPE_CHECKING

from autopilot.config.plain import plain

if TYPE_CHECKING:
    from autopilot.schemas.run import RunSpec

MAX_SUBJECT_CHARS = 100
MAX_SUMMARY_CHARS = 4000
_WIDTH_CHARS = 100

# Source: GitHub, "Linking a pull request to an issue using a keyword"; GitLab knows some more forms.
_CLOSING = re.compile(
    r"\b(?:clos(?:e[sd]?|ing)|fix(?:e[sd]|ing)?|resolv(?:e[sd]?|ing)|implement(?:s|ed|ing)?)\b"
    r"(?=\s*:?\s+(?:issues?\s+)?(?:[\w.-]+/[\w.-]+)?(?:#\d|GH-\d|[A-Z][A-Z0-9]+-\d|https?://\S+/(?:issues|work_items)/\d))",
    re.IGNORECASE,
)
_PLACE = re.compile(r"(?<![\w.:/~-])(?:~|/[\w.@+-]+)/[\w.@+-]")
_MENTION = re.compile(r"(?<![\w`])@(?=[A-Za-z0-9])")
_TRAILER = re.compile(r"^[A-Za-z][A-Za-z0-9-]*-(?:by|with|id):\s", re.IGNORECASE)
_ATTRIBUTION = re.compile(
    r"(?:generated|written|created|authored|made|powered|assisted)[\s-]+(?:with|by|using)\b.*"
    r"(?:\bai\b|claude|anthropic|codex|openai|chatgpt|\bgpt\b|copilot|gemini|cursor|aider|opencode|\bllm\b)"
    r"|\N{ROBOT FACE}|noreply@anthropic\.com",
    re.IGNORECASE,
)


def commit_message(*, title: str, summary: str, ticket_id: str) -> str:
    """Write subject, summary and the `Ref:` trailer."""
    parts = [_subject(title), *_paragraphs(summary), f"Ref: {ticket_id}"]
    return "\n\n".join(part for part in parts if part) + "\n"


def outbound_text(text: str) -> str:
    """Make a text harmless outside of this machine, keeping its lines."""
    kept = (line for line in plain(text, max_chars=len(text)).splitlines() if not _is_attribution(line))
    return neutral_text("\n".join(kept)).strip()


def neutral_text(text: str) -> str:
    """Put `Ref` in place of a closing keyword, and part the sign of a mention from its name."""
    return _MENTION.sub("@ ", _CLOSING.sub("Ref", text))


def without_places(text: str, spec: RunSpec) -> str:
    """Take this machine's folders out of a text: a path in the worktree becomes relative to it."""
    for place in (spec.worktree, spec.worktree.resolve()):
        text = text.replace(f"{place}/", "").replace(str(place), ".")
    return text.replace(str(spec.run_dir), "(run)")


def holds_place(text: str) -> bool:
    """Tell whether a text names an absolute path."""
    return bool(_PLACE.search(text))


def _subject(title: str) -> str:
    subject = " ".join(neutral_text(plain(title)).split())
    return textwrap.shorten(subject, MAX_SUBJECT_CHARS, placeholder=" …") if subject else "Work on the ticket"


def _paragraphs(summary: str) -> list[str]:
    text = outbound_text(summary)[:MAX_SUMMARY_CHARS]
    lines = (line if _is_laid_out(line) else textwrap.fill(line, _WIDTH_CHARS) for line in text.splitlines())
    # A line of a summary that begins with `#` would be taken for a comment by a later `git rebase`.
    return ["\n".join(f" {line}" if line.startswith("#") else line for line in lines)]


def _is_laid_out(line: str) -> bool:
    return line.startswith((" ", "\t", "-", "*", "|", "`"))


def _is_attribution(line: str) -> bool:
    return bool(_TRAILER.match(line.strip()) or _ATTRIBUTION.search(line))
