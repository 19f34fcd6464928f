"""Code under test that plants links and pipes where a gate's files lie: nothing of ours goes through them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from autopilot.config.clock import SystemClock
from autopilot.runner.gates.run import run_gates
from autopilot.runner.sandbox.confinement import Confinement
from autopilot.runner.sandbox.door import run_inside
from autopilot.runner.sandbox.none import NoSandbox
from autopilot.schemas.cell import SandboxKind
from autopilot.schemas.gate import Verdict
from tests.support.cells import sandbox_of
from tests.support.gate_runs import SYSTEM_PATH, bench

KINDS: tuple[SandboxKind, ...] = ("bubblewrap", "landlock")
GREEN = "<testsuite><testcase name='a'/></testsuite>"
OURS = (
    *("junit-0.xml", "junit.xml", "output.log", "probe.log", "files.list", "compile.json"),
    *("run_pytest.py", "start.py"),
)
FOLDERS = ("$out", "$out/..", "$out/../..", "$out/../../..")
"""Where a command finds its gate's folder, the round's, and the run's."""
CASE = "import unittest\nclass A(unittest.TestCase):\n    def test_a(self): pass\n"


def planting(plant: str) -> str:
    """A script that plants each name of ours in every folder that it can find."""
    names, folders = " ".join(OURS), " ".join(f'"{folder}"' for folder in FOLDERS)
    return (
        "out=${PYTHONPYCACHEPREFIX%/pycache}; "
        f"for folder in {folders}; do for name in {names}; do rm -f $folder/$name; {plant}; done; done 2>&1; "
        "cp green.xml reports.xml"
    )


def policy(script: str) -> dict[str, str]:
    told = f'report = "reports.xml"\n[commands]\ntest = {json.dumps(["sh", "-c", script])}\n'
    return {".autopilot.toml": told, "green.xml": GREEN}


@pytest.mark.parametrize("kind", KINDS)
def test_what_we_write_after_a_command_goes_through_no_link_of_it(tmp_path: Path, kind: SandboxKind) -> None:
    victim = tmp_path / "profile"
    victim.write_text("the operator's")
    there = bench(tmp_path / "bench", policy(planting(f"ln -s {victim} $folder/$name")))
    records = run_gates(there.context(sandbox=sandbox_of(kind)))
    assert victim.read_text() == "the operator's"
    assert [each.verdict for each in records if each.gate == "test-summary"] == [Verdict.PASSED]


@pytest.mark.parametrize("kind", KINDS)
def test_a_pipe_in_our_files_place_holds_nobody(tmp_path: Path, kind: SandboxKind) -> None:
    there = bench(tmp_path, policy(planting("mkfifo $folder/$name")))
    records = run_gates(there.context(sandbox=sandbox_of(kind)))
    assert [each.verdict for each in records if each.gate == "test-summary"] == [Verdict.PASSED]


def test_a_probe_of_the_restored_environment_plants_nothing_for_the_test_run(tmp_path: Path) -> None:
    victim, bin_ = tmp_path / "profile", tmp_path / "bin"
    victim.write_text("the operator's")
    bin_.mkdir()
    python = bin_ / "python3"
    plant = "\n".join(f"ln -sf {victim} ./{name}; ln -sf {victim} ../{name}" for name in OURS)
    python.write_text(
        f'#!/bin/sh\n{{ {plant}\n}} 2>/dev/null\nexec /usr/bin/env -i "PATH={SYSTEM_PATH}" python3 "$@"\n'
    )
    python.chmod(0o755)
    there = bench(tmp_path / "bench", {"pyproject.toml": "[project]\n", "tests/test_a.py": CASE})
    run_gates(there.context(path=f"{bin_}:{SYSTEM_PATH}"))
    assert victim.read_text() == "the operator's"


def test_a_set_up_command_plants_nothing_for_the_note_that_it_is_done(tmp_path: Path) -> None:
    victim = tmp_path / "profile"
    victim.write_text("the operator's")
    scratch = tmp_path / "bench" / "scratch"
    setup = (
        f"for name in restored restored.sha256 scratch.sha256 mark; do ln -sf {victim} {scratch}/$name; done"
    )
    told = (
        f'report = "reports.xml"\n[commands]\nsetup = {json.dumps(["sh", "-c", setup])}\n'
        'test = ["cp", "green.xml", "reports.xml"]\n'
    )
    there = bench(tmp_path / "bench", {".autopilot.toml": told, "green.xml": GREEN})
    records = run_gates(there.context())
    assert (scratch / "restored").is_symlink(), "the set-up command has written where it may"
    assert [each.verdict for each in records if each.gate == "test-summary"] == [Verdict.PASSED]
    assert victim.read_text() == "the operator's"


@pytest.mark.parametrize("which", ["output", "stderr"])
def test_what_a_program_prints_is_never_written_where_the_program_writes(tmp_path: Path, which: str) -> None:
    folder = tmp_path / "its own"
    folder.mkdir()
    files = {"output": tmp_path / "log", which: folder / "log"}
    room = Confinement(cwd=folder, home=folder, writable=(folder,))
    with pytest.raises(ValueError, match="a folder that the program writes to"):
        run_inside(
            NoSandbox(),
            room,
            ("true",),
            env={},
            output=files["output"],
            stderr=files.get("stderr"),
            clock=SystemClock(),
            wall_s=1.0,
        )
    assert not (folder / "log").exists()


@pytest.mark.parametrize("kind", KINDS)
def test_a_link_among_the_repositorys_own_programs_shows_nothing(tmp_path: Path, kind: SandboxKind) -> None:
    others = tmp_path / "other" / "src"
    others.mkdir(parents=True)
    (others / "app.py").write_text("pass")
    (others / ".env").write_text("DB_PASSWORD=hunter2")
    plant = f"mkdir -p node_modules/.bin; ln -sf {others}/app.py node_modules/.bin/x"
    told = f"[commands]\nsetup = {json.dumps(['sh', '-c', plant])}\n"
    steal = (
        f'require("node:test").test("a", () => {{ let told = "nothing"; '
        f'try {{ told = require("fs").readFileSync("{others}/.env", "utf8"); }} catch {{}} '
        'require("assert").equal(told, "nothing"); });\n'
    )
    files = {
        ".autopilot.toml": told,
        "package.json": '{"scripts": {"test": "node --test"}}',
        "test/a.test.js": steal,
    }
    there = bench(tmp_path / "bench", files)
    records = run_gates(there.context(sandbox=sandbox_of(kind)))
    assert (there.checkout / "node_modules" / ".bin" / "x").exists()
    found = [(each.verdict, each.reason) for each in records if each.gate == "test-summary"]
    assert [verdict for verdict, _ in found] == [Verdict.PASSED], found
