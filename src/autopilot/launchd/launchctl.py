"""The gui domain of launchd, spoken to by launchctl: bootstrap, bootout, enable and kickstart, never load.

Must not believe an exit code alone: a job that was booted out may still be ending.
Source: launchctl(1); docs/service.md lists what nobody has tried on a Mac yet.
"""

from __future__ import annotations

import os
import re
import threading
from pathlib import Path
from typing import TYPE_CHECKING

from autopilot.config import proc
from autopilot.launchd import plists, programs
from autopilot.launchd.keeper import Standing, refuse
from autopilot.launchd.service import LAUNCHD

if TYPE_CHECKING:
    from collections.abc import Mapping

    from autopilot.config.clock import Clock
    from autopilot.launchd.programs import Answer
    from autopilot.launchd.service import Service

_GONE_WITHIN_S = 15 * 60.0
_POLL_S = 0.1
_FACT = re.compile(r"^\t(state|pid|runs|last exit code) = (.+)$", re.MULTILINE)
# Source: `launchctl error 3|36|37|113`: no such process, in progress, already loaded, could not find service.
_IS_LOADED = frozenset({37})
_IS_AWAY = frozenset({3, 36, 113})


class Launchctl:
    """MacOS."""

    init = LAUNCHD
    daemon_file = f"{plists.DAEMON}.plist"
    names = (f"{plists.DAEMON}.plist", f"{plists.AWAKE}.plist")

    def __init__(self, clock: Clock) -> None:
        """Take what measures how long it may take."""
        self._clock = clock
        self._domain = f"gui/{os.getuid()}"

    @property
    def folder(self) -> Path:
        """Name the folder of this user's agents."""
        return Path.home() / "Library" / "LaunchAgents"

    def files(self, service: Service) -> Mapping[str, bytes]:
        """Write the property lists."""
        return {f"{label}.plist": content for label, content in plists.plists(service).items()}

    def is_ours(self, content: bytes) -> bool:
        """Look at its label, which is ours by name."""
        return plists.loaded(content).get("Label") in {plists.DAEMON, plists.AWAKE}

    def home_of(self, content: bytes) -> str:
        """Look at its environment."""
        return str(plists.loaded(content).get("EnvironmentVariables", {}).get("AUTOPILOT_HOME", ""))

    def refusal(self) -> str:
        """Ask whether this user has a graphical session."""
        answer = self._ask("print", self._domain)
        return "" if answer.ok else f"launchd has no domain {self._domain}: {answer.line}"

    def commands(self) -> tuple[str, ...]:
        """Name them."""
        name, file = self._name(plists.DAEMON), self._file(plists.DAEMON)
        return (f"launchctl enable {name}", f"launchctl bootstrap {self._domain} {file}")

    def take_up(self, *, is_changed: bool) -> None:
        """Load the jobs; one that is loaded and was changed is unloaded first, or the old one goes on."""
        for label in (plists.DAEMON, plists.AWAKE):
            if self._is_loaded(label):
                if not is_changed:
                    continue
                self._boot_out(label)
            if label == plists.DAEMON or self._file(label).exists():
                self._ask("enable", self._name(label))
                self._bootstrap(label)

    def start(self) -> None:
        """Load the job where it is not, and have it run."""
        if not self._is_loaded(plists.DAEMON):
            self._bootstrap(plists.DAEMON)
        answer = self._ask("kickstart", self._name(plists.DAEMON))
        if not answer.ok and answer.code not in _IS_LOADED:
            raise refuse(f"launchctl kickstart {self._name(plists.DAEMON)}", answer.line, self._hint())

    def halt(self) -> None:
        """Boot both jobs out; their files bring them back at the next log-in."""
        self.let_go()

    def let_go(self) -> None:
        """Boot both jobs out, and wait until they are gone."""
        for label in (plists.AWAKE, plists.DAEMON):
            self._boot_out(label)

    def forget(self) -> None:
        """Do nothing: what is not loaded is forgotten."""

    def standing(self) -> Standing:
        """Read what `print` says; its form is not promised, so that what cannot be read is left out."""
        answer = self._ask("print", self._name(plists.DAEMON))
        if not answer.ok:
            return Standing("absent")
        facts = dict(_FACT.findall(answer.text))
        code = facts.get("last exit code", "")
        return Standing(
            state=facts.get("state", "loaded"),
            is_enabled=True,
            pid=_number(facts.get("pid", "")),
            restarts=max(0, _number(facts.get("runs", "")) - 1),
            result="" if code in {"", "0", "(never exited)"} else f"last exit code {code}",
        )

    def is_awake(self) -> bool:
        """Look for its process."""
        return "pid" in dict(_FACT.findall(self._ask("print", self._name(plists.AWAKE)).text))

    def knows(self, variable: str) -> bool:
        """Look at launchd's own environment."""
        return bool(self._ask("getenv", variable).text)

    def is_lingering(self) -> bool:
        """Say no: the gui domain, and with it the log-in key chain, ends with the session."""
        return False

    def linger(self, *, is_wanted: bool) -> str:  # noqa: ARG002 - macOS knows no such thing
        """Refuse."""
        return "macOS has no such thing: the service runs while you are logged in"

    def keep_awake(self, *, is_wanted: bool) -> None:
        """Start or end the job's process; the job itself stays loaded."""
        name = self._name(plists.AWAKE)
        if not is_wanted:
            self._ask("kill", "SIGTERM", name)
        elif self._file(plists.AWAKE).exists():
            if not self._is_loaded(plists.AWAKE):
                self._bootstrap(plists.AWAKE)
            self._ask("kickstart", name)

    def _bootstrap(self, label: str) -> None:
        answer = self._ask("bootstrap", self._domain, str(self._file(label)))
        if not answer.ok and not self._is_loaded(label):
            raise refuse(f"launchctl bootstrap {self._domain} {self._file(label)}", answer.line, self._hint())

    def _boot_out(self, label: str) -> None:
        pid = _number(dict(_FACT.findall(self._ask("print", self._name(label)).text)).get("pid", ""))
        process = proc.identity_of(pid) if pid else None
        answer = self._ask("bootout", self._name(label))
        if not answer.ok and answer.code not in _IS_AWAY:
            raise refuse(f"launchctl bootout {self._name(label)}", answer.line, self._hint())
        deadline_s, pause = self._clock.monotonic_s() + _GONE_WITHIN_S, threading.Event()
        while self._is_loaded(label) or (process is not None and proc.is_alive(process)):
            if self._clock.monotonic_s() > deadline_s:
                raise refuse(f"launchctl bootout {self._name(label)}", "it is still ending", self._hint())
            pause.wait(_POLL_S)

    def _is_loaded(self, label: str) -> bool:
        return self._ask("print", self._name(label)).ok

    def _name(self, label: str) -> str:
        return f"{self._domain}/{label}"

    def _file(self, label: str) -> Path:
        return self.folder / f"{label}.plist"

    def _hint(self) -> str:
        """Name what `Bootstrap failed: 5` can mean."""
        return (
            f"loaded already, disabled, a broken plist or log folder: launchctl print {self._domain};"
            f" launchctl print-disabled {self._domain}"
        )

    def _ask(self, *words: str) -> Answer:
        return programs.ask(["launchctl", *words], clock=self._clock)


def _number(text: str) -> int:
    return int(text) if text.isdecimal() else 0
