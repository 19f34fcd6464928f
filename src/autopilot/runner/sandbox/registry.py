"""Every kind of sandbox by its name, and which this machine gives.

`landlock` starts `landlock_start`, `none` may start `joined_start`.
Must not choose `none` by itself: where nothing else is left, everything is refused.
"""

from __future__ import annotations

import platform
import re
import shutil
import sys
import tempfile
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from autopilot.config import environ, proc
from autopilot.runner.sandbox import seatbelt, system
from autopilot.runner.sandbox.bounds import Bounds
from autopilot.runner.sandbox.bubblewrap import Bubblewrap
from autopilot.runner.sandbox.cells import Cells
from autopilot.runner.sandbox.confinement import Confinement, SandboxError
from autopilot.runner.sandbox.door import run_inside
from autopilot.runner.sandbox.landlock import Landlock
from autopilot.runner.sandbox.missing import Missing
from autopilot.runner.sandbox.none import NoSandbox
from autopilot.runner.sandbox.seatbelt import Seatbelt
from autopilot.runner.sandbox.seccomp import call_filter
from autopilot.runner.sandbox.toolchain import Toolchain

if TYPE_CHECKING:
    from autopilot.config.clock import Clock
    from autopilot.runner.sandbox.confinement import Sandbox
    from autopilot.schemas.cell import SandboxSpec

_PROBE_S = 30.0
_NO_NESTED_SINCE = (0, 8)
_GET = "install bubblewrap (apt-get install bubblewrap, dnf install bubblewrap), then: autopilot doctor"
_NONE = 'or, to work without any, [sandbox] kind = "none"'


def open_sandbox(spec: SandboxSpec, clock: Clock) -> Sandbox:
    """Give the sandbox that is wanted, tried out; one that refuses everything where there is none."""
    if spec.kind == "none":
        return NoSandbox(Bounds.of_spec(spec), Cells.open(_mark()))
    toolchain = Toolchain(_home(), spec.sealed)
    for place in spec.readable:
        if not toolchain.is_showable(place):
            why = f"[sandbox] readable names {place}, which is or holds what no agent may see"
            return Missing(why, "name a folder further down")
    if spec.kind == "seatbelt" or (spec.kind == "auto" and seatbelt.is_here()):
        return _seatbelt(spec, toolchain, clock)
    if spec.kind == "bubblewrap":
        return _bubblewrap(spec, toolchain, clock)
    if spec.kind == "landlock":
        return _landlock(spec, toolchain, clock)
    first = _bubblewrap(spec, toolchain, clock)
    if not isinstance(first, Missing):
        return first
    second = _landlock(spec, toolchain, clock)
    return replace(second, instead=first.why) if isinstance(second, Landlock) else first


def _seatbelt(spec: SandboxSpec, toolchain: Toolchain, clock: Clock) -> Sandbox:
    if not seatbelt.is_here():
        return Missing("seatbelt is for macOS only", f"choose another kind in [sandbox], {_NONE}")
    sandbox = Seatbelt(toolchain=toolchain, readable=spec.readable, bounds=Bounds.of_spec(spec))
    with tempfile.TemporaryDirectory(prefix="autopilot-probe-") as scratch:
        why = _fault(sandbox, Path(scratch), clock)
    return (
        Missing(f"seatbelt does not work here: {why}", f"see docs/security.md; {_NONE}") if why else sandbox
    )


def _bubblewrap(spec: SandboxSpec, toolchain: Toolchain, clock: Clock) -> Sandbox:
    if sys.platform != "linux":
        return Missing("bubblewrap is for Linux only", f"choose another kind in [sandbox], {_NONE}")
    found = shutil.which("bwrap", path=environ.search_path(environ.current()))
    if found is None:
        return Missing("bubblewrap is not installed (no bwrap on PATH)", f"{_GET}; {_NONE}")
    with tempfile.TemporaryDirectory(prefix="autopilot-probe-") as scratch:
        version = _version(found, Path(scratch), clock)
        options = () if spec.nested or version < _NO_NESTED_SINCE else ("--disable-userns",)
        sandbox = Bubblewrap(
            program=Path(found),
            toolchain=toolchain,
            readable=spec.readable,
            masked=tuple(system.secrets()),
            options=options,
            has_sizes=version >= _NO_NESTED_SINCE,
            nested=spec.nested,
            bounds=Bounds.of_spec(spec),
            cells=Cells.open(_mark()),
            limiter=shutil.which("prlimit", path=environ.search_path(environ.current())),
        )
        tried, why = _tried(sandbox, Path(scratch), clock)
    return tried or Missing(f"bubblewrap does not work here: {why}", f"see docs/security.md; {_NONE}")


def _landlock(spec: SandboxSpec, toolchain: Toolchain, clock: Clock) -> Sandbox:
    machine = platform.machine()
    if sys.platform != "linux" or call_filter(machine, unix=False, inet="none", namespaces=False) is None:
        return Missing(f"Landlock is not for this machine ({sys.platform}, {machine})", _NONE)
    sandbox = Landlock(
        toolchain=toolchain,
        machine=machine,
        readable=spec.readable,
        masked=tuple(system.secrets()),
        nested=spec.nested,
        bounds=Bounds.of_spec(spec),
        cells=Cells.open(_mark()),
    )
    with tempfile.TemporaryDirectory(prefix="autopilot-probe-") as scratch:
        tried, why = _tried(sandbox, Path(scratch), clock)
    return tried or Missing(f"Landlock does not work here: {why}", f"{_GET}; {_NONE}")


def _tried(sandbox: Bubblewrap | Landlock, scratch: Path, clock: Clock) -> tuple[Sandbox | None, str]:
    """Give it as it works here, else why it does not: it may do so without control groups."""
    why = _fault(sandbox, scratch, clock)
    if why and sandbox.cells is not None:
        return _tried(replace(sandbox, cells=None), scratch, clock)
    return (None, why) if why else (sandbox, "")


def _version(program: str, scratch: Path, clock: Clock) -> tuple[int, ...]:
    """Ask a bubblewrap how old it is; (0,) where it does not say."""
    ended = proc.run(
        (program, "--version"), cwd=scratch, env={}, output=scratch / "v", clock=clock, wall_s=_PROBE_S
    )
    found = re.search(rb"(\d+)\.(\d+)", ended.tail)
    return tuple(int(part) for part in found.groups()) if found else (0,)


def _fault(sandbox: Sandbox, scratch: Path, clock: Clock) -> str:
    """Try a sandbox out; say why it does not work."""
    home = scratch / "home"
    home.mkdir(exist_ok=True)
    try:
        ended = run_inside(
            sandbox,
            Confinement(cwd=Path("/"), home=home, writable=(home,)),
            ("true",),
            env={"PATH": environ.search_path({})},
            output=scratch / "probe",
            clock=clock,
            wall_s=_PROBE_S,
        )
    except SandboxError as exc:
        return exc.what
    return "" if ended.ok else ended.spawn_error or f"a trial ended with {ended.code}"


def _mark() -> str:
    return environ.current().get(proc.RUN_ID_VARIABLE, "")


def _home() -> Path | None:
    home = environ.current().get("HOME", "")
    return Path(home) if home.startswith("/") and home != "/" else None
