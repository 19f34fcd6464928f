"""Whose account autopilot runs in: one that administers the machine gives an agent that gets out the machine.

Must not change an account, or ask for another's secrets.
"""

from __future__ import annotations

import grp
import os
from typing import TYPE_CHECKING

from autopilot.daemon.checkup.check import ok, warning

if TYPE_CHECKING:
    from collections.abc import Iterable

    from autopilot.schemas.checkup import Check

# Their members can become root. Source: docs.docker.com, "Docker daemon attack surface"; sudoers(5).
_MIGHTY = frozenset({"root", "wheel", "sudo", "admin", "docker", "lxd", "libvirt", "disk"})
NAME = "own account"
_CURE = "give it an account of its own that administers nothing: docs/machine.md"


def own_account() -> Check:
    """Look at the account that we run in."""
    return account(os.geteuid(), _groups())


def account(uid: int, groups: Iterable[str]) -> Check:
    """Judge an account by its number and the names of its groups."""
    if uid == 0:
        return warning(NAME, "autopilot runs as root", _CURE)
    mighty = sorted(_MIGHTY.intersection(groups))
    if mighty:
        return warning(NAME, f"this account may administer the machine: {', '.join(mighty)}", _CURE)
    return ok(NAME, "administers nothing")


def _groups() -> Iterable[str]:
    for number in {os.getegid(), *os.getgroups()}:
        try:
            yield grp.getgrgid(number).gr_name
        except KeyError:
            continue
