"""Names of tickets, runs and branches, and the rules a name must keep.

Must not touch git or the file system. Stdlib only.
"""

from __future__ import annotations

import re
import unicodedata

from autopilot.schemas.errors import TicketError

# Texts, not compiled: every command imports this, and few of them need one. `re` keeps what it has compiled.
_TICKET_ID = r"^T-([1-9][0-9]*)$"
BRANCH_PREFIX = "autopilot/"
PROTECTED_BRANCHES = ("main", "master", "develop", "release/*", "hotfix/*")

_MAX_SLUG_CHARS = 40
_KEY = r"[A-Z][A-Z0-9_]+-[1-9][0-9]*"
ISSUE_PAGE = r"https?://[^/\s]+/([^\s?#]+?)/(?:-/)?issues/([1-9][0-9]*)/?(?:[?#]\S*)?"
KEY_PAGE = rf"https?://[^/\s]+/(?:[^\s?#]+/)?browse/({_KEY})/?(?:[?#]\S*)?"
REFERENCE = rf"(?a:(?:[\w.-]+(?:/[\w.-]+)*)?#[1-9][0-9]*|{_KEY})"
LANGUAGE = r"^[a-z]{2,3}(-[A-Z][A-Za-z]{1,3})?$"
"""What people are written to in: it stands among the rules of a prompt, where no other text may."""
_MAX_SHORT_ID = 2**63 - 1
_MAX_ID_CHARS = 24
_MAX_REF_BYTES = 200
_SURROGATE = "[\ud800-\udfff]"
_REF_FORBIDDEN = r"[\x00-\x20\x7f~^:?*\[\\]|\.\.|@\{|//"


def ticket_id(short_id: int) -> str:
    """Name the ticket with this machine-wide number."""
    return f"T-{short_id}"


def short_id_of(ticket: str) -> int:
    """Read the number back from `T-12`, `t-12` or `12`.

    Raises:
        TicketError: `ticket-unknown`: the text names no ticket.
    """
    text = ticket.strip().upper()
    match = re.match(_TICKET_ID, text if text.startswith("T-") else f"T-{text}")
    if match is None or len(text) > _MAX_ID_CHARS or int(match.group(1)) > _MAX_SHORT_ID:
        what = f"not a ticket id: {ticket[:40]!r} (they look like T-12)"
        raise TicketError("ticket-unknown", what, hint="see: autopilot list")
    return int(match.group(1))


def canonical(ticket: str) -> str:
    """Give the id that `T-3`, `t-3` or `3` means; raises as `short_id_of`."""
    return ticket_id(short_id_of(ticket))


def is_reference(text: str) -> bool:
    """Tell whether the whole text names an issue: `PROJ-7`, `#12`, `name#12`, `owner/name#12` or its page."""
    return any(re.fullmatch(pattern, text) for pattern in (REFERENCE, ISSUE_PAGE, KEY_PAGE))


def source_name(key: str, *, repo: str) -> str:
    """Give one name to an issue, however it was written; what is no reference stays as it is.

    A page's address becomes `owner/name#12` or `PROJ-7`; a bare `#12` is an issue of the ticket's repository.
    """
    if match := re.fullmatch(ISSUE_PAGE, key):
        return f"{match[1]}#{match[2]}"
    if match := re.fullmatch(KEY_PAGE, key):
        return match[1]
    return f"{repo}{key}" if key.startswith("#") and is_reference(key) else key


def run_id(ticket: str, attempt: int, token: str) -> str:
    """Name one attempt's run; `token` is 8 hex digits, so that no name is ever used twice."""
    return f"{ticket}-a{attempt}-{token}"


def slug(title: str, *, max_chars: int = _MAX_SLUG_CHARS) -> str:
    """Reduce a title to lower-case ASCII words joined by `-`; `work` when nothing is left."""
    plain = unicodedata.normalize("NFKD", title).encode("ascii", "ignore").decode("ascii").lower()
    words = re.sub(r"[^a-z0-9]+", "-", plain).strip("-")
    return words[:max_chars].rstrip("-") or "work"


def branch_name(ticket: str, title: str, *, prefix: str = BRANCH_PREFIX) -> str:
    """Name the ticket's branch; the same ticket and title always give the same name."""
    return f"{prefix}{ticket.lower()}-{slug(title)}"


def ref_name_fault(name: str) -> str | None:
    """Say what is wrong with a branch name, or None when git and our command lines can carry it.

    Source: git-check-ref-format(1), and a leading `-` would be read as an option.
    """
    if not name:
        return "is empty"
    if re.search(_SURROGATE, name):
        return "holds half a character, which no text file can carry"
    if name.startswith("-"):
        return "starts with '-', which git would read as an option"
    if re.search(_REF_FORBIDDEN, name):
        return "holds a space, a control character or one of ~ ^ : ? * [ \\ .. @{ //"
    if name.startswith("/") or name.endswith(("/", ".", ".lock")) or name in {"@", "HEAD"}:
        return "starts or ends in a way git refuses"
    if any(part.startswith(".") or part.endswith(".lock") for part in name.split("/")):
        return "has a part that starts with '.' or ends in '.lock'"
    if len(name.encode()) > _MAX_REF_BYTES:
        return f"is longer than {_MAX_REF_BYTES} bytes"
    return None


def is_protected_branch(name: str) -> bool:
    """Tell whether the name, compared without case, is one nobody's machine may push to."""
    folded = name.casefold()
    return any(
        folded.startswith(pattern[:-1]) if pattern.endswith("*") else folded == pattern
        for pattern in PROTECTED_BRANCHES
    )
