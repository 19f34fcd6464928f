"""Writes the JSON Schemas of every record that crosses a border, from the models themselves.

They lie in `schemas/json/` and ship with the program; a test fails when one has drifted. To write them anew:
`python -m autopilot.schemas.export src/autopilot/schemas/json`. Must not be imported by anything at run time.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping
from pathlib import Path

from pydantic import BaseModel

from autopilot.schemas.agent_state import AgentState
from autopilot.schemas.checkup import Arming, Checkup
from autopilot.schemas.delivery import DeliveryReport, DeliverySpec
from autopilot.schemas.gate import GateRecord
from autopilot.schemas.policy import Policy
from autopilot.schemas.publication import (
    ForgeCheckSpec,
    PublishRequest,
    PublishSpec,
    PublishVerdict,
    PullStateReport,
    PullStateSpec,
    PushTrialReport,
    PushTrialSpec,
    ReachReport,
)
from autopilot.schemas.report import ReportManifest
from autopilot.schemas.run import RunResult, RunSpec, VerifyResult, VerifySpec
from autopilot.schemas.ticket import Hold, Ticket, TicketDraft
from autopilot.schemas.tracking import IssueReport, IssueSpec, TrackerCheckSpec

DIALECT = "https://json-schema.org/draft/2020-12/schema"

EXPORTED: Mapping[str, type[BaseModel]] = {
    "agent-state": AgentState,
    "arming": Arming,
    "checkup": Checkup,
    "delivery-report": DeliveryReport,
    "delivery-spec": DeliverySpec,
    "forge-check-spec": ForgeCheckSpec,
    "gate-record": GateRecord,
    "hold": Hold,
    "issue-report": IssueReport,
    "issue-spec": IssueSpec,
    "policy": Policy,
    "publish-request": PublishRequest,
    "publish-spec": PublishSpec,
    "publish-verdict": PublishVerdict,
    "pull-state-report": PullStateReport,
    "pull-state-spec": PullStateSpec,
    "push-trial-report": PushTrialReport,
    "push-trial-spec": PushTrialSpec,
    "reach-report": ReachReport,
    "report-manifest": ReportManifest,
    "run-result": RunResult,
    "run-spec": RunSpec,
    "ticket": Ticket,
    "ticket-draft": TicketDraft,
    "tracker-check-spec": TrackerCheckSpec,
    "verify-result": VerifyResult,
    "verify-spec": VerifySpec,
}


def schema_text(name: str) -> str:
    """Give one schema as the file holds it: sorted, so that a change shows as a small difference."""
    head = {"$schema": DIALECT, "$id": f"urn:autopilot:schema:{name}"}
    body = EXPORTED[name].model_json_schema(by_alias=True)
    return json.dumps({**head, **body}, indent=2, sort_keys=True, ensure_ascii=False) + "\n"


def file_name(name: str) -> str:
    """Name the file of a schema."""
    return f"{name}.schema.json"


def write_all(folder: Path) -> None:
    """Write every schema and remove files that belong to none."""
    wanted = {file_name(name): schema_text(name) for name in EXPORTED}
    for stale in set(folder.glob("*.schema.json")) - {folder / name for name in wanted}:
        stale.unlink()
    for name, text in wanted.items():
        (folder / name).write_text(text, encoding="utf-8")


if __name__ == "__main__":
    write_all(Path(sys.argv[1]))
