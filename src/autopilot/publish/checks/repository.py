"""Where the push goes. It is the operator's configuration that says so, never the request.

Must not open a connection.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from autopilot.config.clear import goes_in_clear
from autopilot.publish.context import Context, Findings

if TYPE_CHECKING:
    from collections.abc import Iterator

    from autopilot.schemas.publication import ForgeSpec

_PROJECT = re.compile(r"[\w.-]+/[\w.-]+")
_SCP = re.compile(r"[\w.-]+@[\w.-]+:(?!/{2})[^\s:][^\s]*")


def check(ctx: Context) -> Findings:
    """Look at the push address and the forge's own address."""
    reasons = list(url_faults(ctx.spec.forge.push_url, is_local=ctx.spec.forge.kind == "local"))
    reasons += _forge_faults(ctx.spec.forge)
    if ctx.request is None:
        reasons.append(ctx.request_fault)
    elif (ctx.request.ticket, ctx.request.run) != (ctx.spec.ticket_id, ctx.spec.run_id):
        reasons.append(f"the request is for {ctx.request.ticket} of run {ctx.request.run}, not for this one")
    return Findings(tuple(reasons))


def url_faults(url: str, *, is_local: bool) -> Iterator[str]:
    """Say why git may not push to this address, without repeating it: it may hold a password."""
    if url.startswith("/"):  # any name will do: git takes it as it is
        if not is_local:
            yield "the push URL is a path, which only the local forge may push to"
    elif not url or url.startswith("-") or any(ord(char) <= ord(" ") for char in url):
        yield "the push URL is empty, starts with '-' or holds a blank or control character"
    elif "::" in url:
        yield "the push URL names a transport helper, which would run a program"
    elif "://" in url:
        yield from _scheme_faults(url, is_local=is_local)
    elif not _SCP.fullmatch(url):
        yield "the push URL is neither an absolute path nor an address"


def _scheme_faults(url: str, *, is_local: bool) -> Iterator[str]:
    parts = urlsplit(url)
    if parts.scheme == "file":
        if not is_local:
            yield "the push URL is a path, which only the local forge may push to"
    elif parts.scheme not in {"https", "http", "ssh"}:
        yield f"the push URL has the scheme {parts.scheme!r}; https, ssh and local paths are allowed"
    if parts.password is not None or (parts.username and parts.scheme in {"http", "https"}):
        yield "the push URL holds a credential; name it in the configuration instead"
    if goes_in_clear(url):
        yield "the push URL is not encrypted; a token must not travel over it"


def _forge_faults(forge: ForgeSpec) -> Iterator[str]:
    if forge.kind == "local":
        if forge.record_dir is None:
            yield "the local forge has no folder for its pull requests"
        return
    if not _PROJECT.fullmatch(forge.project):
        yield f"the forge project {forge.project!r} is not owner/name"
    api = urlsplit(forge.api_url)
    if api.scheme not in {"https", "http"} or goes_in_clear(forge.api_url):
        yield "the forge API address is not https"
    if api.username or api.password:
        yield "the forge API address holds a credential; name it in the configuration instead"
    if not forge.credential:
        yield "no credential is named for the forge"
