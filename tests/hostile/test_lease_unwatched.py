"""A run whose look at its lease has died or could not begin, or that has no memory: a named end."""

from __future__ import annotations

import threading
from pathlib import Path

import pytest

from autopilot.config.clock import SystemClock
from autopilot.config.lease import renew
from autopilot.runner import __main__ as edge
from autopilot.runner import pipeline
from autopilot.schemas.run import Lease, Outcome, RunResult, RunSpec
from tests.support.runs import OPEN, Host, events_of
from tests.support.small_project import small_repo

MENDS: list[dict[str, object]] = [{"write": {"path": "answer.txt", "text": "right\n"}}]
LIVES: list[dict[str, object]] = [*MENDS, {"spend": {"usd": 0.5}}, {"hang": True}]


class Deadly(SystemClock):
    """A clock that the lease's thread dies of once an agent is at work."""

    def __init__(self, spec: RunSpec) -> None:
        super().__init__()
        self.spec = spec

    def monotonic_s(self) -> float:
        if threading.current_thread().name == "lease" and events_of(self.spec, "agent.spent"):
            raise ValueError("a bug of ours")
        return super().monotonic_s()


@pytest.fixture
def spec(tmp_path: Path) -> RunSpec:
    host = Host(tmp_path / "state")
    made = host.spec(small_repo(tmp_path / "theirs"), host.agent(LIVES), sandbox=OPEN)
    lease = made.run_dir / "lease"
    renew(lease)
    return made.model_copy(update={"lease": Lease(file=lease, lease_s=600)})


def ended(spec: RunSpec, clock: SystemClock) -> RunResult:
    """Let the runner's edge carry the run out, and read what it says."""
    file = spec.run_dir / "spec.json"
    file.write_text(spec.model_dump_json())
    assert edge.run(file, clock, lambda: None) == 0
    return RunResult.model_validate_json((spec.run_dir / "result.json").read_bytes())


@pytest.mark.filterwarnings("ignore::pytest.PytestUnhandledThreadExceptionWarning")
def test_a_run_that_can_no_longer_see_its_lease_ends_its_agent_and_says_so(spec: RunSpec) -> None:
    result = ended(spec, Deadly(spec))
    assert (result.outcome, result.code) == (Outcome.STOPPED, "lease-unwatched")
    assert "nothing looks any more whether its lease is renewed" in result.message
    assert result.usage.cost_micro_usd == 500_000
    assert (spec.worktree / "answer.txt").read_text() == "right\n"


@pytest.mark.parametrize("by", [RuntimeError, MemoryError])
def test_a_run_that_has_no_thread_to_see_its_lease_with_starts_nothing_and_comes_back(
    spec: RunSpec, monkeypatch: pytest.MonkeyPatch, by: type[Exception]
) -> None:
    def refuse(thread: threading.Thread) -> None:
        raise by("can't start new thread")

    with monkeypatch.context() as patched:
        patched.setattr(threading.Thread, "start", refuse)
        result = ended(spec, SystemClock())
    assert (result.outcome, result.code) == (Outcome.INFRASTRUCTURE, "thread-unstarted")
    assert "ulimit" in result.hint
    assert not events_of(spec, "agent.started")


def test_a_run_without_memory_comes_back_and_is_no_fault_of_ours(
    spec: RunSpec, monkeypatch: pytest.MonkeyPatch
) -> None:
    def short(*_: object) -> RunResult:
        raise MemoryError

    monkeypatch.setattr(pipeline, "run", short)
    result = ended(spec, SystemClock())
    assert (result.outcome, result.code) == (Outcome.INFRASTRUCTURE, "memory-short")
    assert "ulimit -v" in result.hint
