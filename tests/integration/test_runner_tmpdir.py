"""An agent can bind a unix socket in its TMPDIR, however deep our own folders lie."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

from autopilot.config.clock import SystemClock
from autopilot.runner.guard.judge import Guard
from autopilot.runner.guard.verdict import GuardContext, GuardRequest
from autopilot.runner.sandbox.missing import Missing
from autopilot.runner.sandbox.registry import open_sandbox
from autopilot.runner.tmpdir import forget, short_name
from autopilot.schemas.cell import SandboxKind, SandboxSpec
from tests.support.runs import Host, run_here
from tests.support.small_project import small_repo

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="the short name is for Linux")
ADDRESS_BYTES = 107
BIND = """
import os, socket, tempfile
place = tempfile.mkdtemp(prefix="a-test-that-has-a-server-of-its-own-") + "/server.sock"
with socket.socket(socket.AF_UNIX) as one, socket.socket(socket.AF_UNIX) as other:
    one.bind(place)
    one.listen()
    other.connect(place)
    print(os.environ["TMPDIR"], file=open(os.environ["TMPDIR"] + "/said", "w"))
"""


@pytest.mark.parametrize("kind", ["bubblewrap", "landlock", "none"])
def test_a_socket_can_be_bound_in_the_temporary_folder(host: Host, tmp_path: Path, kind: SandboxKind) -> None:
    sandbox = SandboxSpec(kind=kind)
    if isinstance(open_sandbox(sandbox, SystemClock()), Missing):
        pytest.skip(f"{kind} does not work here")
    deep = Host(host.state / "a-folder-that-lies-deep" / ("below-" * 12))
    spec = deep.spec(
        small_repo(tmp_path / "theirs"),
        deep.agent([{"run": [sys.executable, "-c", BIND]}]),
        sandbox=sandbox,
    )
    run_here(spec)
    said = Path((spec.run_dir / "tmp" / "said").read_text().strip())
    assert len(os.fsencode(spec.run_dir / "tmp")) > ADDRESS_BYTES
    assert len(os.fsencode(said)) < 40
    assert not said.is_symlink(), "it is taken away at the end"


def test_a_folder_has_a_name_as_long_as_somebody_uses_it(tmp_path: Path) -> None:
    folder, below = tmp_path / ("a" * 200), tmp_path / "t"
    for place in (folder, below):
        place.mkdir()
    name = short_name(folder, below=below)
    assert name.resolve() == folder
    assert short_name(folder, below=below) == name
    forget(name, folder)
    assert list(below.iterdir()) == []


def test_names_of_folders_that_are_gone_are_taken_away(tmp_path: Path) -> None:
    gone, folder, below = (tmp_path / name for name in ("g" * 200, "f" * 200, "t"))
    for place in (gone, folder, below):
        place.mkdir()
    left = short_name(gone, below=below)
    gone.rmdir()
    assert left.is_symlink()
    assert short_name(folder, below=below).is_symlink()
    assert not left.is_symlink()


@pytest.mark.parametrize("what", ["open to others", "a link", "a file", "no folder for it"])
def test_a_place_that_is_not_ours_alone_is_not_used(tmp_path: Path, what: str) -> None:
    folder, below = tmp_path / ("f" * 200), tmp_path / "t"
    folder.mkdir()
    if what != "no folder for it":
        below.mkdir()
    place = below / f"ap-{os.geteuid()}"
    match what:
        case "open to others":
            place.mkdir()
            place.chmod(0o777)
        case "a link":
            place.symlink_to(tmp_path)
        case "a file":
            place.touch()
    assert short_name(folder, below=below) == folder
    forget(folder, folder)
    assert folder.is_dir()


def test_somebody_elses_link_under_the_name_is_not_followed(tmp_path: Path) -> None:
    folder, other, below = (tmp_path / name for name in ("f" * 200, "o", "t"))
    for place in (folder, other, below):
        place.mkdir()
    name = short_name(folder, below=below)
    name.unlink()
    name.symlink_to(other)
    assert short_name(folder, below=below) == folder


def test_the_guard_knows_the_folder_by_both_names_and_follows_links_out_of_it(tmp_path: Path) -> None:
    tree, folder, name = tmp_path / "tree", tmp_path / "deep" / "tmp", tmp_path / "t"
    for place in (tree, folder):
        place.mkdir(parents=True)
    name.symlink_to(folder)
    (folder / "out").symlink_to(tmp_path)
    guard = Guard(GuardContext(str(tree), str(name)))
    for path, code in (
        (name / "x", "allowed"),
        (folder / "x", "allowed"),
        (name / "out" / "x", "outside-by-link"),
        (folder / "out" / "x", "outside-by-link"),
        (tmp_path / "deep" / "x", "outside"),
        (name / ".." / "x", "outside"),
    ):
        request = GuardRequest("Bash", {"command": f"ls {path}"})
        assert guard.decide(request).code == code, path
