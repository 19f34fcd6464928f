"""Every attempt to get out fails inside, with the refusal that it should; without a sandbox they succeed."""

from __future__ import annotations

import json
import re
import tempfile
from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from autopilot.config.clock import SystemClock
from autopilot.config.environ import agent_environment
from autopilot.runner.sandbox.confinement import Sandbox
from autopilot.runner.sandbox.door import run_inside
from autopilot.runner.sandbox.missing import Missing
from autopilot.runner.sandbox.none import NoSandbox
from autopilot.runner.sandbox.registry import open_sandbox
from autopilot.runner.stacks.stack import Command
from autopilot.schemas.cell import SandboxSpec
from tests.escape import driver
from tests.escape.attempt import SHUT, Attempt, python
from tests.escape.doors import DOORS, FLOOD, OTHER_QUESTIONS
from tests.escape.files import FILES
from tests.escape.network import NETWORK
from tests.escape.powers import POWERS
from tests.escape.repository import REPOSITORY
from tests.escape.world import CANARY, NO_PORT, World, world
from tests.support.asking import ask, event
from tests.support.gate_runs import SYSTEM_PATH, WITH_PYTEST, bench
from tests.support.publication import BASE_FILES
from tests.support.tree import ROOT

ALL = (*FILES, *REPOSITORY, *NETWORK, *POWERS, *DOORS)
FEWEST = 120
PRIVATE = ("/tmp", "/var/tmp")
"""What a program in the sandbox has for itself: to write there reaches nobody."""
_IN = "cd '@worktree@' && "
THROUGH_LANDLOCK = {
    # That something is there, not what is in it.
    "clever: descriptors that were left open",
    # A rule allows a folder with all that is in it; the run that changed these does not count (ADR 0118).
    "tamper: cp '@admin@/commondir' '@own_home@/c' && cat '@own_home@/c' > '@admin@/commondir'",
    "tamper: mv '@admin@/commondir' '@admin@/c' && mv '@admin@/c' '@admin@/commondir'",
    "tamper: cp '@admin@/gitdir' '@own_home@/g' && cat '@own_home@/g' > '@admin@/gitdir'",
    f"tamper: {_IN}mv .git git && mv git .git",
    f"tamper: {_IN}cp .git git && rm .git && mv git .git",
    f"tamper: {_IN}cp .git git && echo 'gitdir: /tmp' > .git && mv -f git .git",
    f"tamper: {_IN}mv .git git && ln -s '@own_home@' .git && rm .git && mv git .git",
    # That other processes are there, and what is public of them; not memory, environment, files or signals.
    "another process: grep -a pause /proc/@victim@/cmdline",
    "another process: grep -als signal.pause /proc/[0-9]*/cmdline | grep -x /proc/@victim@/cmdline",
    "another process: ls /proc/@victim@/fd",
    "another process: taskset -p @victim@",
    "another process: chrt -p @victim@",
    "another process: held by a descriptor",
    "another process: its group asked",
    "another process: its scheduler asked",
    # Sockets of the user, as soon as a run has one of ours inside; and the rights of a file of ours.
    *(f"a unix socket: {name}" for name in ("the session bus", "the session bus by a link")),
    *(f"a unix socket: {name}" for name in ("the daemon's", "the daemon's by a link")),
    *(f"a decoy of the machine: its {name}" for name in ("bus", "init", "containers", "log", "screen")),
    "commands: curl -sSf -m 5 --unix-socket '@machine@/run/web.sock' http://x/ | grep @canary@",
    "commands: curl -sS -m 5 --http0.9 --unix-socket '@control@' http://x/ | grep @canary@",
    *(f"a door: chmod 666 '{door}' && chmod 600 '{door}'" for door in ("@outlet@", "@guard@")),
}

pytestmark = [pytest.mark.needs(binary="bwrap", apt="bubblewrap"), pytest.mark.slow]


@pytest.fixture
def root() -> Iterator[Path]:
    """A folder in which a program inside has nothing of its own, wherever the checkout lies."""
    places = (ROOT / ".cache", Path.home() / ".cache")
    place = next((each for each in places if not any(map(each.is_relative_to, PRIVATE))), None)
    assert place is not None, f"checkout and home both lie below {' or '.join(PRIVATE)}"
    place.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory(dir=place, prefix="autopilot-escape-") as folder:
        yield Path(folder)


# What a terminal of the person's has, and what of it steers git, the loader and interpreters.
OF_A_PERSON = {
    **dict.fromkeys(("GITHUB_TOKEN", "AWS_SECRET_ACCESS_KEY", "NPM_TOKEN", "SSH_AUTH_SOCK"), CANARY),
    **dict.fromkeys(("DBUS_SESSION_BUS_ADDRESS", "XDG_RUNTIME_DIR", "GIT_AUTHOR_NAME"), CANARY),
}


def tried(
    there: World,
    sandbox: Sandbox,
    attempts: tuple[Attempt, ...],
    *,
    env: Mapping[str, str] | None = None,
) -> dict[str, Any]:
    """Make the attempts as the agent of the run, in one start of the sandbox, and read what they got.

    Args:
        env: what the control is given besides; inside there is only what an agent is given.
    """
    home = there.spec.run_dir / "home"
    asked, report = home / "attempts.json", home / "report.json"
    copy = home / "driver.py"
    copy.write_text(Path(driver.__file__).read_text())
    named = [{"name": each.name, "argv": each.argv(there.places)} for each in attempts]
    asked.write_text(json.dumps(named))
    interpreter = there.places["python"]
    with there.way(sandbox) as way:
        own = {"TMPDIR": str(there.spec.run_dir / "tmp"), **way.environment()}
        ended = run_inside(
            sandbox,
            there.room(way),
            way.argv((interpreter, "-I", "-S", str(copy), str(asked), str(report))),
            env=agent_environment(None, home=home, extra=own) | dict(env or {}),
            output=there.spec.run_dir / "attempts.log",
            clock=SystemClock(),
            wall_s=300,
            grace_s=1,
        )
    assert ended.ok, ended
    got: dict[str, Any] = json.loads(report.read_text())
    return got


def test_there_are_enough_attempts_and_each_has_a_name_of_its_own() -> None:
    assert len(ALL) >= FEWEST
    assert [name for name, count in Counter(each.name for each in ALL).items() if count > 1] == []


@pytest.mark.field_report("AGT-018")
@pytest.mark.field_report("AGT-038")
@pytest.mark.field_report("SEC-002")
@pytest.mark.field_report("SEC-014")
@pytest.mark.field_report("SEC-015")
def test_nothing_gets_out_of_the_sandbox(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in OF_A_PERSON.items():
        monkeypatch.setenv(name, value)
    with world(root) as there:
        monkeypatch.setenv("HOME", str(there.home))
        before = fingerprint(there)
        sandbox = open_sandbox(SandboxSpec(sealed=(there.state,)), SystemClock())
        assert sandbox.kind == "bubblewrap"
        got = tried(there, sandbox, ALL)
        out = [name for name, each in got.items() if each["code"] == 0]
        assert "\n".join(out) == ""
        odd = [each.name for each in ALL if not re.search(each.refusal, got[each.name]["said"])]
        assert "\n".join(f"{name}: {got[name]['said'][-120:]}" for name in odd) == ""
        assert fingerprint(there) == before


def test_without_a_sandbox_the_same_attempts_succeed(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The control: what can never succeed proves nothing. All of it happens to decoys."""
    with world(root) as there:
        monkeypatch.setenv("HOME", str(there.home))
        attempts = tuple(each for each in ALL if not each.only_inside)
        if there.places["port6"] == NO_PORT:
            attempts = tuple(each for each in attempts if "@port6@" not in each.code)
        got = tried(there, NoSandbox(), attempts, env=OF_A_PERSON)
        refused = {name: each["said"] for name, each in got.items() if each["code"] != 0}
        assert refused == {}
        assert len(attempts) >= FEWEST


def test_by_landlock_only_what_is_told_of_it_gets_through(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each of these stands in docs/security.md: links that a tripwire watches, and facts about others."""
    for name, value in OF_A_PERSON.items():
        monkeypatch.setenv(name, value)
    with world(root) as there:
        monkeypatch.setenv("HOME", str(there.home))
        before = fingerprint(there)
        sandbox = open_sandbox(SandboxSpec(kind="landlock", sealed=(there.state,)), SystemClock())
        if isinstance(sandbox, Missing):
            pytest.skip(sandbox.why)
        got = tried(there, sandbox, ALL)
        out = {name for name, each in got.items() if each["code"] == 0}
        assert "\n".join(sorted(out - THROUGH_LANDLOCK)) == ""
        assert sorted(THROUGH_LANDLOCK - out) == [], "these are stopped by now: tell so in docs/security.md"
        # Where bubblewrap shows nothing, Landlock shuts.
        kept = [each for each in ALL if each.name not in out]
        odd = [each.name for each in kept if not re.search(f"{each.refusal}|{SHUT}", got[each.name]["said"])]
        assert "\n".join(f"{name}: {got[name]['said'][-120:]}" for name in odd) == ""
        assert fingerprint(there) == before


def test_whoever_floods_the_guards_socket_or_asks_it_other_things_is_told_no(root: Path) -> None:
    """The agent's programs can reach it, as its hooks do; it goes on answering rightly after them."""
    asked = python("the guard", "", {"flooded": FLOOD + OTHER_QUESTIONS, "asked": OTHER_QUESTIONS})
    with world(root) as there:
        sandbox = open_sandbox(SandboxSpec(sealed=(there.state,)), SystemClock())
        for attempt in asked:
            got = tried(there, sandbox, (attempt,))[attempt.name]
            assert got["code"] == 1, got
            assert "allow" not in re.findall(r"b'(\w+)", got["said"]), got
        tree = there.spec.worktree
        assert ask(there.guard.socket, event("Bash", tree, command="git status")).returncode == 0
        assert ask(there.guard.socket, event("Bash", tree, command="git push")).returncode == 2
        assert there.guard.written == frozenset()


@pytest.mark.parametrize("place", ["gate", "verify"])
def test_nothing_gets_out_of_the_room_of_a_gate_either(
    root: Path, place: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where a commit is tested, in its run and again by the publisher, its tests may try as well."""
    with world(root) as there:
        monkeypatch.setenv("HOME", str(there.home))
        run = there.spec.run_dir
        folder = run / "gates" if place == "gate" else there.state / "publish" / run.name / "work"
        folder.mkdir(parents=True)
        room = bench(folder, BASE_FILES)
        sandbox = open_sandbox(SandboxSpec(sealed=(there.state,)), SystemClock())
        path = f"{WITH_PYTEST}:{SYSTEM_PATH}"
        out = room.folder / "run" / "round-1" / "test"
        out.mkdir(parents=True)
        (room.folder / "scratch").mkdir()
        context = room.context(path=path, sandbox=sandbox, gate_s=300.0)
        home, tried_there = room.folder / "home", (*FILES, *REPOSITORY, *NETWORK, *DOORS)
        places = {**there.places, "own_home": str(home)}
        named = [{"name": each.name, "argv": each.argv(places)} for each in tried_there]
        (home / "attempts.json").write_text(json.dumps(named))
        (home / "driver.py").write_text(Path(driver.__file__).read_text())
        files = [str(home / name) for name in ("driver.py", "attempts.json", "report.json")]
        before = fingerprint(there)
        ended = context.run(Command((there.places["python"], "-I", "-S", *files)), out, name="try")
        assert ended.ok, (ended, (out / "try.log").read_text())
        got = json.loads((home / "report.json").read_text())
        assert [(name, each["said"]) for name, each in got.items() if each["code"] == 0] == []
        assert len(got) == len(tried_there)
        assert fingerprint(there) == before


def fingerprint(there: World) -> dict[str, bytes]:
    """Every file of the person, the remote, and of ours that no run may touch."""
    places = (there.home, there.theirs.checkout, there.theirs.remote, there.spec.repo.mirror)
    state = [
        path for path in there.state.iterdir() if path.name not in {"runs", "scratch", "worktrees", "publish"}
    ]
    ours = [
        path
        for path in there.spec.run_dir.iterdir()
        if path.is_file() and path.suffix not in {".log", ".sock"}
    ]
    files = [*ours, *(file for place in (*places, *state) for file in place.rglob("*"))]
    return {str(file): file.read_bytes() for file in files if file.is_file()}
