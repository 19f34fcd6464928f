"""A real systemd as PID 1 of namespaces of its own, with the user manager of one ordinary user in it.

Only what lies on the disk is shared with the machine around: /run, /etc/systemd, the control groups, the
processes and the network are its own. Needs root or sudo, and a kernel that gives such namespaces.
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

UID, GID = os.getuid() or 4242, os.getgid() or 4242
"""Its one user: who runs the tests, or somebody where that is root."""
NAME = "nightshift"
PATIENCE_S = 180.0
_SYSTEMD = "/lib/systemd/systemd"
_RUNTIME = f"/run/user/{UID}"

_BOOT = ROOT / "tests" / "support" / "init_boot.sh"
_AS_ROOT = () if os.geteuid() == 0 else ("sudo", "--non-interactive")
NEEDED = (sys.base_prefix, sys.prefix, str(ROOT))
"""What its user must be able to read, wherever it lies."""
_UNSHARE = ("unshare", *["--pid", "--mount", "--uts", "--ipc", "--net", "--cgroup", "--fork", "--mount-proc"])

# Source: ptrace(2): PTRACE_SEIZE, PTRACE_INTERRUPT, PTRACE_DETACH; __WALL. Source: proc(5): syscall, status.
# Only a thread that has slept for a while in one call is held: any other may have the interpreter's lock, or
# another one, and then nobody goes on.
_HOLD_STILL = """
import ctypes, os, sys, time
pid, ptrace = int(sys.argv[1]), ctypes.CDLL(None, use_errno=True).ptrace
ptrace.argtypes = [ctypes.c_long, ctypes.c_long, ctypes.c_void_p, ctypes.c_void_p]
def ask(request):
    if ptrace(request, pid, None, None) != 0:
        sys.exit(os.strerror(ctypes.get_errno()))
def call():
    return open(f"/proc/{pid}/task/{pid}/syscall").read()
def look():
    kept = ("State:", "voluntary_ctxt_switches:")
    return call(), [row for row in open(f"/proc/{pid}/task/{pid}/status") if row.startswith(kept)]
while True:
    before = look()
    time.sleep(0.2)
    if look() != before or not before[1][0].split()[1].startswith("S"):
        continue
    ask(0x4206)
    ask(0x4207)
    _, status = os.waitpid(pid, 0x40000000)
    if not os.WIFSTOPPED(status):
        sys.exit(f"it ended: {status}")
    if call() == before[0]:
        break
    ask(17)
print("stands", flush=True)
os.waitpid(pid, 0x40000000)
"""


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
        os.chown(self.home, UID, GID)
        self._cgroup = _cgroup_root() / f"autopilot-test-{os.getpid()}-{self.folder.name}"
        subprocess.run([*_AS_ROOT, "mkdir", str(self._cgroup)], check=True)
        join = f"echo $$ >'{self._cgroup}/cgroup.procs'; exec \"$@\""
        argv = [*_UNSHARE, "--kill-child", "bash", str(_BOOT), NAME, f"{UID}:{GID}", str(self.home), *NEEDED]
        with (self.folder / "console").open("wb") as console:
            start = [*_AS_ROOT, "bash", "-c", join, "-", *argv]
            self._outer = subprocess.Popen(start, stdout=console, stderr=console)
        wait_until(self._is_up, PATIENCE_S, f"systemd is up; it said: {self.said()}")
        self._systemctl("start", "dbus.socket", "systemd-logind.service")
        self.log_in()

    def log_in(self) -> None:
        """Start the user's manager, and what is enabled in it."""
        self._systemctl("start", f"user@{UID}.service")

    def log_out(self) -> None:
        """End the user's manager as the last log-out does."""
        self._systemctl("stop", f"user@{UID}.service")

    def _systemctl(self, *words: str) -> None:
        done = self.run("systemctl", *words)
        assert done.returncode == 0, (done, self.said())

    def _is_up(self) -> bool:
        assert self._outer is not None
        assert self._outer.poll() is None, f"it ended: {self.said()}"
        self.init = self.init or _first_of_its_own(self._outer.pid)
        return bool(self.init) and self.run("test", "-S", "/run/systemd/private").returncode == 0

    def said(self) -> str:
        """What the first process wrote."""
        with suppress(OSError):
            return (self.folder / "console").read_text(errors="replace")[-3000:]
        return ""

    def run(self, *argv: str) -> subprocess.CompletedProcess[str]:
        """Run something in it, as root."""
        enter = [*_AS_ROOT, "nsenter", "-t", str(self.init), "-m", "-p", "-u", "-i", "-n", "-C"]
        return subprocess.run(
            [*enter, *argv], capture_output=True, text=True, check=False, timeout=PATIENCE_S, cwd="/"
        )

    def run_as_user(self, *argv: str, env: Mapping[str, str] | None = None) -> Said:
        """Run something in it, as its user with an environment that a log-in gives."""
        who = ["setpriv", "--reuid", str(UID), "--regid", str(GID), "--clear-groups"]
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

    @contextmanager
    def one_thread_stands(self, pid: int) -> Iterator[None]:
        """Hold a process's first thread still where it waits, as a debugger does; its other threads go on."""
        enter = [*_AS_ROOT, "nsenter", "-t", str(self.init), "-m", "-p", "-u", "-i", "-n", "-C"]
        argv = [*enter, sys.executable, "-c", _HOLD_STILL, str(pid)]
        with subprocess.Popen(argv, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True) as holder:
            assert holder.stdout is not None
            try:
                said = holder.stdout.readline()
                assert said == "stands\n", said + holder.stdout.read()
                yield
            finally:
                holder.kill()

    def proc(self, pid: int, name: str) -> str:
        """Read a file of /proc of a process of its own numbering; empty where there is none."""
        return self.run("cat", f"/proc/{pid}/{name}").stdout

    def shut_down(self) -> None:
        """End all of it."""
        if self._outer is not None and self._outer.poll() is None:
            # and with the first all others in there
            subprocess.run([*_AS_ROOT, "kill", "-KILL", str(self.init or self._outer.pid)], check=False)
            self._outer.wait(PATIENCE_S)
        if self._cgroup.is_dir():
            remove = ["find", str(self._cgroup), "-depth", "-type", "d", "-exec", "rmdir", "{}", ";"]
            subprocess.run([*_AS_ROOT, *remove], check=False, capture_output=True)


def refusal() -> str:
    """Why there can be no such machine here; empty when there can."""
    if _AS_ROOT and subprocess.run([*_AS_ROOT, "true"], check=False, capture_output=True).returncode != 0:
        return "needs root, or sudo without a password: a systemd is started in private namespaces"
    if not Path(_SYSTEMD).exists() or _cgroup_root() == Path():
        return "needs systemd and a mounted cgroup2"
    probe = [*_AS_ROOT, *_UNSHARE, "true"]
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


def _first_of_its_own(pid: int) -> int:
    """Find, below a process, the one that is the first of a namespace of its own; 0 while there is none."""
    with suppress(OSError):
        status = Path(f"/proc/{pid}/status").read_text()
        numbers = status.partition("NSpid:")[2].partition("\n")[0].split()
        if len(numbers) > 1 and numbers[-1] == "1":
            return pid
        for child in Path(f"/proc/{pid}/task/{pid}/children").read_text().split():
            if found := _first_of_its_own(int(child)):
                return found
    return 0


def _cgroup_root() -> Path:
    for line in Path("/proc/mounts").read_text().splitlines():
        _, place, kind, *_ = line.split(" ")
        if kind == "cgroup2":
            return Path(place)
    return Path()
