import json

import pytest

from autopilot.config.git import GitError
from autopilot.runner.agents.adapter import AgentReport
from autopilot.runner.failure import RunFailure, as_failure
from autopilot.runner.notebook import Notebook
from autopilot.schemas.errors import AutopilotError, ConfigError, InvariantError, TicketError, TransientError
from autopilot.schemas.run import Outcome, RunResult, Usage
from tests.unit.runner.test_prompt import spec

HALF = "caf\udce9 \ud800"


def notebook() -> Notebook:
    return Notebook(spec(), started_ms=5)


def test_a_result_can_be_written_whatever_characters_were_told() -> None:
    book = notebook()
    report = AgentReport(
        outcome=None, code="x", message="x", questions=(HALF,), denials=(HALF,), warnings=(HALF,)
    )
    book.take(report)
    failure = RunFailure(Outcome.ASKED, "asked", f"it asks {HALF}", hint=HALF)
    written = book.failed(failure, now_ms=6).model_dump_json()
    assert RunResult.model_validate_json(written).questions == ("caf\\udce9 \\ud800",)
    assert json.loads(written)["warnings"] == ["caf\\udce9 \\ud800"]


def test_each_warning_is_told_once_and_not_without_end() -> None:
    book = notebook()
    book.warn(["a", "b", "a"])
    assert book.warnings == ("a", "b")
    book.warn(str(number) for number in range(1000))
    assert len(book.warnings) == 50


def test_without_an_agent_nothing_was_spent_and_that_is_known() -> None:
    usage = notebook().usage()
    assert (usage.cost_micro_usd, usage.known) == (0, True)


@pytest.mark.covers("F02")
def test_usage_is_summed_over_the_rounds_and_one_unknown_makes_all_unknown() -> None:
    book = notebook()
    for cost in (300, 200):
        book.meter = book.meter.next_process().read(cost)
        book.take_usage(Usage(cost_micro_usd=cost, known=True, input_tokens=10, output_tokens=1, turns=2))
    assert book.usage() == Usage(cost_micro_usd=500, known=True, input_tokens=20, output_tokens=2, turns=4)
    book.take_usage(Usage(input_tokens=1))
    assert not book.usage().known
    assert book.rounds == 3


def test_a_clock_that_went_back_gives_no_result_that_ends_before_it_began() -> None:
    result = notebook().failed(RunFailure(Outcome.STOPPED, "stopped", "x"), now_ms=1)
    assert result.finished_ms == result.started_ms == 5


@pytest.mark.parametrize(
    ("error", "outcome"),
    [
        (RunFailure(Outcome.ASKED, "asked", "x"), Outcome.ASKED),
        (GitError("git-auth", "x"), Outcome.CREDENTIAL),
        (GitError("git-host-key", "x"), Outcome.CREDENTIAL),
        (GitError("git-no-repo", "x"), Outcome.CONFIGURATION),
        (GitError("git-stopped", "x"), Outcome.STOPPED),
        (GitError("git-network", "x"), Outcome.INFRASTRUCTURE),
        (GitError("git-brand-new", "x"), Outcome.INFRASTRUCTURE),
        (ConfigError("x", "x"), Outcome.CONFIGURATION),
        (TicketError("x", "x"), Outcome.CONFIGURATION),
        (InvariantError("x", "x"), Outcome.BUG),
        (TransientError("x", "x"), Outcome.INFRASTRUCTURE),
    ],
)
def test_every_kind_of_error_has_its_outcome(error: AutopilotError, outcome: Outcome) -> None:
    failure = as_failure(error)
    assert (failure.outcome, failure.code) == (outcome, error.code)


@pytest.mark.covers("F04", "F05")
def test_each_phase_has_its_own_tokens_dollars_and_budget() -> None:
    limits = spec().limits.model_copy(update={"phase_tokens": {"plan": 100, "dev": 100}})
    book = Notebook(spec().model_copy(update={"limits": limits}), started_ms=5)
    for phase, cost, tokens in (("plan", 300, 80), ("dev", 200, 60), ("dev", 50, 41), ("review", 7, 10**6)):
        book.begin_process(phase)  # type: ignore[arg-type]
        book.meter = book.meter.read(cost)
        book.take_usage(Usage(cost_micro_usd=cost, known=True, input_tokens=tokens))
    told = {each.phase: (each.usage.cost_micro_usd, each.usage.tokens) for each in book.phases()}
    assert told == {"plan": (300, 80), "dev": (250, 101), "review": (7, 10**6)}
    assert [book.tokens(phase).is_over for phase in ("plan", "dev", "review")] == [False, True, False]
    assert book.usage().cost_micro_usd == 557
