from __future__ import annotations

import pytest
from pydantic import ValidationError

from autopilot.schemas.gate import MANDATORY_GATES, GateRecord, TestCounts, Verdict, ungreen

HEAD = "a" * 40
OTHER = "b" * 40


def record(gate: str, verdict: Verdict = Verdict.PASSED, *, head: str = HEAD, reason: str = "") -> GateRecord:
    return GateRecord(
        gate=gate,
        verdict=verdict,
        mandatory=True,
        head=head,
        base=OTHER,
        started_ms=1,
        duration_ms=0,
        reason=reason,
    )


def all_green(*, head: str = HEAD) -> tuple[GateRecord, ...]:
    return tuple(record(gate, head=head) for gate in MANDATORY_GATES)


@pytest.mark.covers("J03")
def test_every_mandatory_gate_has_to_be_green() -> None:
    assert ungreen((), head=HEAD) == MANDATORY_GATES
    assert ungreen(all_green(), head=HEAD) == ()
    for gate in MANDATORY_GATES:
        others = tuple(entry for entry in all_green() if entry.gate != gate)
        assert ungreen(others, head=HEAD) == (gate,)


@pytest.mark.covers("J04")
def test_a_verdict_for_another_commit_does_not_count() -> None:
    assert ungreen(all_green(head=OTHER), head=HEAD) == MANDATORY_GATES
    mixed = (*all_green(), record("build", Verdict.FAILED, head=OTHER))
    assert ungreen(mixed, head=HEAD) == ()


@pytest.mark.parametrize("verdict", [Verdict.FAILED, Verdict.ERROR, Verdict.SKIPPED])
def test_a_gate_that_failed_or_could_not_run_is_not_green(verdict: Verdict) -> None:
    assert ungreen((*all_green(), record("build", verdict, reason="x")), head=HEAD) == ("build",)


@pytest.mark.covers("J03")
@pytest.mark.parametrize(("reason", "is_green"), [("no build script", True), ("", False), ("  \n", False)])
def test_a_gate_that_does_not_apply_is_green_only_with_its_reason(reason: str, is_green: bool) -> None:
    entry = record("build", Verdict.NOT_APPLICABLE, reason=reason)
    assert entry.is_green is is_green
    assert ungreen((*all_green(), entry), head=HEAD) == (() if is_green else ("build",))


def test_the_latest_entry_for_a_commit_is_the_one_that_counts() -> None:
    red = record("test-summary", Verdict.FAILED)
    green = record("test-summary")
    assert ungreen((*all_green(), red, green), head=HEAD) == ()
    assert ungreen((*all_green(), green, red), head=HEAD) == ("test-summary",)


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("head", "HEAD"),
        ("head", "a" * 39),
        ("base", "A" * 40),
        ("duration_ms", -1),
        ("verdict", "green"),
        ("extra", 1),
    ],
)
def test_an_entry_that_is_bound_to_no_commit_or_makes_no_sense_is_refused(field: str, value: object) -> None:
    entry = {**record("build").model_dump(), field: value}
    with pytest.raises(ValidationError, match=field):
        GateRecord.model_validate(entry)


@pytest.mark.parametrize("values", [(1, 0, 0, 0), (0, 1, 0, 0), (3, 1, 1, 0), (2, 2, 0, 1)])
def test_counts_that_do_not_add_up_are_refused(values: tuple[int, int, int, int]) -> None:
    executed, passed, failed, errored = values
    with pytest.raises(ValidationError, match="executed"):
        TestCounts(executed=executed, passed=passed, failed=failed, errored=errored, skipped=0)


def test_an_entry_survives_the_way_through_a_file() -> None:
    counts = TestCounts(executed=2, passed=1, failed=1, errored=0, skipped=3, failing_ids=("a::b",))
    entry = record("test-summary", Verdict.FAILED).model_copy(update={"counts": counts, "code": "tests-red"})
    assert GateRecord.model_validate_json(entry.model_dump_json()) == entry
