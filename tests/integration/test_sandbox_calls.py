"""A call through the sandbox ends as the program did, takes all with it, and uses no more than it may."""

from __future__ import annotations

import os
import signal
import socket
import sys
import venv
from dataclasses import replace
from pathlib import Path

import psutil
import pytest

from autopilot.config.clock import SystemClock
from autopilot.runner.sandbox.bounds import Bounds
from autopilot.runner.sandbox.bubblewrap import Bubblewrap
from autopilot.runner.sandbox.confinement import Confinement, SandboxError, SandboxMissing
from autopilot.runner.sandbox.door import run_inside
from autopilot.runner.sandbox.missing import Missing
from autopilot.runner.sandbox.registry import open_sandbox
from autopilot.schemas.cell import SandboxKind, SandboxSpec
from tests.support.cells import locked_up, python, sandbox_of
from tests.support.wait import wait_until

pytestmark = [
    pytest.mark.needs(binary="bwrap", apt="bubblewrap"),
    pytest.mark.skipif(sys.platform != "linux", reason="bubblewrap is for Linux"),
]
MIB = 1 << 20
# Each leaves a process behind that does its best to stay; its name is the marker that the test looks for.
STAY = """
import os, signal, sys, time
def stay():
    for number in (signal.SIGTERM, signal.SIGHUP, signal.SIGINT):
        signal.signal(number, signal.SIG_IGN)
    os.execv({python!r}, [{mark!r}, "-I", "-S", "-c", "import signal; signal.pause()"])
"""
LEAVE = "\n    if not os.fork(): stay()\n    os._exit(0)"
WAYS = {
    "a child": "if not os.fork(): stay()",
    "a grandchild": "if not os.fork():" + LEAVE,
    "a session of its own": "if not os.fork():\n    os.setsid()" + LEAVE,
    "an emptied environment": "if not os.fork():\n    os.setsid()\n    os.environ.clear()" + LEAVE,
    "a launcher": "os.system(\"(trap '' TERM HUP; sleep 60) &\")\nif not os.fork(): stay()",
}


@pytest.fixture(params=["bubblewrap", "landlock", "none"])
def kind(request: pytest.FixtureRequest) -> SandboxKind:
    found: SandboxKind = request.param
    if found == "landlock" and isinstance(open_sandbox(SandboxSpec(kind=found), SystemClock()), Missing):
        pytest.skip("this kernel has no Landlock that is new enough")
    return found


def leftovers(mark: str) -> list[int]:
    return [
        each.pid
        for each in psutil.process_iter(["cmdline", "status"])
        if (each.info["cmdline"] or [""])[0] == mark and each.info["status"] != psutil.STATUS_ZOMBIE
    ]


@pytest.mark.parametrize("code", [0, 1, 3, 127, 255])
def test_an_exit_code_passes_through(tmp_path: Path, kind: SandboxKind, code: int) -> None:
    ended = locked_up(tmp_path / "cell", ("sh", "-c", f"exit {code}"), sandbox_of(kind))
    assert (ended.code, ended.signal, ended.spawn_error) == (code, None, "")


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM, signal.SIGSEGV])
def test_a_signal_passes_through(tmp_path: Path, kind: SandboxKind, number: signal.Signals) -> None:
    ended = locked_up(tmp_path / "cell", ("sh", "-c", f"kill -{int(number)} $$"), sandbox_of(kind))
    assert (ended.code, ended.signal) == (None, number)


def test_no_signal_is_ignored_that_the_program_has_not_chosen_to(tmp_path: Path, kind: SandboxKind) -> None:
    ended = locked_up(tmp_path / "cell", ("grep", "SigIgn", "/proc/self/status"), sandbox_of(kind))
    assert ended.tail.split() == [b"SigIgn:", b"0000000000000000"]


def test_a_program_that_is_not_there_is_no_failure_of_the_sandbox(tmp_path: Path, kind: SandboxKind) -> None:
    ended = locked_up(tmp_path / "cell", ("no-such-program",), sandbox_of(kind))
    assert "cannot start" in ended.spawn_error
    assert ended.code is None


def test_what_it_prints_and_reads_passes_through(tmp_path: Path, kind: SandboxKind) -> None:
    errors = tmp_path / "errors"
    ended = locked_up(
        tmp_path / "cell", ("sh", "-c", "cat; echo bad >&2"), sandbox_of(kind), stdin=b"hello", stderr=errors
    )
    assert (ended.tail, errors.read_bytes()) == (b"hello", b"bad\n")


def test_a_virtual_environment_of_copies_finds_its_python(
    tmp_path: Path, kind: SandboxKind, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = tmp_path / "venv"
    venv.create(made, symlinks=False, with_pip=False)
    monkeypatch.setattr(
        sys, "executable", str(made / "bin/python")
    )  # it is our own: nothing else leads there
    folder = tmp_path / "cell"
    folder.mkdir()
    ended = run_inside(
        sandbox_of(kind),
        Confinement(cwd=folder, home=folder, writable=(folder,)),
        (sys.executable, "-I", "-c", "import sys, encodings; print(sys.prefix, sys.base_prefix)"),
        env={"PATH": f"{made / 'bin'}:{os.defpath}", "HOME": str(folder)},
        output=tmp_path / "said",
        clock=SystemClock(),
        wall_s=60.0,
    )
    assert (ended.code, ended.tail.decode().split()) == (0, [str(made), sys.base_prefix])


@pytest.mark.parametrize("kind", ["bubblewrap", "landlock"], indirect=True)
def test_what_is_named_by_a_link_in_what_is_shown_anyway_is_there(tmp_path: Path, kind: SandboxKind) -> None:
    tools, elsewhere = tmp_path / "tools" / "bin", tmp_path / "elsewhere"
    for folder in (tools, tools.with_name("lib"), elsewhere):
        folder.mkdir(parents=True)
    (elsewhere / "says").write_text("#!/bin/sh\necho hello\n")
    (elsewhere / "says").chmod(0o755)
    (tools / "says").symlink_to(elsewhere / "says")
    folder = tmp_path / "cell"
    folder.mkdir()
    ended = run_inside(
        sandbox_of(kind),
        Confinement(cwd=folder, home=folder, writable=(folder,), readable=(tools / "says",)),
        ("says",),
        env={"PATH": f"{tools}:{os.defpath}", "HOME": str(folder)},
        output=tmp_path / "said",
        clock=SystemClock(),
        wall_s=60.0,
    )
    assert (ended.code, ended.tail) == (0, b"hello\n")


def test_a_sandbox_that_does_not_come_up_is_named_and_nothing_was_started(tmp_path: Path) -> None:
    sandbox = sandbox_of("bubblewrap")
    assert isinstance(sandbox, Bubblewrap)
    broken = replace(sandbox, options=("--no-such-option",))
    with pytest.raises(SandboxError, match="no-such-option") as caught:
        locked_up(tmp_path / "cell", ("touch", "started"), broken)
    assert caught.value.code == "sandbox-failed"
    assert not (tmp_path / "cell" / "started").exists()


def test_an_agent_cannot_pass_its_own_failure_off_as_the_sandboxs(tmp_path: Path) -> None:
    liar = ("sh", "-c", "echo 'bwrap: setting up uid map: Permission denied' >&2; exit 1")
    ended = locked_up(tmp_path / "cell", liar, sandbox_of("bubblewrap"), stderr=tmp_path / "errors")
    assert (ended.code, ended.spawn_error) == (1, "")


def test_without_a_sandbox_nothing_is_started(tmp_path: Path) -> None:
    with pytest.raises(SandboxMissing) as caught:
        locked_up(tmp_path / "cell", ("touch", "started"), Missing("no bwrap on PATH", "install bubblewrap"))
    assert caught.value.code == "sandbox-missing"
    assert "bubblewrap" in caught.value.hint
    assert not (tmp_path / "cell" / "started").exists()


def test_asked_to_end_it_may_end_in_order(tmp_path: Path, kind: SandboxKind) -> None:
    code = (
        "import signal, sys\n"
        "def bow(*_):\n    open('bowed', 'w').close()\n    sys.exit(0)\n"
        "signal.signal(signal.SIGTERM, bow)\nopen('ready', 'w').close()\nsignal.pause()"
    )
    folder = tmp_path / "cell"
    ended = locked_up(
        folder,
        python(code),
        sandbox_of(kind),
        should_stop=lambda: "enough" if (folder / "ready").exists() else None,
        grace_s=30.0,
    )
    assert ended.stopped == "enough"
    assert (folder / "bowed").exists()


def test_one_that_ignores_term_is_killed(tmp_path: Path, kind: SandboxKind) -> None:
    code = (
        "import signal\nsignal.signal(signal.SIGTERM, signal.SIG_IGN)\nopen('ready', 'w').close()\n"
        "while True: signal.pause()"
    )
    folder = tmp_path / "cell"
    stop = lambda: "enough" if (folder / "ready").exists() else None  # noqa: E731 - as above
    ended = locked_up(folder, python(code), sandbox_of(kind), should_stop=stop, grace_s=0.2)
    assert (ended.stopped, ended.survivors) == ("enough", ())


@pytest.mark.field_report("AGT-009")
@pytest.mark.parametrize("way", WAYS.values(), ids=WAYS)
@pytest.mark.parametrize("is_stopped", [False, True], ids=["ended", "timed out"])
def test_nothing_of_a_run_survives_it(tmp_path: Path, way: str, *, is_stopped: bool) -> None:
    folder = tmp_path / "cell"
    stays = STAY.format(python=sys.executable, mark=str(folder))
    code = f"{stays}{way}\n" + ("open('ready', 'w').close()\nsignal.pause()" if is_stopped else "")
    stop = lambda: "enough" if is_stopped and (folder / "ready").exists() else None  # noqa: E731 - as above
    locked_up(folder, python(code), sandbox_of("bubblewrap"), should_stop=stop, grace_s=0.2)
    wait_until(lambda: not leftovers(str(folder)), 20, "all of it is gone")


@pytest.mark.field_report("AGT-011")
@pytest.mark.slow
def test_memory_without_bound_ends_with_its_reason_and_the_rest_of_the_machine_lives(
    tmp_path: Path, kind: SandboxKind
) -> None:
    code = (
        "import os, time\nblocks = []\n"
        "if os.fork() and os.fork(): os.wait()\n"
        "for _ in range(400):\n    blocks.append(bytearray(os.urandom(1)) * (1 << 20)); time.sleep(0.02)\n"
        "time.sleep(60)"
    )
    bounds = Bounds(memory_bytes=300 * MIB)
    ended = locked_up(tmp_path / "cell", python(code), sandbox_of(kind, bounds))
    assert ended.stopped == "resource-limit"


@pytest.mark.field_report("AGT-011")
def test_one_process_gets_no_more_memory_than_all_may_have(tmp_path: Path) -> None:
    code = "import sys\ntry:\n    bytearray(4 << 30)\nexcept MemoryError:\n    sys.exit(7)"
    sandbox = sandbox_of("bubblewrap", Bounds(memory_bytes=256 * MIB))
    assert locked_up(tmp_path / "cell", python(code), sandbox).code == 7


@pytest.mark.field_report("AGT-011")
@pytest.mark.parametrize("place", ["/tmp", "/var/tmp", "/run", "/dev/shm"])
def test_files_in_memory_take_no_more_than_a_part_of_what_all_may_have(tmp_path: Path, place: str) -> None:
    sandbox = sandbox_of("bubblewrap", Bounds(memory_bytes=64 * MIB))
    fill = ("sh", "-c", f"head -c 48M /dev/zero >{place}/large")
    ended = locked_up(tmp_path / "cell", fill, sandbox)
    assert (ended.code, b"No space left" in ended.tail) == (1, True)


@pytest.mark.field_report("AGT-011")
def test_a_crowd_of_processes_ends_with_its_reason(tmp_path: Path, kind: SandboxKind) -> None:
    code = (
        "import os, signal\nfor _ in range(500):\n    if not os.fork():\n        signal.alarm(60)\n"
        "        signal.pause()\nsignal.pause()"
    )
    ended = locked_up(tmp_path / "cell", python(code), sandbox_of(kind, Bounds(processes=60)), grace_s=0.2)
    assert ended.stopped == "resource-limit"


def test_the_machines_name_and_neighbours_are_not_told_and_the_name_inside_is_found(tmp_path: Path) -> None:
    code = (
        "import socket\nname = socket.gethostname()\nprint(name, socket.gethostbyname(name))\n"
        "for file in ('hosts', 'hostname', 'machine-id'):\n"
        "    try:\n        print(open(f'/etc/{file}').read())\n"
        "    except OSError as error:\n        print(type(error).__name__)\n"
    )
    ended = locked_up(tmp_path / "cell", python(code), sandbox_of("bubblewrap"))
    said = ended.tail.decode()
    assert said.splitlines()[0] == "sandbox 127.0.0.1"
    assert socket.gethostname() not in said
    for file in ("hosts", "machine-id"):
        machines = Path("/etc", file)
        if machines.is_file() and machines.read_text().strip():
            assert machines.read_text() not in said
