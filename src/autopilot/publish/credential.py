"""Reads the forge's token, at the one moment when it is needed, and lends it.

Must not be called before everything that can be done without it is done.
"""

from __future__ import annotations

from contextlib import nullcontext
from typing import TYPE_CHECKING

from autopilot.config import secrets
from autopilot.publish.askpass import NO_ACCESS, lent
from autopilot.publish.stops import Stop
from autopilot.schemas.errors import ConfigError

if TYPE_CHECKING:
    from contextlib import AbstractContextManager
    from pathlib import Path

    from autopilot.publish.askpass import Access


def access(name: str, folder: Path) -> AbstractContextManager[Access]:
    """Lend the credential of this name for as long as the context lasts; none is needed without a name.

    Args:
        name: under which `config.secrets` finds it; empty for a forge without one.
        folder: a private folder of ours.

    Raises:
        Stop: it is missing, locked or damaged.
    """
    if not name:
        return nullcontext(NO_ACCESS)
    hint = "store or unlock it, then resume the ticket; `autopilot doctor` shows its state"
    try:
        token = secrets.read(name)
    except ConfigError as exc:
        raise Stop(exc.code, exc.what, waiting_for="credential", hint=exc.hint or hint) from exc
    if token is None:
        what = f"the credential {name!r} is not readable: {secrets.status(name)}"
        raise Stop("credential-missing", what, waiting_for="credential", hint=hint)
    return lent(token.strip(), folder)
