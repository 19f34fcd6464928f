"""Asks the daemon over its control socket: HTTP/1.0, one request per connection, JSON bodies.

Must stay light: the command line uses it in every command. Stdlib only.
Source: RFC 1945 (the reply ends where the connection ends; Content-Length says whether all of it came).
"""

from __future__ import annotations

import json
import socket
import struct
from contextlib import suppress

from autopilot.config.address import short_address
from autopilot.schemas.errors import (
    AutopilotError,
    ConfigError,
    ExitCode,
    InvariantError,
    RefusedError,
    TicketError,
    TransientError,
)

TYPE_CHECKING = False  # not from `typing`: ADR 0072
if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path
    from typing import Any

TIMEOUT_S = 10.0
NUDGE_TIMEOUT_S = 1.0
_TRIES = 3
_TOO_LATE = b"HTTP/1.0 408 "
MAX_REPLY_BYTES = 64 * 1024 * 1024
MAX_REFUSAL_BYTES = 1024 * 1024

_ERRORS: Mapping[int, type[AutopilotError]] = {
    ExitCode.REFUSED: RefusedError,
    ExitCode.LATER: TransientError,
    ExitCode.CONFIG: ConfigError,
    ExitCode.BUG: InvariantError,
}


class _UnheardError(OSError):
    """The connection ended before the question did."""


class DaemonAwayError(TransientError):
    """Nobody listens on the control socket."""


def call(
    socket_path: Path,
    method: str,
    path: str,
    body: Mapping[str, Any] | None = None,
    *,
    timeout_s: float = TIMEOUT_S,
) -> dict[str, Any]:
    """Send one request and give the answer's JSON object.

    Raises:
        DaemonAwayError: no daemon listens.
        TransientError: it listens but did not answer in time or in full.
        AutopilotError: what the daemon answered, as the error it was there.
    """
    status, answer = _parse(_exchange(socket_path, _request(method, path, body), timeout_s))
    if status >= 400:  # noqa: PLR2004 - HTTP's own line between success and failure
        raise _as_error(answer)
    return answer


def nudge(socket_path: Path) -> bool:
    """Tell the daemon that there is something to do; say whether one was there to hear it."""
    try:
        call(socket_path, "POST", "/v1/nudge", timeout_s=NUDGE_TIMEOUT_S)
    except AutopilotError:
        return False
    return True


def _request(method: str, path: str, body: Mapping[str, Any] | None) -> bytes:
    payload = json.dumps(body if body is not None else {}).encode()
    kind, length = "Content-Type: application/json", f"Content-Length: {len(payload)}"
    head = f"{method} {path} HTTP/1.0\r\n{kind}\r\n{length}\r\n\r\n"
    return head.encode("ascii") + payload


def _exchange(socket_path: Path, request: bytes, timeout_s: float) -> bytes:
    try:
        for _ in range(_TRIES - 1):
            with suppress(_UnheardError):  # nothing was done: a daemon acts when it has heard the whole
                return _asked(socket_path, request, timeout_s)
        return _asked(socket_path, request, timeout_s)
    except (FileNotFoundError, ConnectionRefusedError, NotADirectoryError) as exc:
        raise DaemonAwayError(
            "daemon-away", "no daemon is running", hint="start it with: autopilot on"
        ) from exc
    except PermissionError as exc:
        raise ConfigError(
            "socket-denied", f"may not use {socket_path}", hint="run as the user who owns it"
        ) from exc
    except OSError as exc:
        raise TransientError(
            "daemon-silent",
            f"the daemon did not answer: {exc}",
            hint="try again; autopilot logs shows what it is doing",
        ) from exc


def _asked(socket_path: Path, request: bytes, timeout_s: float) -> bytes:
    """Ask once.

    Raises:
        _UnheardError: whoever listens did not wait for the whole.
    """
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as conn:
        wait_for_room(conn, timeout_s)
        with short_address(socket_path) as address:
            conn.connect(address)
            conn.settimeout(timeout_s)
            try:
                conn.sendall(request)  # at once: to take a short address away may take a busy disk seconds
            except (BrokenPipeError, ConnectionResetError) as exc:
                reply = _said_before(conn)
                if not reply:
                    raise _UnheardError(*exc.args) from exc
            else:
                reply = _read_all(conn)
    if reply.startswith(_TOO_LATE):
        raise _UnheardError("it was asked too late")
    return reply


def _said_before(conn: socket.socket) -> bytes:
    """Give what was answered to a question that was not heard to its end; a refusal is short."""
    said = b""
    with suppress(OSError):  # the end of such a connection is an error, and comes after what was said
        while len(said) < MAX_REFUSAL_BYTES and (chunk := conn.recv(65536)):
            said += chunk
    return said


def wait_for_room(conn: socket.socket, timeout_s: float) -> None:
    """Let `connect` wait while many others ask; with Python's own timeout it would be refused at once.

    Source: unix(7) EAGAIN of a nonblocking connect; socket(7) SO_SNDTIMEO.
    """
    whole_s, rest_s = divmod(timeout_s, 1)
    conn.setsockopt(
        socket.SOL_SOCKET, socket.SO_SNDTIMEO, struct.pack("ll", int(whole_s), int(rest_s * 1_000_000))
    )


def _read_all(conn: socket.socket) -> bytes:
    parts: list[bytes] = []
    size = 0
    while chunk := conn.recv(65536):
        parts.append(chunk)
        size += len(chunk)
        if size > MAX_REPLY_BYTES:
            raise RefusedError(
                "answer-too-long",
                f"the answer is larger than {MAX_REPLY_BYTES >> 20} MiB",
                hint="ask for less, e.g. autopilot list --limit 10000",
            )
    return b"".join(parts)


def _parse(reply: bytes) -> tuple[int, dict[str, Any]]:
    head, _, payload = reply.partition(b"\r\n\r\n")
    first, *lines = head.split(b"\r\n")
    whole = b"content-length: %d" % len(payload) in [line.lower() for line in lines]
    status, answer = 0, None
    try:
        status, answer = int(first.split(b" ", 2)[1]), json.loads(payload)
    except (ValueError, IndexError, RecursionError):
        whole = False
    if not whole or not isinstance(answer, dict):
        raise TransientError(
            "daemon-cut-off", "the daemon's answer is not complete", hint="try again; it may be stopping"
        )
    return status, answer


def _as_error(answer: Mapping[str, Any]) -> AutopilotError:
    error = answer.get("error")
    facts: Mapping[str, Any] = error if isinstance(error, dict) else {}
    kind = _ERRORS.get(facts.get("exit", ExitCode.FAILED), TicketError)
    return kind(
        str(facts.get("code", "daemon-error")),
        str(facts.get("what", "the daemon refused without a reason")),
        hint=str(facts.get("hint", "")),
    )
