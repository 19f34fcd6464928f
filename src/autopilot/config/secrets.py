"""The one reader of credentials: the system's key ring, by logical name.

Must not fall back to a store in plain text: the backend is named here, never chosen by what happens to be
installed. `AUTOPILOT_SECRET_<NAME>` stands in for the key ring where there is none (a server, a test).
Source: docs/decisions/0014.
"""

from __future__ import annotations

import os
import re
import shlex
import sys
from contextlib import closing
from typing import TYPE_CHECKING, Literal

from autopilot.config.clock import SystemClock
from autopilot.schemas.errors import ConfigError

if TYPE_CHECKING:
    from keyring.backend import KeyringBackend

SERVICE = "autopilot"
VARIABLE_PREFIX = "AUTOPILOT_SECRET_"

Status = Literal["readable", "missing", "locked", "no-backend"]


def variable_for(name: str) -> str:
    """Name the variable that stands in for the key ring: `github-web` is AUTOPILOT_SECRET_GITHUB_WEB."""
    return VARIABLE_PREFIX + re.sub(r"[^A-Z0-9]", "_", name.upper())


def read(name: str) -> str | None:
    """Read a credential. Only the process that uses it may ask, and a report, to take it out.

    Returns:
        Its value; None when there is none of this name, or no key ring at all.

    Raises:
        ConfigError: the key ring is locked.
    """
    given = os.environ.get(variable_for(name))
    if given:
        return given
    backend = _backend()
    if backend is None:
        return None
    from keyring.errors import KeyringError  # noqa: PLC0415  the imports of a key ring are slow

    try:
        return backend.get_password(SERVICE, name) or None
    except KeyringError as exc:
        hint = f"unlock the key ring, or set {variable_for(name)}"
        raise ConfigError("credential-locked", f"the credential {name!r} cannot be read", hint=hint) from exc


def stored_by(name: str) -> str:
    """Say how a person stores a credential."""
    program = shlex.quote(f"{sys.executable}")  # runs the key ring's own command, and nothing of ours
    return f"{program} -m keyring set {SERVICE} {name}, or set {variable_for(name)}"


def status(name: str) -> Status:
    """Tell whether a credential could be read, without reading it."""
    if os.environ.get(variable_for(name)):
        return "readable"
    if sys.platform == "darwin":
        from autopilot.config import keychain  # noqa: PLC0415  only there

        return keychain.status(SERVICE, name, SystemClock())
    if _backend() is None:
        return "no-backend"
    return _status_in_secret_service(name)


def _backend() -> KeyringBackend | None:
    """Give the platform's own key ring, or None. Never a chain, a file, or the one that always fails."""
    if sys.platform == "darwin":
        from keyring.backends.macOS import Keyring  # noqa: PLC0415  exists on macOS only
    else:
        from keyring.backends.SecretService import Keyring  # noqa: PLC0415  opens D-Bus
    # keyring leaves its constructors without annotations.
    return Keyring() if Keyring.viable else None  # type: ignore[no-untyped-call]


def _status_in_secret_service(name: str) -> Status:
    """Look at the item's attributes only: that opens no secret and no dialog.

    Source: Secret Service API, SearchItems and the property Locked.
    """
    import secretstorage  # noqa: PLC0415  opens D-Bus

    try:
        with closing(secretstorage.dbus_init()) as bus:
            wanted = {"service": SERVICE, "username": name}
            items = list(secretstorage.search_items(bus, wanted))
            if not items:
                return "missing"
            return "locked" if all(item.is_locked() for item in items) else "readable"
    except secretstorage.SecretStorageException:
        return "no-backend"
