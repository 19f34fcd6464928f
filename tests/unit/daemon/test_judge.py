"""What a child left behind is believed only where it fits our own records."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from autopilot.config.journal import append_line
from autopilot.daemon import judge, transitions_publish, verdicts
from autopilot.daemon.decide import Loss
from autopilot.daemon.store.engine import Store
from autopilot.daemon.store.rows import Claim, LivePublication, LiveRun
from autopilot.daemon.watch import Ending
from autopilot.schemas.publication import PublishOutcome, PublishVerdict
from autopilot.schemas.run import Outcome, RunResult
from tests.support import queue
from tests.support.clock import NIGHT_START_MS

LATE_MS = NIGHT_START_MS + 5_000
ENDED = Ending("the process ended with code 0")


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    store = queue.new_store(tmp_path)
    yield store
    store.close()


@pytest.fixture
def claim(store: Store) -> Claim:
    return queue.claim(store, queue.add(store))


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "run").mkdir()
    return tmp_path / "run"


def judged(
    claim: Claim, folder: Path, *, ending: Ending | None = ENDED, boot_ms: int = 0, pid: int | None = 77
) -> RunResult | Loss:
    attempt = claim.attempt if pid is None else replace(claim.attempt, pid=pid, pid_started_ms=1)
    found = judge.Found(ending, LATE_MS, boot_ms)
    return judge.result_of(LiveRun(claim.ticket, attempt), folder, found=found)


def hand_in(folder: Path, result: RunResult) -> None:
    (folder / "result.json").write_text(result.model_dump_json())


def test_a_result_that_fits_our_records_is_believed(claim: Claim, folder: Path) -> None:
    result = queue.result(claim, base="main")
    hand_in(folder, result)
    assert judged(claim, folder) == result


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("run_id", "T-1-a1-ffffffff"),
        ("ticket_id", "T-2"),
        ("attempt", 2),
        ("fence", 9),
        ("branch", "main"),
    ],
)
def test_a_result_of_another_run_ticket_attempt_fence_or_branch_is_a_loss_that_names_the_field(
    claim: Claim, folder: Path, field: str, value: object
) -> None:
    hand_in(folder, queue.result(claim, Outcome.COMMITTED, **{"base": "main", field: value}))
    loss = judged(claim, folder)
    assert isinstance(loss, Loss)
    assert f"{field} is {value!r}" in loss.reason


@pytest.mark.parametrize("field", ["head", "base_sha", "base"])
def test_a_commit_without_its_name_or_base_is_a_loss(claim: Claim, folder: Path, field: str) -> None:
    hand_in(folder, queue.result(claim, Outcome.COMMITTED, **{"base": "main", field: None}))
    assert isinstance(judged(claim, folder), Loss)


def a_pipe(path: Path) -> None:
    os.mkfifo(path)


def a_link(path: Path) -> None:
    path.symlink_to("/dev/zero")


def a_flood(path: Path) -> None:
    with path.open("wb") as file:
        file.truncate(judge.MAX_RESULT_BYTES + 1)


@pytest.mark.parametrize(
    "leave",
    [
        lambda path: None,
        lambda path: path.write_bytes(b""),
        lambda path: path.write_bytes(b'{"run_id": "T-1'),
        lambda path: path.write_bytes(b"\xff\xfe\x00garbage"),
        lambda path: path.write_text("[]"),
        lambda path: path.write_text("[" * 100_000),
        lambda path: path.mkdir(),
        a_pipe,
        a_link,
        a_flood,
    ],
    ids=["nothing", "empty", "cut", "garbage", "list", "deep", "folder", "pipe", "link", "flood"],
)
def test_whatever_else_lies_there_is_a_loss_and_never_an_error(
    claim: Claim, folder: Path, leave: Callable[[Path], object]
) -> None:
    leave(folder / "result.json")
    loss = judged(claim, folder)
    assert isinstance(loss, Loss)
    assert (loss.run_id, loss.fence, loss.at_ms) == (claim.attempt.run_id, claim.attempt.fence, LATE_MS)
    assert loss.reason.startswith("the process ended with code 0; result.json")


OVERDUE = Ending("the process outlived its 2h 00m and was killed", "", is_overdue=True)


def test_a_run_that_had_to_be_killed_for_its_time_is_lost_even_if_it_says_it_was_only_stopped(
    claim: Claim, folder: Path
) -> None:
    """Else a runner that hangs would be given back again and again without using an attempt."""
    hand_in(folder, queue.result(claim, Outcome.STOPPED))
    loss = judged(claim, folder, ending=OVERDUE)
    assert isinstance(loss, Loss)
    assert (loss.cause, loss.reason) == ("died", OVERDUE.told)


def test_a_run_that_hung_after_its_result_was_whole_has_not_worked_in_vain(
    claim: Claim, folder: Path
) -> None:
    result = queue.result(claim, base="main")
    hand_in(folder, result)
    assert judged(claim, folder, ending=OVERDUE) == result


@pytest.mark.parametrize(
    ("ending", "pid", "boot_ms", "cause"),
    [
        (ENDED, 77, 0, "died"),
        (Ending("the process was killed by signal 9", "the daemon stops"), 77, 0, "stopped"),
        (None, 77, 0, "died"),
        (None, None, 0, "never-started"),
        (None, 77, NIGHT_START_MS + 1, "reboot"),
        (None, None, NIGHT_START_MS + 1, "reboot"),
    ],
)
def test_the_cause_of_a_loss_says_whose_doing_it_was(
    claim: Claim, folder: Path, *, ending: Ending | None, pid: int | None, boot_ms: int, cause: str
) -> None:
    loss = judged(claim, folder, ending=ending, pid=pid, boot_ms=boot_ms)
    assert isinstance(loss, Loss)
    assert loss.cause == cause


def test_a_runner_that_was_started_unrecorded_is_no_run_that_cost_nothing(claim: Claim, folder: Path) -> None:
    """The daemon died between the start and writing down whom; the agent was paid meanwhile."""
    (folder / "runner.log").write_text("")
    loss = judged(claim, folder, ending=None, pid=None, boot_ms=0)
    assert isinstance(loss, Loss)
    assert loss.cause == "died"


@pytest.fixture
def live(store: Store) -> LivePublication:
    ticket = queue.commit(store, queue.add(store))
    return transitions_publish.begin_publish(store, ticket, base="main", base_sha=queue.BASE)


def test_a_verdict_that_fits_the_publication_is_believed(live: LivePublication, tmp_path: Path) -> None:
    verdict = queue.verdict(live, PublishOutcome.PR_OPENED)
    (tmp_path / "verdict").write_text(verdict.model_dump_json())
    assert verdicts.verdict_of(live, tmp_path / "verdict") == verdict


@pytest.mark.parametrize(
    "wrong",
    [{"id": "T-9-a1-00000000"}, {"ticket_id": "T-9"}, {"run_id": "x"}, {"finished_ms": NIGHT_START_MS - 1}],
)
def test_a_verdict_of_another_publication_or_an_earlier_try_is_not_believed(
    live: LivePublication, tmp_path: Path, wrong: dict[str, object]
) -> None:
    verdict = queue.verdict(live, PublishOutcome.PR_OPENED, **wrong)
    (tmp_path / "verdict").write_text(verdict.model_dump_json())
    assert isinstance(verdicts.verdict_of(live, tmp_path / "verdict"), str)


def test_a_verdict_that_is_missing_or_garbage_is_said_to_be(live: LivePublication, tmp_path: Path) -> None:
    assert verdicts.verdict_of(live, tmp_path / "verdict") == "verdict: it was not written"
    (tmp_path / "verdict").write_text("{}")
    told = verdicts.verdict_of(live, tmp_path / "verdict")
    assert isinstance(told, str)
    assert told.startswith("the verdict is not valid")


def test_a_publisher_we_stopped_is_deferred_and_not_lost(live: LivePublication) -> None:
    verdict = verdicts.stopped_verdict(live, "the daemon stops", LATE_MS)
    assert PublishVerdict.model_validate_json(verdict.model_dump_json()) == verdict
    assert (verdict.outcome, verdict.code) == (PublishOutcome.PUBLISH_DEFERRED, "stopped")


def test_what_a_lost_run_has_told_beyond_its_reservation_is_charged(
    store: Store, claim: Claim, folder: Path
) -> None:
    """Its daemon died before it heard: only the journal knows."""
    reserved = claim.attempt.reserved_micro_usd
    for spent in (reserved // 2, reserved + 7, True, "9"):
        append_line(folder / "events.jsonl", {"event": "agent.spent", "cost_micro_usd": spent})
    with (folder / "events.jsonl").open("ab") as journal:
        journal.write(b'{"event": "agent.spent", "cost_mi')
    loss = judged(claim, folder, ending=None)
    assert isinstance(loss, Loss)
    assert loss.told_micro_usd == reserved + 7
    ended = queue.end(store, claim, loss)
    assert ended.spent_micro_usd == reserved + 7


def test_a_journal_that_is_no_file_of_ours_tells_nothing(claim: Claim, folder: Path) -> None:
    os.mkfifo(folder / "events.jsonl")
    loss = judged(claim, folder, ending=None)
    assert isinstance(loss, Loss)
    assert loss.told_micro_usd == 0
