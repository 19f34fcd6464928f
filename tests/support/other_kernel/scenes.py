"""What is played inside of User Mode Linux, as root, with systemd as its first process: facts, no judgement.

python -m tests.support.other_kernel.scenes FACTS | apart | inside
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable, Mapping
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

from autopilot.config.cgroup import Group
from autopilot.config.procinfo import all_pids
from autopilot.launchd import scope
from autopilot.launchd.service import MARK
from autopilot.runner.sandbox.bounds import Bounds
from autopilot.runner.sandbox.cells import Cells
from autopilot.schemas.events import Event
from tests.support.cells import locked_up, python, sandbox_of
from tests.support.init_system import Machine
from tests.support.other_kernel.inside import Inside
from tests.support.serviced import Serviced
from tests.support.small_project import small_repo
from tests.support.wait import wait_until

MIB = 1 << 20
MODULE = "tests.support.other_kernel.scenes"
MOST = scope.Most(memory_bytes=700 * MIB, threads=900)
BOUNDS = Bounds(memory_bytes=48 * MIB, processes=20)
HOG = "blocks = []\nwhile True: blocks.append(bytearray(b'x') * (1 << 20))"
TWO_HOGS = f"import os\nos.fork()\n{HOG}"
SHARED = "import mmap\nblock = mmap.mmap(-1, 200 << 20)\nfor at in range(0, 200 << 20, 4096): block[at] = 1"
BOMB = (
    "import os, signal\nfor _ in range(150):\n    try:\n        if not os.fork(): signal.pause()\n"
    "    except OSError: pass\nsignal.pause()"
)
REFUSED = (
    "import os, sys, threading\nstay = threading.Event()\n"
    "try:\n    for _ in range(200): threading.Thread(target=stay.wait, daemon=True).start()\n"
    "except RuntimeError:\n    os._exit(3)"
)
SPIN = "while True: pass"
STAY = """
import os, sys
if not os.fork():
    os.setsid()
    if not os.fork():
        os.execve(sys.executable, ["stays-behind", "-I", "-S", "-c", "import signal; signal.pause()"], {})
    os._exit(0)
os.wait()
"""
LAUNCH = "XDG_RUNTIME_DIR=/run/user/$(id -u) systemd-run --user --quiet --collect true"
LIMITS = ("memory.max", "memory.swap.max", "memory.oom.group", "pids.max", "cpu.max")
CONFIG = """
launch_stagger_s = 0
min_free_disk_gib = 0
min_free_memory_gib = 0
max_load_per_cpu = 0
default_agent = "hog"
attempts_per_ticket = 1
[schedule]
window = ""
[agents.hog]
kind = "command"
argv = [{python}, "-I", "-S", "-c", {hog}]
[sandbox]
memory_mib = 64
[checkup]
rehearse = false
baseline_s = 0
every_s = 0
[[repo]]
name = "small"
path = "{remote}"
base = "main"
"""


def main(words: list[str]) -> None:
    """Play all scenes, or be one of the processes in them."""
    match words:
        case ["apart"]:
            _apart()
        case ["inside"]:
            sys.stdout.write(json.dumps(_inside()))
        case [told]:
            machine = Inside(Path("/home"))
            seen = {"unit": _unit(machine)}
            Path(told).write_text(json.dumps(seen))
            seen["service"] = _service(machine)
            Path(told).write_text(json.dumps(seen))


def _unit(machine: Machine) -> Any:  # noqa: ANN401 - a document
    """Start a child as the daemon of an installed service does, and let it say what it met with."""
    said = machine.run_as_user(
        sys.executable, "-m", MODULE, "apart", env={"PYTHONPATH": os.environ["PYTHONPATH"]}
    )
    try:
        return json.loads(said.out)
    except ValueError:
        raise AssertionError(said) from None


def _apart() -> None:
    argv, env = scope.apart(
        (sys.executable, "-m", MODULE, "inside"),
        {"PATH": os.environ["PATH"], "PYTHONPATH": os.environ["PYTHONPATH"], "HOME": os.environ["HOME"]},
        key="T-1-a1",
        ours={**os.environ, MARK: "systemd"},
        most=MOST,
    )
    os.execvpe(argv[0], argv, env)  # noqa: S606 - a program of ours


def _inside() -> Mapping[str, Any]:
    cells = Cells.open("T-1-a1")
    assert cells is not None
    unit = cells.base.path
    return {
        "unit": unit.name,
        "bounded": sorted(cells.controllers),
        "unit's": {
            name: (unit / name).read_text().strip() for name in ("memory.max", "memory.swap.max", "pids.max")
        },
        "where we are": Path("/proc/self/cgroup").read_text().strip().removeprefix("0::"),
        "kinds": {kind: _kind(kind, unit) for kind in ("bubblewrap", "none")},
        "left": [each.name for each in unit.iterdir() if each.is_dir()],
    }


def _kind(kind: Any, unit: Path) -> Mapping[str, Any]:  # noqa: ANN401 - a SandboxKind
    folder = Path(os.environ["HOME"], kind)
    limits: dict[str, str] = {}

    def cell() -> Path:
        return next(unit.glob("autopilot-cell.*"))

    def is_throttled() -> str | None:
        limits.update({name: (cell() / name).read_text().strip() for name in LIMITS})
        return "throttled" if Group(cell()).count("cpu.stat", "nr_throttled") else None

    def ended(code: str, should_stop: Callable[[], str | None] | None = None) -> Mapping[str, Any]:
        bounds = replace(BOUNDS, cpu_percent=50) if should_stop else BOUNDS
        end = locked_up(folder, python(code), sandbox_of(kind, bounds), should_stop=should_stop, grace_s=0.5)
        return {name: value for name, value in asdict(end).items() if name in {"code", "stopped", "limit"}}

    return {
        "memory": ended(HOG),
        "memory of two": ended(TWO_HOGS),
        "shared memory": ended(SHARED),
        "bomb": ended(BOMB),
        "threads": ended(REFUSED),
        "spin": ended(SPIN, is_throttled),
        "stays": ended(STAY),
        "launched": locked_up(folder, ("sh", "-c", LAUNCH), sandbox_of(kind, BOUNDS)).code,
        "cell": limits,
        "living": _living(),
    }


def _living() -> int:
    names = (Path(f"/proc/{pid}/cmdline") for pid in all_pids())
    return sum(name.exists() and name.read_bytes().startswith(b"stays-behind") for name in names)


def _service(machine: Machine) -> Mapping[str, Any]:
    """Let the installed daemon run an agent that takes memory without end."""
    night = Serviced(machine)
    remote = small_repo(machine.home / "other").remote
    night.paths.config_file.write_text(
        CONFIG.format(python=json.dumps(sys.executable), hog=json.dumps(HOG), remote=remote)
    )
    night.own_all()
    night.install()
    before = machine.main_pid()
    doctor = [each for each in night.json("doctor")["checks"] if each["name"] in {"limits", "sandbox"}]
    night.ok("on")
    night.ok("add", "Mend it")
    run = night.wait_for(Event.RUN_STARTED)["run"]
    result = night.paths.run_dir(run) / "result.json"
    wait_until(result.exists, 200, "the run has ended")
    night.wait_for(Event.RUN_FINISHED)
    told = json.loads(result.read_text())
    return {
        "result": {name: told[name] for name in ("outcome", "code", "message", "hint")},
        "same daemon": machine.main_pid() == before,
        "daemon": machine.shown("autopilot.service", "ActiveState", "NRestarts", "Result"),
        "doctor": doctor,
        "log": [line.get("code") for line in night.events(Event.RUN_FINISHED)],
    }


if __name__ == "__main__":
    main(sys.argv[1:])
