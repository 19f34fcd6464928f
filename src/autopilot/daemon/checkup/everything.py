"""Looks over this machine and its configuration: each line has a verdict, its evidence and the cure.

Must not change anything or read a secret's value. `autopilot doctor` prints all lines; `autopilot on` refuses
to arm when one blocks.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from autopilot.config.load import load
from autopilot.config.paths import find_paths
from autopilot.daemon.checkup import cell, configured, host, leases, service
from autopilot.daemon.checkup.account import own_account
from autopilot.daemon.checkup.check import Check, blocked
from autopilot.schemas.errors import AutopilotError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from autopilot.config.clock import Clock
    from autopilot.config.paths import Paths


def check_all(clock: Clock) -> tuple[Check, ...]:
    """Look at everything; a fault of one line never hides the others."""
    paths = find_paths()
    lines = [
        *_looked("state", lambda: [host.state_folder(paths)]),
        *_looked("git", lambda: [host.git_program()]),
    ]
    lines += _looked("configuration", lambda: _configuration(paths, clock))
    lines += _looked("database", lambda: [host.database(paths, clock)])
    lines += _looked("leases", lambda: leases.overdue(paths, clock))
    lines += _looked("backups", lambda: [host.backups(paths, clock)])
    lines += [host.sleep_lock(), host.sqlite(), *_looked("sandbox", lambda: [cell.sandbox(paths, clock)])]
    lines += [*_looked("account", lambda: [own_account()]), *_looked("daemon", lambda: [host.daemon(paths)])]
    return tuple(lines)


def _configuration(paths: Paths, clock: Clock) -> Iterator[Check]:
    settings = load(paths)
    yield configured.file(settings, paths)
    yield configured.identity(settings)
    for name in configured.used_agents(settings):
        yield configured.agent(name, settings)
        yield from configured.agent_release(name, settings, clock)
    yield from configured.programs(settings)
    for repo in settings.repos:
        yield configured.repository(repo, clock, paths)
    yield from configured.credentials(settings)
    yield host.room(settings, paths)
    yield from service.service(settings, paths, clock)


def _looked(name: str, look: Callable[[], Iterable[Check]]) -> list[Check]:
    lines: list[Check] = []
    try:
        lines.extend(look())
    except AutopilotError as error:
        lines.append(blocked(name, error.what, error.hint))
    except OSError as error:
        lines.append(
            blocked(name, f"this cannot be looked at: {error}", "see to what it names, then ask again")
        )
    return lines
