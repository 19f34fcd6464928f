"""A real systemd as PID 1 of namespaces of its own, with the user manager of one ordinary user in it.

Only what lies on the disk is shared with the machine around: /run, /etc/systemd, the control groups, the
processes and the network are its own. Needs root, and a kernel that gives such namespaces.
"""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest

from tests.support.cli import COMMAND, SYSTEM_PATH, Said
from tests.support.tree import ROOT
from tests.support.wait import wait_until

UID = 4242
NAME = "nightshift"
PATIENCE_S = 60.0
_SYSTEMD = "/lib/systemd/systemd"
_RUNTIME = f"/run/user/{UID}"

_BOOT = ROOT / "tests" / "support" / "init_boot.sh"
_NEEDED = (sys.base_prefix, sys.prefix, str(ROOT))
_UNSHARE = ("unshare", *["--pid", "--mount", "--uts", "--ipc", "--net", "--cgroup", "--fork", "--mount-proc"])


class Machine:
    """The booted system, seen from outside."""

    def __init__(self, folder: Path) -> None:
        """Take a folder that its user may enter."""
        self.folder = folder
        self.home = folder / "a home & 100% ü"
        self.init = 0
        self._cgroup = Path()
        self._outer: subprocess.Popen[bytes] | None = None

    def boot(self) -> None:
        """Start it, and the user's manager in it."""
        self.home.mkdir()
        os.chown(self.home, UID, UID)
        self._cgroup = _cgroup_root() / f"autopilot-test-{os.getpid()}-{self.folder.name}"
        self._cgroup.mkdir()
        join = f"echo $$ >'{self._cgroup}/cgroup.procs'; exec \"$@\""
        argv = [*_UNSHARE, "--kill-child", "bash", str(_BOOT), NAME, str(UID), str(self.home), *_NEEDED]
        with (self.folder / "console").open("wb") as console:
            self._outer = subprocess.Popen(["bash", "-c", join, "-", *argv], stdout=console, stderr=console)
        wait_until(self._is_up, PATIENCE_S, f"systemd is up; it said: {self.said()}")
        for unit in ("dbus.socket", "systemd-logind.service", f"user@{UID}.service"):
            done = self.run("systemctl", "start", unit)
            assert done.returncode == 0, (done, self.said())

    def _is_up(self) -> bool:
        assert self._outer is not None
        assert self._outer.poll() is None, f"it ended: {self.said()}"
        if not self.init:
            children = Path(f"/proc/{self._outer.pid}/task/{self._outer.pid}/children").read_text().split()
            self.init = int(children[0]) if children else 0
        return bool(self.init) and self.run("test", "-S", "/run/systemd/private").returncode == 0

    def said(self) -> str:
        """What the first process wrote."""
        with suppress(OSError):
            return (self.folder / "console").read_text(errors="replace")[-3000:]
        return ""

    def run(self, *argv: str) -> subprocess.CompletedProcess[str]:
        """Run something in it, as root."""
        enter = ["nsenter", "-t", str(self.init), "-m", "-p", "-u", "-i", "-n", "-C"]
        return subprocess.run(
            [*enter, *argv], capture_output=True, text=True, check=False, timeout=PATIENCE_S, cwd="/"
        )

    def run_as_user(self, *argv: str, env: Mapping[str, str] | None = None) -> Said:
        """Run something in it, as its user with an environment that a log-in gives."""
        who = ["setpriv", "--reuid", str(UID), "--regid", str(UID), "--clear-groups"]
        variables = {
            "PATH": SYSTEM_PATH,
            "HOME": str(self.home),
            "USER": NAME,
            "XDG_RUNTIME_DIR": _RUNTIME,
            "LANG": "C.UTF-8",
            "PYTHONPATH": str(ROOT / "src"),
            **(env or {}),
        }
        words = [f"{name}={value}" for name, value in variables.items()]
        done = self.run(*who, "env", "-i", *words, *argv)
        return Said(done.returncode, done.stdout, done.stderr)

    def autopilot(self, *words: str, env: Mapping[str, str] | None = None) -> Said:
        """Type a command as its user."""
        return self.run_as_user(*COMMAND, *words, env=env)

    def systemctl(self, *words: str) -> Said:
        """Ask its user's manager."""
        return self.run_as_user("systemctl", "--user", "--no-pager", *words)

    def shown(self, unit: str, *names: str) -> dict[str, str]:
        """Read properties of a unit of its user."""
        told = self.systemctl("show", f"--property={','.join(names)}", unit).out
        return dict(line.split("=", 1) for line in told.splitlines())

    def main_pid(self) -> int:
        """The service's main process by the number that it has in there; 0 where there is none."""
        return int(self.shown("autopilot.service", "MainPID")["MainPID"])

    def signal(self, pid: int, number: signal.Signals) -> None:
        """Send a signal to a process of its own numbering."""
        done = self.run("kill", f"-{number.name.removeprefix('SIG')}", str(pid))
        assert done.returncode == 0, done.stderr

    def proc(self, pid: int, name: str) -> str:
        """Read a file of /proc of a process of its own numbering; empty where there is none."""
        return self.run("cat", f"/proc/{pid}/{name}").stdout

    def shut_down(self) -> None:
        """End all of it."""
        if self._outer is not None and self._outer.poll() is None:
            with suppress(ProcessLookupError):
                os.kill(self.init or self._outer.pid, signal.SIGKILL)  # and with it all others in there
            self._outer.wait(PATIENCE_S)
        for folder, _, _ in os.walk(self._cgroup, topdown=False) if self._cgroup.name else ():
            with suppress(OSError):
                Path(folder).rmdir()


def refusal() -> str:
    """Why there can be no such machine here; empty when there can."""
    if os.geteuid() != 0:
        return "needs root: a systemd of its own is started in private namespaces"
    if not Path(_SYSTEMD).exists() or _cgroup_root() == Path():
        return "needs systemd and a mounted cgroup2"
    probe = [*_UNSHARE, "true"]
    done = subprocess.run(probe, capture_output=True, text=True, check=False, timeout=PATIENCE_S)
    return "" if done.returncode == 0 else f"the kernel refuses namespaces: {done.stderr.strip()}"


@contextmanager
def booted() -> Iterator[Machine]:
    """Boot a machine; skips where that cannot be, and fails on CI."""
    reason = refusal()
    if reason and os.environ.get("CI") == "true":
        pytest.fail(reason, pytrace=False)
    if reason:
        pytest.skip(reason)
    folder = Path(tempfile.mkdtemp(prefix="autopilot-night-", dir="/var/tmp"))
    folder.chmod(0o755)
    machine = Machine(folder)
    try:
        machine.boot()
        yield machine
    finally:
        machine.shut_down()
        shutil.rmtree(folder, ignore_errors=True)


def _cgroup_root() -> Path:
    for line in Path("/proc/mounts").read_text().splitlines():
        _, place, kind, *_ = line.split(" ")
        if kind == "cgroup2":
            return Path(place)
    return Path()
