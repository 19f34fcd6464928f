from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from autopilot.runner.state import create_state, merge_state, read_state, update_state
from autopilot.schemas.agent_state import AgentState, parse_state
from autopilot.schemas.errors import InvariantError, TransientError
from tests.support.tree import ROOT

DOCUMENT: dict[str, Any] = {
    "schemaVersion": "3.0.0",
    "taskId": "T-1",
    "shortId": 1,
    "project": "bill",
    "branch": "autopilot/t-1-split",
    "baseBranch": "main",
    "currentPhase": 0,
    "status": "in_progress",
    "startedAt": "2026-01-02T22:00:00Z",
    "phases": {"0": {"status": "in_progress", "startedAt": "2026-01-02T22:00:00Z"}},
    "identity": {"name": "Ada", "email": "ada@example.invalid"},
}


@pytest.fixture
def path(tmp_path: Path) -> Path:
    place = tmp_path / "agent-state.json"
    create_state(place, first())
    return place


def first() -> AgentState:
    return parse_state(json.dumps(DOCUMENT).encode())


@pytest.mark.covers("O18", "O48")
def test_every_write_raises_the_revision_by_one(path: Path) -> None:
    assert read_state(path).rev == 1
    assert merge_state(path, {"currentPhase": 1}, seen_rev=1).rev == 2
    assert merge_state(path, {"currentPhase": 2}, seen_rev=2).rev == 3
    assert (read_state(path).rev, read_state(path).current_phase) == (3, 2)


@pytest.mark.covers("O18")
def test_a_writer_that_read_an_older_revision_is_told_and_changes_nothing(path: Path) -> None:
    merge_state(path, {"taskType": "feature"}, seen_rev=1)
    before = path.read_bytes()
    with pytest.raises(TransientError) as caught:
        merge_state(path, {"currentPhase": 5}, seen_rev=1)
    assert caught.value.code == "state-moved"
    assert path.read_bytes() == before


def test_a_patch_changes_what_it_names_and_keeps_the_rest(path: Path) -> None:
    patch = {"phases": {"0": {"status": "done"}, "1": {"status": "in_progress"}}, "currentPhase": 1}
    phases = merge_state(path, patch, seen_rev=1).phases
    assert phases["0"].status == "done"
    assert phases["0"].started_at == "2026-01-02T22:00:00Z"
    assert phases["1"].status == "in_progress"
    assert read_state(path).task_id == "T-1"


@pytest.mark.covers("O05")
@pytest.mark.parametrize(
    "patch",
    [{"surprise": 1}, {"currentPhase": 6}, {"status": "parked"}, {"rev": 9}, {"schemaVersion": "2.1.0"},
     {"phases": {"0": {"retryCount": 4}}}, {"startedAt": object()}, {"plan": {"cost": float("nan")}}],
)  # fmt: skip
def test_a_change_that_would_make_the_document_invalid_is_refused_and_not_written(
    path: Path, patch: dict[str, Any]
) -> None:
    before = path.read_bytes()
    with pytest.raises(InvariantError) as caught:
        merge_state(path, patch, seen_rev=1)
    assert caught.value.code == "state-invalid"
    assert path.read_bytes() == before


@pytest.mark.covers("O05")
@pytest.mark.parametrize("content", ["", "{}", "[]", '{"schemaVersion": "9.0.0"}'])
def test_a_damaged_document_is_refused_when_it_is_read(path: Path, content: str) -> None:
    path.write_text(content, encoding="utf-8")
    with pytest.raises(InvariantError) as caught:
        read_state(path)
    assert caught.value.code == "state-invalid"
    assert str(path) in caught.value.what


def test_a_run_goes_on_with_its_document_and_never_starts_it_anew(path: Path) -> None:
    with pytest.raises(InvariantError) as caught:
        create_state(path, first())
    assert caught.value.code == "state-exists"


def test_a_document_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(InvariantError) as caught:
        read_state(tmp_path / "absent.json")
    assert caught.value.code == "state-missing"


@pytest.mark.covers("O18", "O48")
def test_of_many_writers_at_one_revision_exactly_one_gets_through(path: Path) -> None:
    def attempt(number: int) -> bool:
        return outcome(lambda: merge_state(path, {"taskType": f"kind-{number}"}, seen_rev=1))

    with ThreadPoolExecutor(8) as pool:
        results = list(pool.map(attempt, range(8)))
    assert results.count(True) == 1
    assert read_state(path).rev == 2


def outcome(write: Callable[[], object]) -> bool:
    try:
        write()
    except TransientError:
        return False
    return True


WRITER = """
import sys
from pathlib import Path
from autopilot.runner.state import merge_state, read_state, update_state, update_state
from autopilot.schemas.errors import TransientError
path, name, turns = Path(sys.argv[1]), sys.argv[2], int(sys.argv[3])
for turn in range(turns):
    update_state(path, {"phases": {name: {"notes": f"{turn}"}}})
    while True:
        seen = read_state(path)
        plan = seen.model_dump(mode="json", by_alias=True)["plan"] or {}
        try:
            merge_state(path, {"plan": {**plan, name: plan.get(name, 0) + 1}}, seen_rev=seen.rev)
        except TransientError:
            continue
        break
    print(turn, flush=True)
"""


def start_writer(path: Path, name: str, turns: int) -> subprocess.Popen[bytes]:
    """A process that adds one to its own number so many times, and writes a key of its own as often."""
    argv = [sys.executable, "-P", "-c", WRITER, str(path), name, str(turns)]
    return subprocess.Popen(argv, stdout=subprocess.PIPE, env={"PYTHONPATH": str(ROOT / "src")})


@pytest.mark.covers("O18", "O48")
def test_two_processes_that_write_at_once_lose_nothing(path: Path) -> None:
    writers = {name: start_writer(path, name, 25) for name in ("1", "2")}
    for writer in writers.values():
        writer.communicate(timeout=60)
        assert writer.returncode == 0
    state = read_state(path)
    document = state.model_dump(mode="json", by_alias=True)
    assert document["plan"] == {"1": 25, "2": 25}
    assert {document["phases"][name]["notes"] for name in writers} == {"24"}
    assert state.rev == 1 + 2 * 2 * 25


@pytest.mark.covers("O18")
def test_a_writer_killed_at_any_moment_leaves_a_whole_document_and_no_lock(path: Path) -> None:
    for turns in range(1, 4):
        writer = start_writer(path, "1", 1000)
        assert writer.stdout is not None
        for _ in range(turns):
            writer.stdout.readline()
        writer.kill()
        writer.communicate(timeout=60)
        before = read_state(path)
        assert update_state(path, {"taskType": f"kind-{turns}"}).rev == before.rev + 1
