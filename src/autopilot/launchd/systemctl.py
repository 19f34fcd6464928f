"""The user manager of systemd, spoken to by systemctl.

Source: systemctl(1); systemd.unit(5), "UNIT FILE LOAD PATH"; loginctl(1): without linger user units end with
the last session.
"""

from __future__ import annotations

import getpass
from pathlib import Path
from typing import TYPE_CHECKING

from autopilot.config import environ
from autopilot.launchd import programs, systemd_units
from autopilot.launchd.keeper import Standing, refuse
from autopilot.launchd.service import SYSTEMD

if TYPE_CHECKING:
    from collections.abc import Mapping

    from autopilot.config.clock import Clock
    from autopilot.launchd.programs import Answer
    from autopilot.launchd.service import Service

_STOP_S = 15 * 60.0
_LINGERING = Path("/var/lib/systemd/linger")


class Systemctl:
    """Linux."""

    init = SYSTEMD
    daemon_file = systemd_units.DAEMON
    names = (systemd_units.DAEMON, systemd_units.NOTICE, systemd_units.AWAKE)

    def __init__(self, clock: Clock) -> None:
        """Take what measures how long it may take."""
        self._clock = clock

    @property
    def folder(self) -> Path:
        """Name the folder of this user's own units."""
        given = environ.current().get("XDG_CONFIG_HOME", "")
        base = Path(given) if given.startswith("/") else Path.home() / ".config"
        return base / "systemd" / "user"

    def files(self, service: Service) -> Mapping[str, bytes]:
        """Write the units."""
        return {name: text.encode() for name, text in systemd_units.units(service).items()}

    def is_ours(self, content: bytes) -> bool:
        """Look at the first line."""
        return content.startswith(systemd_units.HEAD.encode())

    def home_of(self, content: bytes) -> str:
        """Look at the line of its environment."""
        return systemd_units.variable_of(content.decode(errors="replace"), "AUTOPILOT_HOME")

    def refusal(self) -> str:
        """Ask the manager for its version."""
        answer = self._ask("show", "--property=Version")
        return "" if answer.ok else f"the user manager of systemd cannot be reached: {answer.line}"

    def commands(self) -> tuple[str, ...]:
        """Name them."""
        return ("systemctl --user daemon-reload", f"systemctl --user enable {systemd_units.DAEMON}")

    def take_up(self, *, is_changed: bool) -> None:  # noqa: ARG002 - both are harmless without a change
        """Reload and enable."""
        for words in (("daemon-reload",), ("enable", systemd_units.DAEMON)):
            self._must(*words)

    def start(self) -> None:
        """Start without waiting; what counts a failed start is cleared, for a person asks.

        Where it rests until it is started again, a start would wait as well: a restart ends that.
        Source: systemd.service(5), RestartSec=; service_start() of systemd, which answers EAGAIN meanwhile.
        """
        self._ask("reset-failed", systemd_units.DAEMON)
        is_resting = self._property(systemd_units.DAEMON, "SubState").startswith("auto-restart")
        verb = "restart" if is_resting else "start"
        self._must(verb, "--no-block", systemd_units.DAEMON)

    def halt(self) -> None:
        """Stop both units."""
        self._must("stop", systemd_units.AWAKE, systemd_units.DAEMON)

    def let_go(self) -> None:
        """Stop and disable; what is not loaded is none of a trouble."""
        for name in reversed(self.names):
            if self._property(name, "LoadState") == "loaded":
                self._must("stop", name, wall_s=_STOP_S)
        self._ask("disable", systemd_units.DAEMON)
        self._ask("reset-failed", *self.names)

    def forget(self) -> None:
        """Reload."""
        self._ask("daemon-reload")

    def standing(self) -> Standing:
        """Read the unit's properties."""
        seen = self._properties(systemd_units.DAEMON)
        if seen.get("LoadState") != "loaded":
            return Standing("absent")
        result = seen.get("Result", "")
        return Standing(
            state=f"{seen.get('ActiveState')} ({seen.get('SubState')})",
            is_enabled=seen.get("UnitFileState") == "enabled",
            pid=int(seen.get("MainPID", "0")),
            restarts=int(seen.get("NRestarts", "0")),
            result="" if result == "success" else f"{result}, exit status {seen.get('ExecMainStatus')}",
        )

    def keep_awake(self, *, is_wanted: bool) -> None:
        """Start or stop the unit, without waiting."""
        if is_wanted:
            self._ask("reset-failed", systemd_units.AWAKE)
        self._ask("start" if is_wanted else "stop", "--no-block", systemd_units.AWAKE)

    def is_awake(self) -> bool:
        """Ask for the unit's state."""
        return self._ask("is-active", systemd_units.AWAKE).ok

    def knows(self, variable: str) -> bool:
        """Look at the manager's own environment."""
        lines = self._ask("show-environment").text.splitlines()
        return any(line.startswith(f"{variable}=") for line in lines)

    def is_lingering(self) -> bool:
        """Tell whether the user manager outlives the last log-out.

        Source: logind keeps a file for each such user; loginctl(1), enable-linger.
        """
        return (_LINGERING / getpass.getuser()).exists()

    def linger(self, *, is_wanted: bool) -> str:
        """Have the user manager outlive the last log-out, or not; say what went wrong."""
        verb = "enable-linger" if is_wanted else "disable-linger"
        answer = programs.ask(["loginctl", "--no-ask-password", verb], clock=self._clock)
        return "" if answer.ok else answer.line

    def _property(self, unit: str, name: str) -> str:
        return self._properties(unit).get(name, "")

    def _properties(self, unit: str) -> dict[str, str]:
        names = "LoadState,ActiveState,SubState,UnitFileState,MainPID,NRestarts,Result,ExecMainStatus"
        answer = self._ask("show", f"--property={names}", unit)
        parts = (line.partition("=") for line in answer.text.splitlines())
        return {name: value for name, _, value in parts} if answer.ok else {}

    def _must(self, *words: str, wall_s: float = 60.0) -> None:
        answer = self._ask(*words, wall_s=wall_s)
        if not answer.ok:
            command = f"systemctl --user {' '.join(words)}"
            raise refuse(command, answer.line, f"see: systemctl --user status {systemd_units.DAEMON}")

    def _ask(self, *words: str, wall_s: float = 20.0) -> Answer:
        return programs.ask(["systemctl", "--user", "--no-pager", *words], clock=self._clock, wall_s=wall_s)
