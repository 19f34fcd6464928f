"""What a run wrote it does not start, in whatever way it came to its place; nor is a tool steered by it."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from autopilot.runner.guard.grammar import ANY
from autopilot.runner.guard.judge import Guard
from autopilot.runner.guard.names import covers, is_one_of
from autopilot.runner.guard.verdict import Decision, GuardContext, GuardRequest
from tests.support.wait import wait_until

GUARD = Guard(GuardContext("/w/T-1", "/t/T-1", hosts=frozenset({"docs.python.org"})))
COPIED = (
    "cp -r evil scripts", "cp -rT evil scripts", "mv evil scripts", "cp -t scripts evil/run.sh",
    "cp evil/run.sh scripts", "cp evil/*.sh scripts", "mv evil/*.sh scripts", "git mv evil scripts",
    "git restore -s HEAD~1 scripts", "git checkout HEAD~1 -- scripts", "go build -o scripts ./...",
    "wget -P scripts https://docs.python.org/run.sh", "javac -d scripts A.java", "tee scripts/run.sh < x",
    "npx --no-install tsc --outDir scripts", "curl -o scripts/run.sh https://docs.python.org/x",
    "cp --parents scripts/run.sh .", "sed -i.bak s/a/b/ scripts/run",
)  # fmt: skip


def allowed(command: str, *written: str) -> bool:
    return GUARD.decide(GuardRequest("Bash", {"command": command}, written=frozenset(written))).allowed


@pytest.mark.covers("H12")
@pytest.mark.parametrize("copy", COPIED)
def test_what_came_to_its_place_in_this_line_is_not_started(copy: str) -> None:
    started = "scripts/run.bak" if "sed" in copy else "scripts/run.sh"
    assert allowed(f"bash {started}")
    assert not allowed(f"{copy} && bash {started}")
    assert not allowed(f"cd evil && {copy.replace('scripts', '../scripts')} && bash ../{started}")


@pytest.mark.covers("H12")
@pytest.mark.parametrize("copy", COPIED)
def test_what_came_to_its_place_in_an_earlier_line_is_not_started(copy: str) -> None:
    started = "scripts/run.bak" if "sed" in copy else "scripts/run.sh"
    before = GUARD.decide(GuardRequest("Bash", {"command": copy}))
    assert not (before.allowed and allowed(f"bash {started}", *before.writes))


@pytest.mark.covers("H12")
def test_the_name_of_what_is_started_is_written_out() -> None:
    for command in ("bash ev*.sh", "bash scrip*/run.sh", "python scripts/ev?l.py", "node scripts/[e]vil.js"):
        assert not allowed(command), command
    assert not allowed("npx --no-install jest --config evi*.js")


@pytest.mark.covers("H12")
def test_a_makefile_comes_with_its_folder() -> None:
    assert allowed("make -C sub")
    assert not allowed("cp -r evil sub && make -C sub")
    assert not allowed("mv evil sub && cd sub && make")
    assert not allowed("cp evil/Make* sub && make -C sub")
    assert allowed("cp evil/*.c sub && make -C sub")


def test_a_name_with_wildcards_covers_what_it_may_have_become() -> None:
    assert covers(f"/w/{ANY}.sh", "/w/run.sh")
    assert covers(f"/w/{ANY}/", "/w/scripts/run.sh")
    assert not covers(f"/w/{ANY}", "/w/scripts/run.sh")
    assert not covers(f"/w/{ANY}.sh", "/w/run.py")
    assert not covers(f"/w/a/{ANY}", "/w/a")
    assert not covers(f"/w/{ANY}", "/w/.envrc")
    assert is_one_of(f"m{ANY}", ("makefile",))
    assert is_one_of(f"rules.{ANY}", ("*.mk",))
    assert is_one_of("Rules.MK", ("*.mk",))
    assert not is_one_of("rules.c", ("*.mk", "makefile"))


@pytest.mark.covers("H12")
def test_what_cmake_made_in_this_run_is_built_by_cmake_and_not_by_make(tmp_path: Path) -> None:
    """ADR 0113: of a Makefile that is new the guard cannot tell who wrote it last."""
    tree = tmp_path / "tree"
    (tree / "build").mkdir(parents=True)
    (tree / "CMakeLists.txt").touch()
    (tree / "build" / "Makefile").touch()
    began = (tree / "build" / "Makefile").stat().st_ctime_ns
    guard = Guard(GuardContext(str(tree), str(tmp_path / "tmp"), started_ns=began + 1))
    wait_until(lambda: _touched(tree / "build" / "Makefile") > began, 10, "the clock of the disk goes on")

    def asked(command: str, *written: str) -> Decision:
        return guard.decide(GuardRequest("Bash", {"command": command}, written=frozenset(written)))

    for command in ("cd build && make", "make -C build"):
        assert "cmake --build FOLDER" in asked(command).reason, command
    assert asked("cmake --build build").allowed
    assert not asked("cmake --build build", f"{tree}/build/Makefile").allowed


def _touched(file: Path) -> int:
    os.utime(file)
    return file.stat().st_ctime_ns
