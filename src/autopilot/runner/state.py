"""Keeps `agent-state.json`: validated when read and when written, replaced whole, no write lost.

Must not hold the document between calls: a reader takes it with its `rev`, and gives that `rev` back.
"""

from __future__ import annotations

import fcntl
import json
import os
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from autopilot.config.atomic import write_atomically
from autopilot.schemas.agent_state import AgentState, parse_state
from autopilot.schemas.errors import InvariantError, TransientError

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

_RESERVED = frozenset({"rev", "schemaVersion"})


def read_state(path: Path) -> AgentState:
    """Read the document, of whatever known version it is.

    Raises:
        InvariantError: it is not there or is no valid document; it is ours alone to write.
    """
    try:
        return parse_state(path.read_bytes())
    except FileNotFoundError as exc:
        raise InvariantError("state-missing", f"there is no state file {path}") from exc
    except ValueError as exc:
        raise InvariantError("state-invalid", f"{path} is no state document: {exc}") from exc


def create_state(path: Path, state: AgentState) -> AgentState:
    """Write the first revision.

    Raises:
        InvariantError: the file exists; a run continues its document, it never starts it anew.
    """
    with _locked(path):
        if path.exists():
            raise InvariantError("state-exists", f"{path} exists; a run goes on with it")
        return _write(path, {**_document(state), "rev": 1})


def merge_state(path: Path, patch: Mapping[str, Any], *, seen_rev: int) -> AgentState:
    """Change the document.

    Args:
        path: the state file.
        patch: the document's own keys (camelCase). A key is replaced whole, except that `phases` and each
            phase in it are merged.
        seen_rev: the revision that the caller has read.

    Returns:
        The document as written, with the next revision.

    Raises:
        TransientError: code `state-moved`; somebody wrote in between. Read again and decide anew.
        InvariantError: the file or the result is no valid document; the file is as it was.
    """
    with _locked(path):
        old = read_state(path)
        if old.rev != seen_rev:
            what = f"{path} is at revision {old.rev}, not {seen_rev}"
            raise TransientError("state-moved", what, hint="read it again")
        return _changed(path, old, patch)


def update_state(path: Path, patch: Mapping[str, Any]) -> AgentState:
    """Change keys whatever else was written meanwhile: read and written under one lock, so nothing is lost.

    For a patch that does not depend on what was read; one that does takes `merge_state`.

    Raises:
        InvariantError: the file or the result is no valid document; the file is as it was.
    """
    with _locked(path):
        return _changed(path, read_state(path), patch)


def _changed(path: Path, old: AgentState, patch: Mapping[str, Any]) -> AgentState:
    if reserved := _RESERVED & patch.keys():
        raise InvariantError("state-invalid", f"a patch may not set {', '.join(sorted(reserved))}")
    document = _document(old)
    return _write(path, {**document, **_merged(document, patch), "rev": old.rev + 1})


def _merged(document: Mapping[str, Any], patch: Mapping[str, Any]) -> dict[str, Any]:
    if not isinstance(patch.get("phases"), dict):
        return dict(patch)
    old: Mapping[str, Any] = document["phases"]
    changed = {key: {**old.get(key, {}), **phase} for key, phase in patch["phases"].items()}
    return {**patch, "phases": {**old, **changed}}


def _document(state: AgentState) -> dict[str, Any]:
    document: dict[str, Any] = json.loads(state.to_json())
    return document


def _write(path: Path, document: Mapping[str, Any]) -> AgentState:
    try:
        state = parse_state(json.dumps(document, allow_nan=False).encode())
    except (ValueError, TypeError) as exc:
        raise InvariantError("state-invalid", f"{path}: the new document would not be valid: {exc}") from exc
    write_atomically(path, state.to_json())
    return state


@contextmanager
def _locked(path: Path) -> Iterator[None]:
    """Keep other writers out between reading and replacing; the lock file stays, empty."""
    descriptor = os.open(f"{path}.lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        os.close(descriptor)
