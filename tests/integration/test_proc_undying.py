"""A process that outlives KILL, as in uninterruptible sleep: nobody waits for it without end."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Iterator
from contextlib import nullcontext
from pathlib import Path

import pytest

from autopilot.config import proc, proctree
from autopilot.config.paths import PUBLISH_FOLDER, SPEC_FILE, paths_below
from autopilot.config.proctree import UNDYING_S, Tree
from autopilot.daemon.emergency import living, stop_all
from autopilot.daemon.inbox import Ended, Inbox
from autopilot.daemon.processes import SystemProcesses
from autopilot.daemon.supervisor import Supervisor
from autopilot.daemon.watch import Order, Watch
from tests.support.clock import FakeClock
from tests.support.wait import wait_until

KEY = f"T-1-a1-{os.getpid():08x}"


class Waited(FakeClock):
    """Goes on by what is waited, and only for so long."""

    began_s = 0.0

    def wait(self, duration_s: float) -> None:
        self.advance(duration_s)
        assert self.monotonic_s() < self.began_s + 10 * UNDYING_S, "it waits without end"


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Waited:
    clock = Waited()
    clock.began_s = clock.monotonic_s()
    monkeypatch.setattr(proctree, "_idle", clock.wait)
    return clock


@pytest.fixture
def undying(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[proc.ProcessId]:
    """A child that no signal reaches for as long as the test runs."""
    child = proc.spawn(
        [sys.executable, "-I", "-c", "import signal; signal.pause()"],
        cwd=tmp_path,
        env={"PATH": os.defpath, proc.RUN_ID_VARIABLE: KEY},
        output=tmp_path / "child.log",
    )
    with monkeypatch.context() as patched:
        patched.setattr(os, "kill", lambda *_: None)
        patched.setattr(os, "killpg", lambda *_: None)
        yield child.id
    os.kill(child.id.pid, signal.SIGKILL)
    wait_until(lambda: child.poll() is not None, 30, "it ends once it can be reached")


def test_a_tree_gives_up_whom_nothing_ends_and_names_him(undying: proc.ProcessId, clock: Waited) -> None:
    tree = Tree(undying, mark=KEY)
    assert tree.end(grace_s=0, clock=clock, pause=clock.wait) == {undying}
    assert not tree.killed


def test_he_is_told_once_and_counts_as_nobody_ended(undying: proc.ProcessId, clock: Waited) -> None:
    """Else who kills until nobody is killed any more, as `off --now` does, would go on for ever."""
    told: list[frozenset[proc.ProcessId]] = []
    assert proc.kill_tree(undying, grace_s=0, clock=clock, marker=KEY, on_survivors=told.append) == 0
    assert told == [{undying}]


def test_who_stops_everything_comes_to_an_end(tmp_path: Path, undying: proc.ProcessId, clock: Waited) -> None:
    """Whatever stands where the publication's name should be."""
    paths = paths_below(tmp_path)
    spec = paths.run_dir(KEY) / PUBLISH_FOLDER / SPEC_FILE
    spec.parent.mkdir(parents=True)
    spec.write_text("[" * 100_000)
    assert stop_all(paths, clock) == []
    assert living(paths) == (KEY,)
    assert proc.is_alive(undying)


def test_the_end_of_his_run_is_told_and_a_daemon_that_starts_goes_on(
    tmp_path: Path, undying: proc.ProcessId, clock: Waited
) -> None:
    order = Order(
        key=KEY,
        journal=tmp_path / "events.jsonl",
        fence=1,
        wall_s=0,
        grace_s=1,
        keep_awake=lambda _: nullcontext(),
    )
    inbox, processes = Inbox(), SystemProcesses(clock)
    watch = Watch(order, undying, child=None, processes=processes, clock=clock, inbox=inbox)
    watch.step()
    clock.advance(1)
    assert watch.step() is None
    assert inbox.take(0) == (Ended(KEY),)
    assert Supervisor(clock=clock, inbox=inbox, processes=processes).clear(order, undying) == 0
