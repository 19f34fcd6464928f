"""Whose words a ticket is made of, and whether that is enough to work by them unattended.

Pure. Must not trust a name: only what the tracker says of an account, and that account's unchangeable number.
Fails closed: what is missing or unknown is not trusted. Source: ADR 0123.
"""

from __future__ import annotations

import hashlib
import json
import re
from typing import TYPE_CHECKING, Annotated

from pydantic import Field

from autopilot.schemas.records import Input, Record

if TYPE_CHECKING:
    from collections.abc import Sequence

_PART = r"^[a-z][a-z0-9-]{0,62}$"
_ACCOUNT = rf"{_PART[:-1]}:[A-Za-z0-9_=:.@+-]{{1,128}}$"
_DIGEST = r"^[0-9a-f]{64}$"

Account = Annotated[
    str,
    Field(pattern=_ACCOUNT, description="tracker:number, as its API tells it, e.g. github:583231"),
]
"""Who somebody is for ever: a login can be given up and taken by somebody else, this cannot."""


def is_account(name: str) -> bool:
    """Tell whether somebody can be called so."""
    return re.fullmatch(_ACCOUNT, name) is not None


class Approval(Input):
    """Somebody has read a text and wants it done: this text, and no later one."""

    by: Account
    text_sha256: str = Field(pattern=_DIGEST, description="of the text as it was approved: text_digest")


class Origin(Input):
    """Where a ticket's text comes from. Without one, it is the operator's own."""

    source: str = Field(pattern=_PART, description="which tracker, e.g. github")
    author: Account
    association: str = Field(
        default="NONE", max_length=40, description="what the tracker says the author is to the repository"
    )
    editors: tuple[Account, ...] = Field(
        default=(), description="who else changed the text, where the tracker tells; trusted as authors are"
    )
    approval: Approval | None = None


class Trust(Record):
    """Whose tickets are worked on without a person having looked at them here."""

    associations: tuple[str, ...] = ("OWNER", "MEMBER", "COLLABORATOR")
    authors: tuple[str, ...] = ()


def text_digest(title: str, body: str, acceptance: Sequence[str]) -> str:
    """Give the digest of all that an agent would be told, so that no part can move into another."""
    whole = json.dumps([title, body, *acceptance], ensure_ascii=True, separators=(",", ":"))
    return hashlib.sha256(whole.encode("ascii")).hexdigest()


def distrust(origin: Origin | None, digest: str, trust: Trust) -> str | None:
    """Say why a text is not worked on, or None.

    Args:
        origin: where it comes from; None: the operator wrote it.
        digest: of the text as it is now.
        trust: whom the operator trusts.
    """
    if origin is None:
        return None
    if not all(who.startswith(f"{origin.source}:") for who in (origin.author, *origin.editors)):
        return "its author is not of the tracker that it comes from"
    stranger = _stranger(origin, trust)
    if stranger is None:
        return None
    approval = origin.approval
    if approval is None:
        return f"{stranger} is not trusted, and nobody approved it"
    if approval.by not in trust.authors:
        return f"{approval.by}, who approved it, is not among the trusted authors"
    if approval.text_sha256 != digest:
        return "its text was changed after it had been approved"
    return None


def _stranger(origin: Origin, trust: Trust) -> str | None:
    """Name whoever wrote the text, or a part of it, and is not trusted."""
    is_trusted = origin.author in trust.authors or origin.association in trust.associations
    if not is_trusted:
        return f"its author ({origin.author}, {origin.association or 'unknown'})"
    editor = next((who for who in origin.editors if who not in trust.authors and who != origin.author), None)
    return None if editor is None else f"{editor}, who changed its text,"
