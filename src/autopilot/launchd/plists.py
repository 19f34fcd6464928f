"""The property lists of launchd, and a table of the keys that we use with their types. Pure.

Must not use a key that is not in the table: launchd ignores a key it does not know, and says nothing.
Source: launchd.plist(5); launchd.info.
"""

from __future__ import annotations

import plistlib
from types import MappingProxyType
from typing import TYPE_CHECKING, Any
from xml.parsers.expat import ExpatError

from autopilot.launchd import service as limits

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from autopilot.launchd.service import Service

DAEMON = "dev.autopilot.daemon"
AWAKE = "dev.autopilot.awake"

KEYS: Mapping[str, type] = MappingProxyType(
    {
        "Label": str,
        "ProgramArguments": list,
        "EnvironmentVariables": dict,
        "RunAtLoad": bool,
        "KeepAlive": dict,
        "ThrottleInterval": int,
        "ExitTimeOut": int,
        "ProcessType": str,
        "StandardOutPath": str,
        "StandardErrorPath": str,
        "Umask": int,
    }
)
PROCESS_TYPES = frozenset({"Background", "Standard", "Adaptive", "Interactive"})
_PRIVATE = 0o077


def plists(service: Service) -> dict[str, bytes]:
    """Write every property list, by its label."""
    awake = {AWAKE: _written(_awake(service))} if service.keep_awake else {}
    return {DAEMON: _written(_daemon(service)), **awake}


def faults(written: bytes) -> Iterator[str]:
    """Say what is wrong with a property list of ours."""
    content = loaded(written)
    if not content:
        yield "no property list"
        return
    for key, value in content.items():
        wanted = KEYS.get(key)
        if wanted is None:
            yield f"{key}: not in the table"
        elif type(value) is not wanted:
            yield f"{key}: {type(value).__name__} instead of {wanted.__name__}"
    if not content.get("Label"):
        yield "Label: missing"
    argv = content.get("ProgramArguments") or [""]
    if not str(argv[0]).startswith("/"):
        yield "ProgramArguments: launchd looks a bare name up before it sets PATH"
    if content.get("ProcessType") not in PROCESS_TYPES:
        yield "ProcessType: none of launchd's"
    if not all(type(value) is str for value in (*argv, *content.get("EnvironmentVariables", {}).values())):
        yield "ProgramArguments, EnvironmentVariables: hold texts only"


def loaded(written: bytes) -> dict[str, Any]:
    """Read a property list; nothing where it is none."""
    try:
        found = plistlib.loads(written)
    except (ValueError, ExpatError, OverflowError):
        return {}
    return found if isinstance(found, dict) else {}


def _daemon(service: Service) -> dict[str, Any]:
    output = str(service.logs / "daemon.out")
    return {
        "Label": DAEMON,
        "ProgramArguments": list(service.daemon),
        "EnvironmentVariables": service.environment(limits.LAUNCHD),
        "RunAtLoad": True,
        "KeepAlive": {"SuccessfulExit": False},
        "ThrottleInterval": limits.RESTART_AFTER_S,
        "ExitTimeOut": service.stop_s,
        "ProcessType": "Interactive",  # the default slows everything down that the daemon starts
        "StandardOutPath": output,
        "StandardErrorPath": output,
        "Umask": _PRIVATE,
    }


def _awake(service: Service) -> dict[str, Any]:
    """Describe the job that is started by us alone: launchd loads it at log-in, and must not run it then.

    No KeepAlive: to be kept up after a failure a job has to be run once, so that it would imply RunAtLoad.
    """
    return {
        "Label": AWAKE,
        "ProgramArguments": list(service.keep_awake),
        "RunAtLoad": False,
        "ProcessType": "Interactive",
    }


def _written(content: Mapping[str, Any]) -> bytes:
    return plistlib.dumps(dict(content), sort_keys=False)
