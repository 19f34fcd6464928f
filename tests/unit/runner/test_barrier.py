from __future__ import annotations

from autopilot.runner.barrier import MAX_KINDS, Barrier
from autopilot.schemas.blocked import MAX_WHAT_CHARS, Blocked


def test_attempts_of_one_kind_are_one_line_with_a_count() -> None:
    barrier = Barrier()
    barrier.add(by="network", what="CONNECT a:443", code="host", count=2)
    barrier.add(by="network", what="CONNECT a:443", code="host")
    barrier.add(by="network", what="CONNECT a:443", code="port")
    assert barrier.told() == (
        Blocked(by="network", what="CONNECT a:443", code="host", count=3),
        Blocked(by="network", what="CONNECT a:443", code="port"),
    )


def test_only_so_many_kinds_are_kept_and_the_others_are_counted() -> None:
    barrier = Barrier()
    for number in range(MAX_KINDS + 3):
        barrier.add(by="guard", what=f"command {number}")
    barrier.add(by="network", what="", count=9)
    barrier.add(by="guard", what="command 0")
    told = barrier.told()
    assert len(told) == MAX_KINDS + 2
    assert told[0].count == 2
    assert [(each.by, each.count) for each in told[-2:]] == [("guard", 3), ("network", 9)]


def test_whatever_a_run_wrote_is_kept_as_one_short_line_without_a_credential() -> None:
    barrier = Barrier()
    token = "gh" + "p_" + "a1B2" * 9
    barrier.add(by="tools", what=f"a\nb\x1b[2J\u202e\ud800 {token} " + "x" * 2000)
    (told,) = barrier.told()
    assert len(told.what) <= MAX_WHAT_CHARS
    assert token not in told.what
    assert told.what.isprintable()
    assert told.model_dump_json()
