"""A result that the disk does not give is a loss with its reason; one that we cannot open now waits."""

from __future__ import annotations

import resource
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from autopilot.config.foreign_file import UnreadableError, read_plain
from autopilot.daemon.loop import Loop
from autopilot.schemas.machine import State
from tests.support import queue
from tests.support.shop import Stage


@contextmanager
def without_descriptors() -> Iterator[None]:
    """Inside the block this process can open nothing."""
    before = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (0, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, before)


@pytest.mark.skipif(sys.platform != "linux", reason="needs a plain file whose bytes cannot be read")
def test_a_plain_file_whose_bytes_cannot_be_read_is_unreadable_and_no_bug() -> None:
    with pytest.raises(UnreadableError, match="it cannot be read: Input/output error") as caught:
        read_plain(Path("/proc/self/mem"), max_bytes=10)
    assert not caught.value.is_our_want


def test_a_paid_result_is_not_lost_because_the_daemon_has_no_descriptor_to_read_it_with(stage: Stage) -> None:
    loop = Loop(stage.shop)
    queue.add(stage.store)
    loop.tick()
    stage.hand_in(queue.result(stage.claim_of("T-1"), base="main"))
    with without_descriptors():
        for _ in range(3):
            loop.tick()
        assert stage.state() is State.RUNNING
    loop.tick()
    ticket = queue.look(stage.store, "T-1")
    assert ticket.state in {State.COMMITTED, State.PUBLISHING}
    assert (ticket.attempts, ticket.releases, ticket.losses) == (1, 0, 0)


def test_a_commit_whose_result_cannot_be_read_again_is_parked_with_the_reason_and_keeps_its_commit(
    stage: Stage,
) -> None:
    loop = Loop(stage.shop)
    queue.add(stage.store)
    loop.tick()
    stage.commit()
    folder = stage.paths.run_dir(stage.claim_of("T-1").attempt.run_id)
    loop._judge()  # noqa: SLF001 - the moment between the commit and its publication
    assert stage.state() is State.COMMITTED
    (folder / "result.json").unlink()
    (folder / "result.json").mkdir()
    loop.tick()
    ticket = queue.look(stage.store, "T-1")
    assert (ticket.state, ticket.head) == (State.PARKED, queue.HEAD)
    assert "it is no plain file" in ticket.reason
    assert "bug" not in ticket.reason
