"""How an agent signs in, by the variables alone: which are there, which one wins, and until when it holds.

Must not show a value. Of a token that carries its own end in plain sight only that end is read.
Source: RFC 7519, section 4.1.4 (`exp`).
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import json
from typing import TYPE_CHECKING

from autopilot.daemon.checkup.check import blocked, ok, warning
from autopilot.runner.agents.registry import kind_of, sign_in_variables
from autopilot.schemas.records import LAST_MS
from autopilot.schemas.units import MS_PER_S, iso_utc

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from autopilot.daemon.checkup.scene import Runner
    from autopilot.schemas.checkup import Check
    from autopilot.schemas.run import AgentSpec

_JWT_PARTS = 3
_FINGERPRINT_DIGITS = 16


def sign_in(spec: AgentSpec, runner: Runner, *, now_ms: int, ends_ms: int) -> Iterator[Check]:
    """Judge the sign-in of one agent.

    Args:
        spec: the agent.
        runner: whose environment it will come from.
        now_ms: UTC epoch ms.
        ends_ms: the end of the night (UTC epoch ms).
    """
    name, seen = f"sign-in of {spec.name}", present(spec, runner.environment)
    if not seen:
        return  # the agent's own line says so
    yield _which(name, spec, seen, runner)
    for variable in seen:
        until_ms = expires_ms(runner.environment[variable])
        if until_ms is not None and until_ms <= ends_ms:
            word = "ended" if until_ms <= now_ms else "ends"
            what = f"{variable} {word} at {iso_utc(until_ms)}, before the night does ({iso_utc(ends_ms)})"
            yield blocked(name, what, f"sign in anew, then start the daemon anew with the new {variable}")


def _which(name: str, spec: AgentSpec, seen: tuple[str, ...], runner: Runner) -> Check:
    kind = kind_of(spec)
    paid = [one for one in kind.paid if one in seen]
    subscribed = [one for one in kind.subscribed if one in seen]
    if paid and spec.billing == "subscription":
        won = f"{paid[0]} of {runner.who} wins, and is paid by use"
        what = f"billing is subscription, but {won}; no run is given it"
        cure = f'unset {" ".join(paid)} where the daemon is started, or set billing = "metered"'
        return blocked(name, what, cure)
    if paid and subscribed:
        what = f"{paid[0]} wins over {subscribed[0]}: a bad key would fail though the login is good"
        return warning(
            name, what, f"unset the one that is not meant, where the daemon is started ({runner.who})"
        )
    return ok(name, f"by {seen[0]} of {runner.who}")


def present(spec: AgentSpec, environment: Mapping[str, str]) -> tuple[str, ...]:
    """Name the variables of this agent that are set, the one that wins first."""
    kind = kind_of(spec)
    names = dict.fromkeys((*kind.paid, *kind.subscribed, *sign_in_variables(spec)))
    return tuple(name for name in names if environment.get(name))


def expires_ms(value: str) -> int | None:
    """Give the end (UTC epoch ms) that a token carries in plain sight; None where it carries none."""
    parts = value.split(".")
    if len(parts) != _JWT_PARTS:
        return None
    try:
        claims = json.loads(base64.urlsafe_b64decode(parts[1] + "=" * (-len(parts[1]) % 4)))
        ends_s = claims["exp"]
    except (binascii.Error, ValueError, KeyError, TypeError, RecursionError):
        return None
    is_number = isinstance(ends_s, int | float) and not isinstance(ends_s, bool)
    return min(LAST_MS, max(0, int(ends_s * MS_PER_S))) if is_number and abs(ends_s) < LAST_MS else None


def fingerprint(spec: AgentSpec, environment: Mapping[str, str]) -> str:
    """Tell one sign-in from another without keeping it: two agents of one account are one."""
    told = "\0".join(f"{name}={environment[name]}" for name in present(spec, environment))
    return hashlib.sha256(told.encode("utf-8", "surrogateescape")).hexdigest()[:_FINGERPRINT_DIGITS]
