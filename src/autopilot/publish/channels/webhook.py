"""A channel that is an address of the web: one POST, no redirect followed, no answer read.

Must not send a second time, and must not show the address: whoever has it can write there.
Source: https://api.slack.com/messaging/webhooks and https://docs.slack.dev/messaging/formatting-message-text
(the three characters to escape); https://docs.ntfy.sh/publish/ (the body is the message).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

import httpx

from autopilot.config import secrets
from autopilot.config.clear import goes_in_clear
from autopilot.publish import road
from autopilot.publish.channels.sent import LOOK, Sent, sent
from autopilot.publish.deadline import LateError, within
from autopilot.schemas.errors import ConfigError, TransientError

if TYPE_CHECKING:
    from autopilot.publish.deadline import Turn
    from autopilot.schemas.delivery import ChannelSpec

_STORED = "store the whole address under that name; `autopilot doctor` shows whether it is there"
_AGAIN = "it is tried again; `autopilot doctor --send-test` tries it at once"
_NOT_CONNECTED = (httpx.ConnectError, httpx.ConnectTimeout, httpx.ProxyError)
"""Raised before a byte of the request is written: the name, the connection, TLS, a proxy that refuses."""


def address(channel: ChannelSpec) -> str | Sent:
    """Read where it goes; what is no such address, or has no way to it, is told without repeating it."""
    try:
        found = secrets.read(channel.credential)
    except ConfigError as exc:
        return Sent("not-sent", exc.code, exc.what, exc.hint)
    if found is None:
        standing = secrets.status(channel.credential)
        what = f"the address of the channel, {channel.credential!r}, is not readable: {standing}"
        return Sent("not-sent", "credential-missing", what, _STORED)
    if fault := _fault(found.strip()):
        what = f"what is stored as {channel.credential!r} {fault}"
        return Sent("not-sent", "channel-address", what, _STORED)
    try:
        road.transport(found.strip()).close()
    except ConfigError as exc:
        return Sent("not-sent", exc.code, exc.what, exc.hint)
    return found.strip()


def send(url: str, channel: ChannelSpec, text: str) -> Sent:
    """Send it, once."""
    body: dict[str, Any] = {"json": {"text": _escaped(text)}}
    if channel.format == "plain":
        body = {"content": text.encode(), "headers": {"Content-Type": "text/plain; charset=utf-8"}}
    limit_s = channel.limit_s
    way = road.transport(url)
    client = httpx.Client(timeout=limit_s, follow_redirects=False, transport=way)
    try:
        return within(limit_s, lambda turn: _asked(client, url, body, turn))
    except TransientError as exc:
        return Sent("not-sent", exc.code, exc.what, exc.hint)
    except LateError as exc:
        if exc.has_begun:
            return Sent(
                "unsure", "no-answer", f"no answer came within {limit_s:g} s: it may have been sent", LOOK
            )
        return Sent("not-sent", "not-connected", f"no connection was made within {limit_s:g} s", _AGAIN)


def _asked(client: httpx.Client, url: str, body: dict[str, Any], turn: Turn) -> Sent:
    try:
        with client, client.stream("POST", url, extensions={"trace": turn.trace}, **body) as response:
            return _judged(response)
    except _NOT_CONNECTED as exc:
        return Sent("not-sent", "not-connected", f"no connection was made ({type(exc).__name__})", _AGAIN)
    except httpx.HTTPError as exc:
        what = f"no usable answer came ({type(exc).__name__}): it may have been sent"
        return Sent("unsure", "no-answer", what, LOOK)


def _judged(response: httpx.Response) -> Sent:
    status = response.status_code
    if response.is_success:
        return sent()
    if response.is_server_error or status == httpx.codes.REQUEST_TIMEOUT:
        return Sent("unsure", "server-failed", f"it answered with {status}: it may have been sent", LOOK)
    if response.is_redirect:
        what = f"it answered with {status}, a redirect, which is not followed"
        return Sent("rejected", "channel-moved", what, "store the address that it moved to")
    is_much = status == httpx.codes.TOO_MANY_REQUESTS
    hint = (
        "let others send less to that address" if is_much else "look whether the stored address is still good"
    )
    return Sent("rejected", "channel-rejected", f"it answered with {status} and did not take it", hint)


def _fault(url: str) -> str:
    try:
        parts = urlsplit(url)
        host, _ = parts.hostname, httpx.URL(url)
    except (ValueError, httpx.InvalidURL):
        return "is no address"
    if parts.scheme not in {"https", "http"} or not host or not url.isascii() or not url.isprintable():
        return "is no https address"
    if goes_in_clear(url):
        return "is an http address, which anybody on the way can read: it must be https"
    return ""


def _escaped(text: str) -> str:
    """Make it words and nothing else: `<!here>` would call everybody."""
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
