"""A run's folders take no more disk than they may: it ends by name, and nothing of it is published."""

from __future__ import annotations

import os
import shutil
import sys
from pathlib import Path

import pytest

from autopilot.config.clock import SystemClock
from autopilot.runner.footprint import Footprint, is_about_disk
from autopilot.runner.sandbox.bounds import Bounds
from autopilot.runner.sandbox.missing import Missing
from autopilot.runner.sandbox.registry import open_sandbox
from autopilot.schemas.cell import SandboxKind, SandboxSpec
from autopilot.schemas.gate import ungreen
from autopilot.schemas.run import Outcome
from tests.support.cells import locked_up, sandbox_of
from tests.support.clock import FakeClock
from tests.support.programs import PYTHON_WORD
from tests.support.runs import Host, run_here
from tests.support.small_project import small_repo
from tests.support.verifications import CASE, GREEN, result_of, spec_of

MIB = 1 << 20
FILL = """
import os, pathlib, signal, subprocess, sys
place = pathlib.Path({place})
place.mkdir(parents=True, exist_ok=True)
for number in range(30):
    (place / str(number)).write_bytes(b"x" * (1 << 20))
signal.pause()
"""
PLACES = {
    "the worktree": "'filled'",
    "the temporary folder": "os.environ['TMPDIR'] + '/filled'",
    "the home": "os.environ['HOME'] + '/filled'",
    "the repository": "subprocess.getoutput('git rev-parse --git-path objects/aa')",
}


@pytest.mark.parametrize("place", PLACES.values(), ids=PLACES)
def test_a_run_that_takes_more_ends_by_name_and_asks_for_no_publication(
    host: Host, tmp_path: Path, place: str
) -> None:
    steps: list[dict[str, object]] = [
        {"write": {"path": "answer.txt", "text": "right\n"}},
        {"run": [sys.executable, "-c", FILL.format(place=place)]},
    ]
    spec = host.spec(small_repo(tmp_path / "theirs"), host.agent(steps), sandbox=SandboxSpec(disk_mib=20))
    result = run_here(spec)
    assert (result.outcome, result.code) == (Outcome.AGENT_FAILED, "resource-limit")
    assert "more than 20 MiB of disk ([sandbox] disk_mib)" in result.message
    assert result.hint
    assert result.head is None
    assert not spec.pr_request.exists()


def test_a_test_of_the_commit_that_takes_more_ends_the_run_too(host: Host, tmp_path: Path) -> None:
    fill = FILL.format(place="'filled'")
    steps: list[dict[str, object]] = [
        {"write": {"path": "answer.txt", "text": "right\n"}},
        {"write": {"path": "fill.py", "text": fill}},
        {"write": {"path": "check.sh", "text": f"exec {PYTHON_WORD} fill.py\n"}},
    ]
    spec = host.spec(small_repo(tmp_path / "theirs"), host.agent(steps), sandbox=SandboxSpec(disk_mib=20))
    result = run_here(spec)
    assert (result.outcome, result.code) == (Outcome.AGENT_FAILED, "resource-limit")
    assert not spec.pr_request.exists()


def test_what_takes_more_when_it_is_verified_again_is_not_green(tmp_path: Path) -> None:
    fills = (
        "[open(f'filled-{n}', 'wb').write(b'x' * (1 << 20)) for n in range(30)]; __import__('signal').pause()"
    )
    files = {"tests/test_a.py": CASE.format(fills)}
    spec = spec_of(tmp_path, files, base=GREEN).model_copy(update={"sandbox": SandboxSpec(disk_mib=20)})
    result = result_of(spec)
    assert ungreen(result.gates, head=spec.head)
    assert any("more than 20 MiB of disk" in record.reason for record in result.gates)


@pytest.mark.parametrize("kind", ["bubblewrap", "landlock"])
def test_no_single_file_is_larger_than_all_may_be(tmp_path: Path, kind: SandboxKind) -> None:
    if isinstance(open_sandbox(SandboxSpec(kind=kind), SystemClock()), Missing):
        pytest.skip(f"{kind} does not work here")
    sandbox = sandbox_of(kind, Bounds(memory_bytes=1 << 30, file_bytes=MIB))
    ended = locked_up(tmp_path / "cell", ("dd", "if=/dev/zero", "of=x", "bs=1M", "count=4"), sandbox)
    assert (ended.stopped, ended.limit) == (
        "resource-limit",
        "a file of more than 1 MiB ([sandbox] disk_mib)",
    )
    assert (tmp_path / "cell" / "x").stat().st_size <= MIB


def test_as_shipped_it_is_half_of_what_is_free(tmp_path: Path) -> None:
    most = Footprint.of(SandboxSpec(), (tmp_path,), SystemClock()).most_bytes
    free = shutil.disk_usage(tmp_path).free
    assert max(1 << 30, free * 0.4) <= most <= max(1 << 30, free * 0.6)
    assert Footprint.of(SandboxSpec(disk_mib=7), (tmp_path,), SystemClock()).most_bytes == 7 * MIB


def looked(footprint: Footprint, clock: FakeClock, times: int = 2) -> list[str | None]:
    """Look several times, with enough time between."""
    said = []
    for _ in range(times):
        said.append(footprint.over())
        clock.advance(60)
    return said


def test_what_was_removed_before_the_second_look_does_not_count(tmp_path: Path) -> None:
    clock = FakeClock()
    footprint = Footprint((tmp_path,), MIB, clock)
    (tmp_path / "x").write_bytes(b"x" * 2 * MIB)
    assert looked(footprint, clock, 1) == [None]
    (tmp_path / "x").unlink()
    assert looked(footprint, clock, 3) == [None, None, None]
    (tmp_path / "x").write_bytes(b"x" * 2 * MIB)
    *_, last = looked(footprint, clock)
    assert is_about_disk(last or "")
    (tmp_path / "x").unlink()
    assert is_about_disk(footprint.over() or ""), "that it was too large is not forgotten"


def test_a_file_of_several_names_counts_once_and_a_link_leads_nowhere(tmp_path: Path) -> None:
    folder, elsewhere = tmp_path / "folder", tmp_path / "elsewhere"
    for place in (folder, elsewhere):
        place.mkdir()
    (elsewhere / "large").write_bytes(b"x" * 4 * MIB)
    (folder / "link").symlink_to(elsewhere)
    (folder / "x").write_bytes(b"x" * MIB)
    for number in range(20):
        os.link(folder / "x", folder / str(number))
    clock = FakeClock()
    assert looked(Footprint((folder,), 2 * MIB, clock), clock) == [None, None]
    assert looked(Footprint((folder,), MIB // 2, clock), clock)[1] is not None


class SlowClock(FakeClock):
    """Goes on with each look at it."""

    def monotonic_s(self) -> float:
        """A hundredth more each time."""
        self.advance(0.01)
        return super().monotonic_s()


def test_many_files_are_looked_at_bit_by_bit(tmp_path: Path) -> None:
    for number in range(2000):
        (tmp_path / str(number)).write_bytes(b"x")
    clock = SlowClock()
    footprint = Footprint((tmp_path,), 7 * MIB, clock)
    said, turns = None, 0
    while said is None and turns < 10_000:
        said, turns = footprint.over(), turns + 1
    assert is_about_disk(said or "")
    assert turns > 10, "and between two of its looks others have their turns"
