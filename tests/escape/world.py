"""A machine in small for attempts to escape: a user's home, our state with another run, sockets, a victim.

Everything in it is a decoy below one temporary folder; nothing of the real machine is ever the target.
"""

from __future__ import annotations

import socket
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

from autopilot.config.clock import SystemClock
from autopilot.runner.guard.service import GuardService
from autopilot.runner.guard.verdict import GuardContext
from autopilot.runner.network.policy import Policy, service_at
from autopilot.runner.sandbox.confinement import Confinement, Sandbox
from autopilot.runner.sandbox.rooms import room_of_agent
from autopilot.runner.way_out import WayOut, way_out
from autopilot.runner.worktree import Workspace
from autopilot.schemas.run import RunSpec
from tests.support.gitcmd import git
from tests.support.loopback import LoopbackHandler, LoopbackServer
from tests.support.repos import Repo
from tests.support.runs import Host
from tests.support.small_project import small_repo

CANARY: Final = "canary-7f3a91c2"
_SECRETS: Final = (
    *(".ssh/id_ed25519", ".netrc", ".git-credentials", ".aws/credentials", ".config/gh/hosts.yml"),
    *(".local/share/keyrings/login.keyring", ".gnupg/secring.gpg", ".docker/config.json", ".bash_history"),
    *(".claude/.credentials.json", ".npmrc", ".kube/config"),
)
# It lets anybody look into it (PR_SET_PTRACER): where Yama refuses that, the control would prove nothing.
_VICTIM: Final = (
    "import ctypes, signal\nctypes.CDLL(None).prctl(0x59616D61, ctypes.c_ulong(-1), 0, 0, 0)\n"
    "print(flush=True)\nsignal.pause()"
)
MACHINE_SOCKETS: Final = (
    *("run/dbus/system_bus_socket", "run/systemd/private", "run/docker.sock"),
    *("run/systemd/journal/socket", "tmp/.X11-unix/X0"),
)
_HTTP: Final = f"HTTP/1.0 200 OK\r\nContent-Length: {len(CANARY)}\r\n\r\n{CANARY}"
_HEARING_S: Final = 0.2
NO_PORT: Final = "1"
"""Where a server would listen, on a machine without IPv6."""


@dataclass(frozen=True, slots=True)
class World:
    """Where the decoys are, and what the agent's own places are."""

    root: Path
    home: Path
    state: Path
    theirs: Repo
    workspace: Workspace
    spec: RunSpec
    places: Mapping[str, str]
    guard: GuardService

    def room(self, way: WayOut) -> Confinement:
        """What the agent of the run may touch, with the doors that a real run has."""
        room = room_of_agent(self.spec, self.workspace, program=sys.executable)
        return replace(way.opened(room), guard_socket=self.guard.socket, shares_network=False)

    @contextmanager
    def way(self, sandbox: Sandbox) -> Iterator[WayOut]:
        """The outlet of the run: it leads to a service of the operator's, on this machine, alone."""
        service = service_at(f"http://127.0.0.1:{self.places['service']}")
        assert service is not None
        with way_out(sandbox, Path(self.places["outlet"]), Policy((service,)), lambda *_: None) as way:
            if way.outlet is None:
                _file(Path(self.places["outlet"]))
            yield way


@contextmanager
def world(root: Path) -> Iterator[World]:
    """Build it, with its sockets and its victim alive inside the block."""
    with ExitStack() as stack:
        home, state = root / "person", root / "state"
        for name in _SECRETS:
            _file(home / name)
        theirs = _with_unfinished_work(small_repo(root / "theirs"))
        spec, workspace = _run(Host(state), theirs)
        _ours(state, spec)
        context = GuardContext(str(spec.worktree), str(spec.run_dir / "tmp"))
        guard = stack.enter_context(
            GuardService(context, spec.run_dir / "guard.sock", clock=SystemClock(), deadline_s=2.0)
        )
        web = stack.enter_context(_Web())
        service = stack.enter_context(_Web(away=f"http://127.0.0.1:{web.server_port}/secret"))
        places = {
            **_sockets(stack, home, state),
            "victim": str(_victim(stack)),
            "web": str(web.server_port),
            "service": str(service.server_port),
            "outlet": str(spec.run_dir / "outlet.sock"),
            "guard": str(guard.socket),
            "root": str(root),
            "person": str(home),
            "state": str(state),
            "checkout": str(theirs.checkout),
            "remote": str(theirs.remote),
            "worktree": str(spec.worktree),
            "other": str(state / "worktrees" / "T-2"),
            "repo": str(workspace.repository),
            "admin": str(workspace.admin),
            "mirror": str(spec.repo.mirror),
            "run": str(spec.run_dir),
            "own_home": str(spec.run_dir / "home"),
            "branch": spec.branch,
            "python": sys.executable,
            "canary": CANARY,
        }
        yield World(root, home, state, theirs, workspace, spec, places, guard)


def _file(path: Path) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"{CANARY}\n")


def _with_unfinished_work(theirs: Repo) -> Repo:
    """Leave in the person's own checkout what an agent once destroyed: an edit and a stash."""
    (theirs.checkout / "answer.txt").write_text("stashed\n")
    git(theirs.checkout, "stash", "push", "-q", "-m", "half an idea")
    (theirs.checkout / "answer.txt").write_text(f"edited by hand {CANARY}\n")
    return theirs


def _run(host: Host, theirs: Repo) -> tuple[RunSpec, Workspace]:
    spec = host.spec(theirs)
    workspace = host.cut(spec)
    for name in ("home", "tmp"):
        (spec.run_dir / name).mkdir()
    _file(spec.repo.mirror / "description")
    return spec, workspace


def _ours(state: Path, spec: RunSpec) -> None:
    """Lay beside the run what is ours: queue, settings, judge, another run and its worktree."""
    named = ("autopilot.db", "config.toml", "pr-requests/T-2.json", "worktrees/T-2/answer.txt")
    for path in (state / name for name in named):
        _file(path)
    for name in ("judge.git/HEAD", "events.jsonl", "spec.json", "lease", "agent-1.log"):
        _file(spec.run_dir / name)
    _file(spec.run_dir.with_name("T-2-a1-00000001") / "repo.git" / "config")


def _sockets(stack: ExitStack, home: Path, state: Path) -> Mapping[str, str]:
    """Listen where a session bus, a daemon and servers of the machine would."""
    # A unix socket's name has 107 characters at most.
    short = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="ap-")))
    for place in MACHINE_SOCKETS:
        (short / place).parent.mkdir(parents=True, exist_ok=True)
        _accept(stack, socket.AF_UNIX, str(short / place))
    _accept(stack, socket.AF_UNIX, str(short / "run/web.sock"), _HTTP)
    bus, control = short / "bus", short / "control.sock"
    abstract = f"autopilot-escape-{short.name}"
    ports = {}
    for path in (bus, control):
        _accept(stack, socket.AF_UNIX, str(path))
    _accept(stack, socket.AF_UNIX, f"\0{abstract}")
    ports["port"] = _accept(stack, socket.AF_INET, ("127.0.0.1", 0))
    try:
        ports["port6"] = _accept(stack, socket.AF_INET6, ("::1", 0))
    except OSError:
        ports["port6"] = NO_PORT
    ports["udp"] = _hear(stack)
    (home / ".bus").symlink_to(bus)
    (state / "control.sock").symlink_to(control)
    return {"machine": str(short), "bus": str(bus), "control": str(control), "abstract": abstract, **ports}


def _accept(stack: ExitStack, family: int, address: str | tuple[str, int], greeting: str = CANARY) -> str:
    """Greet whoever comes with the canary."""
    server = stack.enter_context(socket.socket(family, socket.SOCK_STREAM))
    server.bind(address)
    server.listen()

    def greet() -> None:
        while True:
            try:
                peer, _ = server.accept()
            except OSError:
                return
            with peer:
                peer.settimeout(_HEARING_S)
                with suppress(TimeoutError, ConnectionError):
                    peer.recv(4096)  # who asks first is heard, or would be cut off
                with suppress(ConnectionError):
                    peer.sendall(greeting.encode())

    threading.Thread(target=greet, daemon=True).start()
    stack.callback(server.shutdown, socket.SHUT_RDWR)
    name = server.getsockname()
    return str(name[1]) if isinstance(name, tuple) else ""


def _hear(stack: ExitStack) -> str:
    """Answer datagrams with the canary."""
    server = stack.enter_context(socket.socket(socket.AF_INET, socket.SOCK_DGRAM))
    server.bind(("127.0.0.1", 0))
    port = str(server.getsockname()[1])

    def answer() -> None:
        while True:
            heard, peer = server.recvfrom(64)
            if heard == b"end":
                return
            server.sendto(CANARY.encode(), peer)

    threading.Thread(target=answer, daemon=True).start()
    stack.callback(server.sendto, b"end", ("127.0.0.1", int(port)))
    return port


class _Web(LoopbackServer):
    """Answers with the canary; `/away` sends elsewhere, where it was told a place."""

    def __init__(self, away: str = "") -> None:
        self.away = away
        super().__init__(_WebHandler)


class _WebHandler(LoopbackHandler):
    server: _Web

    def _answer(self) -> None:
        self.read_body()
        if not self.server.away:
            self.send_bytes(200, {}, CANARY.encode())
        elif self.path == "/away":
            self.send_bytes(302, {"Location": self.server.away}, b"")
        else:
            self.send_bytes(200, {}, b"the service")

    do_GET = do_POST = _answer  # noqa: N815 - names of the base


def _victim(stack: ExitStack) -> int:
    """Start a process of the person's, with a secret in its environment."""
    process = stack.enter_context(
        subprocess.Popen(
            [sys.executable, "-I", "-S", "-c", _VICTIM], env={"TOKEN": CANARY}, stdout=subprocess.PIPE
        )
    )
    stack.callback(process.kill)
    assert process.stdout is not None
    process.stdout.readline()
    return process.pid
