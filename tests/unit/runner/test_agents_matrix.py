"""What all agents have in common whose streams we read: one row of the matrix for each of their ends."""

from __future__ import annotations

import pytest

from autopilot.runner.agents.events import AgentEvent, UsedTool
from autopilot.runner.agents.registry import KINDS
from autopilot.schemas.run import Outcome
from tests.support import captures
from tests.support.played import PLAYED
from tests.support.playing import Means, Played, Said

EACH = pytest.mark.parametrize("played", PLAYED.values(), ids=PLAYED.keys())
RECORDED = [(each, *row) for each in PLAYED.values() for row in captures.names(each.kind)]
ENDS = [
    (each, *end)
    for each in PLAYED.values()
    for end in (
        *each.errors,
        *each.ends,
        ((), 127, (Outcome.AGENT_MISSING, "agent-missing")),
        ((), 126, (Outcome.AGENT_MISSING, "agent-missing")),
        *(((), code, (Outcome.AGENT_FAILED, "agent-failed-unknown")) for code in (1, 2, -6)),
        ((), 0, (Outcome.AGENT_FAILED, "agent-no-result")),
    )
]
STRANGE = [
    (each, event)
    for each in PLAYED.values()
    for event in (*each.strange, {"type": 3}, {"type": "brand.new"}, {"type": ["x"]}, {"type": None}, {})
]


def test_every_agent_whose_stream_we_read_is_played() -> None:
    assert PLAYED.keys() == {*KINDS} - {"command", "scripted"}


@EACH
def test_every_recorded_stream_is_in_the_matrix(played: Played) -> None:
    assert {*captures.names(played.kind)} == played.matrix.keys()


@pytest.mark.parametrize(("played", "name", "version"), RECORDED)
def test_every_row_of_the_outcome_matrix_gets_its_verdict_and_no_line_of_it_is_damaged(
    played: Played, name: str, version: str
) -> None:
    report, _ = played.replay(captures.capture(played.kind, name, version))
    assert (report.outcome, report.code) == played.matrix[name, version]
    assert report.message
    assert report.hint or report.outcome is None
    odd = [warning for warning in report.warnings if "JSON" in warning or "types" in warning]
    assert odd == [] or version == "made"


@pytest.mark.field_report("AGT-022")
@pytest.mark.parametrize(("played", "events", "code", "means"), ENDS)
def test_an_end_without_a_good_result_is_a_failure_with_a_hint(
    played: Played, events: Said, code: int, means: Means
) -> None:
    report, _ = played.play(events, code, "what it said")
    assert (report.outcome, report.code) == means
    assert report.hint
    assert events or "what it said" in report.message


@EACH
def test_every_complaint_of_a_client_is_repeated(played: Played) -> None:
    for events, code, means in played.errors:
        if means[1] == "agent-error" and "Flux" in repr(events):
            assert "Flux" in played.play(events, code)[0].message


@pytest.mark.field_report("AGT-021")
@pytest.mark.parametrize("code", [1, 126, 137, 143, -9, -15])
@EACH
def test_a_good_result_followed_by_a_bad_exit_is_kept_with_a_warning(played: Played, code: int) -> None:
    report, _ = played.play(played.good_end, code)
    assert (report.outcome, report.code) == (None, "agent-finished")
    assert any("non-zero exit after result" in warning for warning in report.warnings)
    assert played.play(played.good_end)[0].warnings == ()


@EACH
def test_its_questions_are_read_from_its_last_words(played: Played) -> None:
    asked = "I looked.\n\nAUTOPILOT-QUESTION: Which one, a or b?\n"
    report, _ = played.play(played.last_words(asked))
    assert report.questions == ("Which one, a or b?",)
    assert report.final_text == asked


@pytest.mark.parametrize(("played", "event"), STRANGE)
def test_strange_events_are_tolerated(played: Played, event: object) -> None:
    report, _ = played.play((event, *played.good_end))
    assert report.outcome is None


@EACH
def test_a_type_that_nobody_knows_is_told_of(played: Played) -> None:
    report, _ = played.play(({"type": "brand.new"}, {"type": 7}, {}, *played.good_end))
    assert report.warnings == ("unknown event types: (no type), brand.new",)


@EACH
def test_an_agent_that_talks_without_end_does_not_fill_our_memory(played: Played) -> None:
    report, events = played.play(played.flood)
    assert len(report.denials) == played.denials_kept
    assert max(map(len, report.denials), default=0) <= 300
    assert sum(map(len, report.warnings)) < 2000
    assert max(map(len, names_of(events))) <= 70


def names_of(events: list[AgentEvent]) -> list[str]:
    return [event.tool for event in events if isinstance(event, UsedTool)]
