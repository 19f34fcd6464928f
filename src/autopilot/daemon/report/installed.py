"""The service as it is installed: its files, what the init system says, and starts that came to nothing.

Must not show what the service hands to the daemon: of variables only those that say where something is.
"""

from __future__ import annotations

import plistlib
import re
from dataclasses import asdict
from typing import TYPE_CHECKING, Any
from xml.parsers.expat import ExpatError

from autopilot.config import handed
from autopilot.daemon import keeping
from autopilot.daemon.api import client
from autopilot.daemon.report.pieces import Facts, Left, Text
from autopilot.daemon.report.words import bare_sentence
from autopilot.daemon.starts import failed_starts
from autopilot.launchd import files, keeper
from autopilot.launchd.service import MARK, SYSTEMD
from autopilot.schemas.errors import AutopilotError

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from autopilot.daemon.checkup.probe import Limit
    from autopilot.daemon.report.pieces import Given, Piece
    from autopilot.launchd.keeper import Keeper

_OPEN = frozenset(
    (
        *("PATH", "HOME", "AUTOPILOT_HOME", MARK, "PYTHONPATH", "TZ", "LANG"),
        *("XDG_CONFIG_HOME", "XDG_STATE_HOME", "XDG_CACHE_HOME", "XDG_DATA_HOME", "XDG_RUNTIME_DIR"),
    )
)
"""Variables that say where something is."""
_LINE = re.compile(r"^(\s*(?:Environment|PassEnvironment|SetCredential\w*)=)(.*)$", re.MULTILINE)
_ASSIGNED = re.compile(r'"?([A-Za-z_]\w*)=')
_SET = "<set>"


def service(given: Given, _: Limit) -> Iterator[Piece]:
    """Give the standing of the service and of the daemon, and each file of ours."""
    init = keeper.find(given.clock)
    yield Facts("service.json", "the service, the daemon, and starts that failed", _standing(given, init))
    present = files.ours(init, init.names)
    for path in present:
        yield _file(path, init)
    if not present:
        yield Left("files of the service", "none is installed")
    elif init.init == SYSTEMD:
        yield Left("the service's journal", "it is not ours: journalctl --user -u autopilot shows it")


def _standing(given: Given, init: Keeper) -> dict[str, Any]:
    failed = failed_starts(given.paths)
    refusal = init.refusal()
    home = keeping.installed_home(init)
    return {
        "init": init.init,
        "unreachable": refusal,
        "is_installed": home is not None,
        "keeps_this_queue": home == keeping.our_home(),
        "service": None if refusal else asdict(init.standing()),
        "lingers": None if refusal else init.is_lingering(),
        "handed_variables": _handed(given),
        "failed_starts": None if failed is None else failed.model_dump(mode="json"),
        "daemon": _daemon(given),
    }


def _handed(given: Given) -> list[str] | str:
    """Name the variables that the operator handed over; their values are nobody's."""
    try:
        return sorted(handed.read(handed.file_beside(given.paths.config_file)))
    except AutopilotError as error:
        return error.code


def _daemon(given: Given) -> dict[str, Any]:
    """Ask a daemon how it is."""
    try:
        health = client.call(given.paths.control_socket, "GET", "/v1/health")
    except client.DaemonAwayError:
        return {"runs": False, "socket_is_there": given.paths.control_socket.exists()}
    except AutopilotError as error:
        return {"runs": None, "fault": {"code": error.code, "what": error.what}}
    trouble = health.get("trouble")
    if isinstance(trouble, dict):
        health = {**health, "trouble": {**trouble, "reason": bare_sentence(str(trouble.get("reason", "")))}}
    return {"runs": True, **health}


def _file(path: Path, init: Keeper) -> Piece:
    content = files.read(path) or b""
    name, about = f"units/{path.name}", "a file of the service, as it is installed"
    if init.init == SYSTEMD:
        return Text(name, about, bare_unit(content.decode("utf-8", "replace")))
    try:
        return Text(name, about, bare_list(content).decode("utf-8", "replace"))
    except (plistlib.InvalidFileException, ExpatError, ValueError, AttributeError):
        return Left(name, "it is no property list")


def bare_unit(text: str) -> str:
    """Mask in a unit what variables are set to, but for places; a line with several is masked whole."""
    return _LINE.sub(_bare_line, text)


def _bare_line(found: re.Match[str]) -> str:
    names = _ASSIGNED.findall(found[2])
    if len(names) == 1 and names[0] in _OPEN:
        return found[0]
    return f"{found[1]}{' '.join(f'{name}={_SET}' for name in names) or _SET}"


def bare_list(content: bytes) -> bytes:
    """Mask in a property list what variables are set to, but for places.

    Raises:
        ValueError: it is none.
    """
    value = plistlib.loads(content)
    told = value.get("EnvironmentVariables", {})
    if not isinstance(told, dict):
        raise ValueError("its variables are no table")  # noqa: TRY004 - the content is wrong, not the caller
    value["EnvironmentVariables"] = {name: given if name in _OPEN else _SET for name, given in told.items()}
    return plistlib.dumps(value)
