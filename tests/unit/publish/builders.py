"""Values for the tests of this room, each valid until a test changes one thing."""

from pathlib import Path
from typing import Any

from autopilot.publish.body import BaseMoved, Facts
from autopilot.publish.span import Change
from autopilot.schemas.gate import MANDATORY_GATES, GateRecord, TestCounts, Verdict
from autopilot.schemas.publication import ForgeSpec, PublishSpec, PullRequest
from autopilot.schemas.run import Identity

HEAD = "a" * 40
BASE = "b" * 40
OTHER = "c" * 40


def gate(name: str = "build", **other: Any) -> GateRecord:  # noqa: ANN401 - any field of the record
    values = {
        "gate": name,
        "verdict": Verdict.PASSED,
        "mandatory": True,
        "head": HEAD,
        "base": BASE,
        "started_ms": 1,
        "duration_ms": 1500,
        "command_sha256": "d" * 64,
    }
    return GateRecord.model_validate({**values, **other})


def gates(**other: Any) -> tuple[GateRecord, ...]:  # noqa: ANN401 - as above
    counts = TestCounts(executed=12, passed=12, failed=0, errored=0, skipped=1)
    return tuple(
        gate(name, counts=counts if name == "test-summary" else None, **other) for name in MANDATORY_GATES
    )


def spec(**other: Any) -> PublishSpec:  # noqa: ANN401 - as above
    state = Path("/state")
    values = {
        "id": "P-3",
        "ticket_id": "T-3",
        "ticket_ref": "T-3",
        "run_id": "T-3-a1-01234567",
        "request": state / "pr-requests" / "P-3.json",
        "verdict": state / "pr-requests" / "P-3.verdict.json",
        "workdir": state / "publish" / "P-3",
        "source": state / "runs" / "T-3-a1-01234567" / "judge.git",
        "mirror": state / "mirrors" / "demo.git",
        "forge": ForgeSpec(kind="local", push_url="/srv/demo.git", record_dir=state / "forge" / "demo"),
        "base": "main",
        "base_sha": BASE,
        "branch": "autopilot/t-3-x",
        "head": HEAD,
        "recorded_branch": "autopilot/t-3-x",
        "expected_remote_head": None,
        "idempotency_key": "T-3-a1-01234567",
        "identity": Identity(name="A Person", email="a@example.invalid"),
        "recorded_gates": gates(),
        "created_ms": 1,
    }
    return PublishSpec.model_validate({**values, **other})


def pull_request(**other: Any) -> PullRequest:  # noqa: ANN401 - as above
    values = {"number": 7, "url": "https://forge.example/o/r/pull/7", "draft": True}
    return PullRequest.model_validate({**values, **other})


def change(path: str = "src/a.py", **other: Any) -> Change:  # noqa: ANN401 - as above
    values = {
        "path": path,
        "change": "modified",
        "old_mode": "100644",
        "new_mode": "100644",
        "old_blob": "1" * 40,
        "new_blob": "2" * 40,
        "added_lines": 3,
        "removed_lines": 1,
    }
    return Change(**{**values, **other})


def facts(**other: Any) -> Facts:  # noqa: ANN401 - as above
    values = {
        "title": "Split the bill",
        "summary": "The shares add up.",
        "notes": (),
        "changes": (change(),),
        "reasons": {},
        "recorded": gates(),
        "rerun": gates(producer="publish"),
        "signals": (),
        "manifests": (),
        "ticket_ref": "T-3",
        "base": "main",
        "base_sha": BASE,
        "head": HEAD,
        "moved": BaseMoved(behind=0),
        "roots": ("/state",),
        "key": "T-3-a1",
    }
    return Facts(**{**values, **other})
