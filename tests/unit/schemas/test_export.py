from __future__ import annotations

import json
from importlib import resources
from pathlib import Path

import pytest
from jsonschema import Draft202012Validator

from autopilot.schemas import export
from tests.support.tree import ROOT

HOW = "write them anew: python -m autopilot.schemas.export src/autopilot/schemas/json"


def shipped(name: str) -> str:
    file = resources.files("autopilot.schemas").joinpath("json", export.file_name(name))
    return file.read_text(encoding="utf-8")


@pytest.mark.parametrize("name", sorted(export.EXPORTED))
def test_a_shipped_schema_is_what_its_model_says_today(name: str) -> None:
    assert json.loads(shipped(name)) == json.loads(export.schema_text(name)), HOW


@pytest.mark.parametrize("name", sorted(export.EXPORTED))
def test_a_shipped_schema_is_a_schema_of_the_dialect_it_names(name: str) -> None:
    Draft202012Validator.check_schema(json.loads(shipped(name)))


def test_no_schema_is_shipped_for_a_record_that_is_gone() -> None:
    folder = resources.files("autopilot.schemas").joinpath("json")
    assert {entry.name for entry in folder.iterdir()} == set(map(export.file_name, export.EXPORTED)), HOW


def test_writing_the_schemas_removes_a_stale_one(tmp_path: Path) -> None:
    (tmp_path / "gone.schema.json").write_text("{}", encoding="utf-8")
    export.write_all(tmp_path)
    assert {path.name for path in tmp_path.iterdir()} == set(map(export.file_name, export.EXPORTED))


@pytest.mark.covers("O05")
@pytest.mark.parametrize("version", ["2.0.0", "2.1.0"])
def test_the_shipped_state_schema_takes_what_the_program_writes_and_refuses_what_it_refuses(
    version: str,
) -> None:
    from autopilot.schemas.agent_state import parse_state

    old = (ROOT / "tests" / "compat" / "documents" / f"agent-state-{version}.json").read_bytes()
    validator = Draft202012Validator(json.loads(shipped("agent-state")))
    document = json.loads(parse_state(old).to_json())
    assert list(validator.iter_errors(document)) == []
    wrong = [
        {**document, "surprise": 1},
        {**document, "currentPhase": 6},
        {**document, "status": "parked"},
        {**document, "phases": {"6": {}}},
        {**document, "rev": -1},
        {**document, "schemaVersion": version},
        {name: value for name, value in document.items() if name != "identity"},
    ]
    for broken in wrong:
        assert list(validator.iter_errors(broken)) != []
