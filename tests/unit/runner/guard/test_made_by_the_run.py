"""What a run wrote it does not start, in whatever way it came to its place; nor is a tool steered by it."""

from __future__ import annotations

import os
from pathlib import Path
from typing import NamedTuple

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


class Built(NamedTuple):
    """A worktree with a folder of build files that are newer than the run."""

    tree: Path
    guard: Guard

    def ask(self, command: str, *written: str, cwd: str = "") -> Decision:
        whole = frozenset(f"{self.tree}/{name}" for name in written)
        return self.guard.decide(GuardRequest("Bash", {"command": command}, str(self.tree / cwd), whole))


@pytest.fixture
def built(tmp_path: Path) -> Built:
    tree = tmp_path / "tree"
    (tree / "build").mkdir(parents=True)
    (tree / "CMakeLists.txt").touch()
    for name in ("Makefile", "cmake_install.cmake"):
        (tree / "build" / name).touch()
    began = (tree / "build" / "Makefile").stat().st_ctime_ns
    made = [tree / "build" / name for name in ("Makefile", "cmake_install.cmake")]
    wait_until(lambda: min(map(_touched, made)) > began, 10, "the clock of the disk goes on")
    return Built(tree, Guard(GuardContext(str(tree), str(tmp_path / "tmp"), started_ns=began + 1)))


@pytest.mark.covers("H12")
def test_a_makefile_of_this_run_is_not_obeyed_where_nothing_says_that_cmake_made_it(built: Built) -> None:
    for command in ("cd build && make", "make -C build"):
        assert "cmake --build FOLDER" in built.ask(command).reason, command
    assert not built.ask("make", cwd="build").allowed
    assert built.ask("cmake --build build").allowed
    assert not built.ask("cmake --build build", "build/Makefile").allowed


BUILDS = [
    *(("make -j4", "build"), ("make -C build", ""), ("cd build && make", ""), ("make test", "build")),
    *(("cmake --build .", "build"), ("cmake --build build", ""), ("cd build && cmake --build .", "")),
    ("cmake ..", "build"),
]


@pytest.mark.covers("H12")
@pytest.mark.parametrize(("command", "cwd"), BUILDS)
def test_what_cmake_made_is_built_by_make_and_by_cmake_alike_wherever_the_shell_is(
    built: Built, command: str, cwd: str
) -> None:
    """ADR 0192: `cmake --build` starts make with that very file, so it is asked the same of both."""
    (built.tree / "build" / "CMakeCache.txt").touch()
    assert built.ask(command, "src/a.c", cwd=cwd).allowed
    steering = ("CMakeLists.txt", "build/Makefile", "build/CMakeCache.txt", "x.cmake", "build/rules.make")
    for written in steering:
        assert not built.ask(command, written, cwd=cwd).allowed, written
    assert not built.ask(command, "build/", cwd=cwd).allowed
    (built.tree / "CMakeLists.txt").unlink()
    (built.tree / "CMakeLists.txt").touch()
    assert not built.ask(command, cwd=cwd).allowed


def test_settings_that_this_run_or_a_test_of_it_made_steer_no_tool(built: Built) -> None:
    (built.tree / "old.ini").touch()
    guard = Guard(GuardContext(str(built.tree), str(built.tree.parent / "tmp")))
    asked = GuardRequest("Bash", {"command": "pytest -c old.ini"}, str(built.tree))
    assert guard.decide(asked).allowed
    assert built.ask("pytest -c old.ini").code == "made-by-the-run"
    inside = f"{built.tree.parent}/tmp/a.ini"
    assert built.ask(f"mypy --config-file {inside} src").code == "made-by-the-run"


def _touched(file: Path) -> int:
    os.utime(file)
    return file.stat().st_ctime_ns
