"""Reads the token of a forge or a tracker, at the one moment when it is needed, and lends it.

Must not be called before everything that can be done without it is done.
"""

from __future__ import annotations

from contextlib import nullcontext
from typing import TYPE_CHECKING

from autopilot.config import secrets
from autopilot.publish.askpass import NO_ACCESS, lent
from autopilot.publish.stops import CredentialError
from autopilot.schemas.errors import ConfigError

if TYPE_CHECKING:
    from contextlib import AbstractContextManager
    from pathlib import Path

    from autopilot.publish.askpass import Access


def access(name: str, folder: Path, *, then: str) -> AbstractContextManager[Access]:
    """Lend the credential of this name for as long as the context lasts; none is needed without a name.

    Args:
        name: under which `config.secrets` finds it; empty where none is needed.
        folder: a private folder of ours.
        then: what to do once it can be read, in the words of whoever asks.

    Raises:
        CredentialError: it is missing, locked or damaged.
    """
    if not name:
        return nullcontext(NO_ACCESS)
    hint = f"{secrets.stored_by(name)}; then {then}"
    try:
        token = secrets.read(name)
    except ConfigError as exc:
        raise CredentialError(exc.code, exc.what, hint=f"{exc.hint}; then {then}") from exc
    if token is None:
        what = f"the credential {name!r} is not readable: {secrets.status(name)}"
        raise CredentialError("credential-missing", what, hint=hint)
    return lent(token.strip(), folder)
