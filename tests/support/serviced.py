"""An installed service in a booted machine: its home, its queue, its log, and how to shorten its limits."""

from __future__ import annotations

import json
import os
import shutil
import signal
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from autopilot.config.journal import read_lines
from autopilot.config.paths import Paths
from autopilot.schemas.events import Event
from tests.support.cli import Said
from tests.support.init_system import GID, PATIENCE_S, UID, Machine
from tests.support.small_project import small_repo
from tests.support.wait import wait_until

UNIT = "autopilot.service"
CONFIG = """
launch_stagger_s = 0
backoff_s = 0.1
backoff_cap_s = 0.5
min_free_disk_gib = 0
min_free_memory_gib = 0
max_load_per_cpu = 0
default_agent = "scripted"
[schedule]
window = ""
[daemon]
drain_s = 1
[timeouts]
kill_grace_s = 2
[agents.scripted]
kind = "scripted"
script = "{script}"
[sandbox]
readable = ["{gate}"]
[checkup]
rehearse = false
baseline_s = 0
every_s = 0
[[repo]]
name = "small"
path = "{remote}"
base = "main"
"""


class Serviced:
    """One home in the machine, configured for a ticket whose agent waits until `let_go`."""

    def __init__(self, machine: Machine) -> None:
        """Make the configuration and the repository."""
        self.machine = machine
        home = machine.home
        self.paths = Paths(
            state=home / ".local/state/autopilot",
            config_file=home / ".config/autopilot/config.toml",
            logs=home / ".local/state/autopilot/log",
        )
        self.units = home / ".config/systemd/user"
        self.go = home / "gate" / "go"
        self.go.parent.mkdir()
        script = home / "script.yaml"
        script.write_text(
            "rounds:\n"
            "  - - spend: {usd: 0.5}\n"
            f"    - wait_for_file: {json.dumps(str(self.go))}\n"
            "    - write: {path: answer.txt, text: right}\n"
            "    - say: done\n"
        )
        project = small_repo(home / "repo")
        self.paths.config_file.parent.mkdir(parents=True)
        self.paths.config_file.write_text(
            CONFIG.format(script=script, remote=project.remote, gate=self.go.parent)
        )
        self.own_all()

    def own_all(self) -> None:
        """Give everything in the home to its user."""
        for folder, _, files in os.walk(self.machine.home):
            for name in (".", *files):
                os.chown(Path(folder) / name, UID, GID, follow_symlinks=False)

    def ok(self, *words: str, env: Mapping[str, str] | None = None) -> str:
        """Type a command that must end well."""
        said = self.machine.autopilot(*words, env=env)
        assert said.code == 0, (words, said)
        return said.out

    def json(self, *words: str) -> Any:  # noqa: ANN401 - each command has a shape of its own
        """Type a command whose exit code does not matter; gives its document."""
        return self.machine.autopilot(*words, "--json").json()

    def install(self, **limits: str) -> None:
        """Install, with some limits of the unit replaced as an operator would, and wait until it serves."""
        if limits:
            beside = self.units / f"{UNIT}.d" / "test.conf"
            beside.parent.mkdir(parents=True)
            rows = {"StartLimitBurst": "Unit"}
            for section in ("Unit", "Service"):
                lines = [
                    f"{key}={value}" for key, value in limits.items() if rows.get(key, "Service") == section
                ]
                with beside.open("a") as file:
                    file.write("\n".join((f"[{section}]", *lines, "")))
            self.own_all()
        self.ok("install")
        self.wait_until_up()

    def wait_until_up(self, *, besides: int = 0) -> int:
        """Wait until the service's daemon answers, another than `besides`; gives its process."""

        def answering() -> int:
            pid, state = self.machine.main_pid(), self.state()
            assert state != "failed", self.machine.autopilot("status")
            return 0 if pid == besides or state != "active" else pid

        return wait_until(answering, PATIENCE_S, f"the service is up; {self.machine.said()}")

    def state(self) -> str:
        """The unit's state in a word."""
        return self.machine.shown(UNIT, "ActiveState")["ActiveState"]

    def events(self, event: Event) -> list[Mapping[str, Any]]:
        """The lines of the log with this event."""
        with suppress(FileNotFoundError):
            lines = read_lines(self.paths.logs / "autopilot.jsonl").entries
            return [line for line in lines if line["event"] == event]
        return []

    def wait_for(self, event: Event, *, count: int = 1) -> Mapping[str, Any]:
        """Wait until the log holds this event so often."""
        found = wait_until(
            lambda: lines if len(lines := self.events(event)) >= count else [],
            PATIENCE_S,
            f"{event} is logged",
        )
        return found[-1]

    def begin_run(self) -> int:
        """Let a ticket be worked on, as far as the agent's wait; gives the runner's process."""
        self.ok("on")
        self.ok("add", "Mend it")
        started = self.wait_for(Event.RUN_STARTED)
        journal = self.paths.run_dir(started["run"]) / "events.jsonl"
        wait_until(
            lambda: journal.exists() and "agent.spent" in journal.read_text(), PATIENCE_S, "the agent works"
        )
        return int(started["pid"])

    def let_go(self) -> None:
        """Let the agent finish."""
        self.go.touch()
        os.chown(self.go, UID, GID)

    def wait_for_state(self, name: str, state: str) -> Mapping[str, Any]:
        """Wait until a ticket rests there; one that is parked or has failed goes nowhere else."""

        def found() -> Mapping[str, Any]:
            ticket: Mapping[str, Any] = self.json("show", name)["ticket"]
            assert ticket["state"] in {state, "queued", "running", "committed", "publishing"}, ticket
            return ticket if ticket["state"] == state else {}

        return wait_until(found, PATIENCE_S, f"{name} is {state}")

    def kill(self, pid: int) -> None:
        """End a process as a power cut would."""
        self.machine.signal(pid, signal.SIGKILL)

    def remove(self) -> Said:
        """Leave the machine as it was before."""
        self.let_go()
        self.machine.autopilot("off", "--now")
        said = self.machine.autopilot("uninstall")
        for each in self.machine.home.iterdir():
            shutil.rmtree(each, ignore_errors=True) if each.is_dir() else each.unlink()
        self.machine.systemctl("daemon-reload")
        return said
