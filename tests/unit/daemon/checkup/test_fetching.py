"""The program by which a person's git signs in is looked for where the service that fetches will look."""

from __future__ import annotations

from pathlib import Path

import pytest

from autopilot.config.clock import SystemClock
from autopilot.config.load import load
from autopilot.config.paths import paths_below
from autopilot.daemon.checkup import fetching
from autopilot.daemon.checkup.probe import Limit
from autopilot.daemon.checkup.scene import Runner, Scene
from autopilot.schemas.checkup import Check

SERVICE = "the service (systemd)"


class Machine:
    """A home with a git configuration, and a folder of programs that only a terminal's PATH has."""

    def __init__(self, home: Path) -> None:
        self.home = home
        self.programs = home / "programs"
        self.programs.mkdir()

    def put(self, name: str) -> Path:
        program = self.programs / name
        program.write_text("#!/bin/sh\n")
        program.chmod(0o755)
        return program

    def configure(self, text: str) -> None:
        (self.home / ".gitconfig").write_text(text)

    def seen(self, path: str, url: str = "https://forge.example/o/r.git") -> list[Check]:
        (self.home / "config.toml").write_text(f'[[repo]]\nname = "r"\nurl = "{url}"\n')
        paths, clock = paths_below(self.home).ensure(), SystemClock()
        settings = load(paths)
        runner = Runner(who=SERVICE, environment={"PATH": path, "HOME": str(self.home)}, is_service=True)
        scene = Scene(paths=paths, clock=clock, settings=settings, runner=runner)
        return list(fetching.sign_in(settings.repos[0], scene, Limit(clock, clock.monotonic_s() + 20)))


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    return Machine(tmp_path)


@pytest.mark.field_report("DMN-010")
@pytest.mark.parametrize(
    ("helper", "program"),
    [
        ("!gh-of-test auth git-credential", "gh-of-test"),
        ("of-test --timeout 5", "git-credential-of-test"),
    ],
)
def test_what_git_signs_in_by_is_looked_for_where_the_service_will_look(
    machine: Machine, helper: str, program: str
) -> None:
    """As `gh auth setup-git` has it, or by hand."""
    machine.configure(f'[credential "https://forge.example"]\n\thelper =\n\thelper = {helper}\n')
    place = machine.put(program)
    (line,) = machine.seen("/usr/bin:/bin")
    assert (line.name, line.verdict) == ("git sign-in of r", "warning")
    assert line.evidence == f"git asks {program} when it fetches, which is not on PATH of {SERVICE}"
    assert line.cure.startswith("autopilot install")
    (line,) = machine.seen(f"{machine.programs}:/usr/bin:/bin")
    assert (line.verdict, line.evidence) == ("go", f"git asks {place}")


def test_a_program_that_is_named_by_its_place_or_came_with_git_is_found_by_any_path(machine: Machine) -> None:
    place = machine.put("gh-of-test")
    machine.configure(f"[credential]\n\thelper = !{place} auth git-credential\n")
    assert [line.evidence for line in machine.seen("/usr/bin:/bin")] == [f"git asks {place}"]
    machine.configure("[credential]\n\thelper = store\n")
    (line,) = machine.seen("/usr/bin:/bin")
    assert (line.verdict, line.evidence.rpartition("/")[2]) == ("go", "git-credential-store")


@pytest.mark.parametrize("helper", ["", "!f() { gh-of-test; }; f", "!'unended"])
def test_where_git_asks_nobody_or_a_line_of_shell_there_is_no_line(machine: Machine, helper: str) -> None:
    machine.configure(f'[credential]\n\thelper = "{helper}"\n')
    assert machine.seen("/usr/bin:/bin") == []


def test_another_forges_program_and_a_remote_by_ssh_are_none_of_it(machine: Machine) -> None:
    machine.configure('[credential "https://other.example"]\n\thelper = !gh-of-test\n')
    assert machine.seen("/usr/bin:/bin") == []
    machine.configure("[credential]\n\thelper = !gh-of-test\n")
    assert machine.seen("/usr/bin:/bin", "git@forge.example:o/r.git") == []
