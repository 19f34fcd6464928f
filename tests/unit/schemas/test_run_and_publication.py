from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from pydantic import BaseModel, ValidationError

from autopilot.schemas.policy import Policy
from autopilot.schemas.publication import PublishOutcome, PublishVerdict, PullRequest
from autopilot.schemas.run import (
    Identity,
    Limits,
    Outcome,
    RunResult,
    RunSpec,
    Usage,
    VerifyResult,
    VerifySpec,
)

SHA = "a" * 40
RESULT: dict[str, Any] = {
    "run_id": "T-1-a1-0a1b2c3d",
    "ticket_id": "T-1",
    "attempt": 1,
    "fence": 1,
    "outcome": "committed",
    "code": "committed",
    "message": "done",
    "branch": "autopilot/t-1-x",
    "head": SHA,
    "base_sha": SHA,
    "started_ms": 1,
    "finished_ms": 2,
}
SPEC: dict[str, Any] = {
    "run_id": "T-1-a1-0a1b2c3d",
    "ticket_id": "T-1",
    "task_id": "T-1",
    "short_id": 1,
    "attempt": 1,
    "fence": 0,
    "title": "Split",
    "body": "",
    "branch": "autopilot/t-1-x",
    "worktree": "/s/w",
    "run_dir": "/s/r",
    "repo": {"name": "bill", "url": "/s/bill.git", "mirror": "/s/m.git", "base": None},
    "pr_request": "/s/p.json",
    "agent": {"name": "claude", "kind": "claude"},
    "identity": {"name": "Ada", "email": "ada@example.invalid"},
    "limits": {"run_ceiling_micro_usd": 5_000_000},
    "created_ms": 1,
}
VERIFY: dict[str, Any] = {
    "ticket_id": "T-1",
    "repository": "/s/r.git",
    "head": SHA,
    "base_sha": SHA,
    "workdir": "/s/v",
}
VERDICT: dict[str, Any] = {
    "id": "p1",
    "ticket_id": "T-1",
    "run_id": "r",
    "outcome": "pr-opened",
    "code": "pr-opened",
    "message": "m",
    "finished_ms": 3,
    "pr": {"number": 1, "url": "u", "draft": True},
}
RECORDS: list[tuple[type[BaseModel], dict[str, Any]]] = [
    (RunResult, RESULT),
    (RunSpec, SPEC),
    (VerifySpec, VERIFY),
    (VerifyResult, {"head": SHA, "stack": "python", "gates": []}),
    (PublishVerdict, VERDICT),
]


@pytest.mark.parametrize(("kind", "values"), RECORDS)
def test_a_record_survives_the_way_through_a_file(kind: type[BaseModel], values: dict[str, Any]) -> None:
    record = kind.model_validate_json(json.dumps(values))
    assert kind.model_validate_json(record.model_dump_json()) == record


@pytest.mark.parametrize(("kind", "values"), RECORDS)
def test_a_record_of_ours_refuses_a_key_it_does_not_know(
    kind: type[BaseModel], values: dict[str, Any]
) -> None:
    with pytest.raises(ValidationError, match="surprise"):
        kind.model_validate({**values, "surprise": 1})


@pytest.mark.parametrize(("kind", "values"), RECORDS)
def test_a_record_misses_each_key_it_cannot_do_without(kind: type[BaseModel], values: dict[str, Any]) -> None:
    required = [name for name, field in kind.model_fields.items() if field.is_required()]
    assert required
    for name in required:
        with pytest.raises(ValidationError, match=name):
            kind.model_validate({key: value for key, value in values.items() if key != name})


@pytest.mark.parametrize(
    ("kind", "values", "field", "wrong"),
    [
        (RunResult, RESULT, "outcome", "done"),
        (RunResult, RESULT, "code", "Not Kebab"),
        (RunResult, RESULT, "head", "HEAD"),
        (RunResult, RESULT, "result_version", 2),
        (RunResult, RESULT, "changed_files", -1),
        (RunSpec, SPEC, "attempt", 0),
        (RunSpec, SPEC, "task_id", ""),
        (RunSpec, SPEC, "limits", {"run_ceiling_micro_usd": -1}),
        (VerifySpec, VERIFY, "gate_s", 0),
        (VerifySpec, VERIFY, "gate_s", float("inf")),
        (VerifySpec, VERIFY, "base_sha", "main"),
        (PublishVerdict, VERDICT, "outcome", "merged"),
        (PublishVerdict, VERDICT, "waiting_for", "godot"),
    ],
)
def test_a_record_that_makes_no_sense_is_refused_by_its_field(
    kind: type[BaseModel], values: dict[str, Any], field: str, wrong: object
) -> None:
    with pytest.raises(ValidationError) as caught:
        kind.model_validate({**values, field: wrong})
    assert caught.value.errors()[0]["loc"][0] == field


@pytest.mark.parametrize("number", ["NaN", "Infinity", "-1", "1.5"])
def test_a_cost_that_is_no_whole_number_of_micro_dollars_is_no_cost(number: str) -> None:
    with pytest.raises(ValidationError):
        Usage.model_validate_json(f'{{"cost_micro_usd": {number}}}')


def test_a_usage_that_nobody_told_is_not_known() -> None:
    assert Usage().known is False


@pytest.mark.parametrize(
    "tampered",
    [
        {"usage": {"cost_micro_usd": 2**62}},
        {"usage": {"input_tokens": 2**80}},
        {"resets_ms": 2**70},
        {"finished_ms": 2**63},
    ],
)
def test_a_number_that_no_database_or_sum_could_hold_makes_no_result(tampered: dict[str, Any]) -> None:
    with pytest.raises(ValidationError):
        RunResult.model_validate({**RESULT, **tampered})


@pytest.mark.parametrize("rounds", [0, 4])
def test_an_agent_gets_one_to_three_rounds(rounds: int) -> None:
    assert Limits(run_ceiling_micro_usd=1).rounds == 3
    with pytest.raises(ValidationError, match="rounds"):
        Limits(run_ceiling_micro_usd=1, rounds=rounds)


def test_an_identity_without_a_name_or_an_address_is_none() -> None:
    with pytest.raises(ValidationError, match="name"):
        Identity(name="", email="a@b")
    with pytest.raises(ValidationError, match="email"):
        Identity(name="Ada", email="")


def test_a_verdict_is_one_of_four_words_and_a_pull_request_has_a_number() -> None:
    assert [outcome.value for outcome in PublishOutcome] == [
        "pr-opened",
        "pushed-awaiting-pr",
        "verification-failed",
        "publish-deferred",
    ]
    with pytest.raises(ValidationError, match="number"):
        PullRequest(number=0, url="u", draft=True)


def test_every_outcome_is_a_code_that_a_log_can_carry() -> None:
    assert all(RunResult.model_validate({**RESULT, "code": outcome.value}) for outcome in Outcome)


def test_a_policy_is_empty_unless_something_is_said_and_its_commands_are_words() -> None:
    assert Policy() == Policy.model_validate({"commands": {}})
    assert Policy.model_validate({"commands": {"build": ["make", " all "]}}).commands.build == (
        "make",
        " all ",
    )
    for wrong in ("make all", [], ["a\x00b"], [1]):
        with pytest.raises(ValidationError):
            Policy.model_validate({"commands": {"build": wrong}})


def test_paths_are_paths_again_after_a_file() -> None:
    spec = VerifySpec.model_validate_json(json.dumps(VERIFY))
    assert (spec.repository, spec.workdir) == (Path("/s/r.git"), Path("/s/v"))
