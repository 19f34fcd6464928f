from __future__ import annotations

import json
import tomllib
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from autopilot.config.describe import config_reference, config_schema
from autopilot.config.keys import known_keys
from autopilot.config.layers import read_defaults
from autopilot.schemas.run import Limits
from tests.support.tree import ROOT

DATA = Path(__file__).parent / "data"


def plain_json(value: object) -> Any:  # noqa: ANN401  JSON is anything
    """TOML's values as JSON has them."""
    return json.loads(json.dumps(value, default=float))


def test_the_page_for_people_is_the_one_the_models_give() -> None:
    told = "run: python -P -m autopilot.config.describe > docs/configuration.md"
    assert (ROOT / "docs/configuration.md").read_text(encoding="utf-8") == config_reference(), told


def test_every_key_is_on_the_page_with_its_default_and_what_it_does() -> None:
    page = config_reference()
    for key in known_keys():
        assert f"| `{key.name}` |" in page
        assert key.field.description, f"{key.dotted} does not say what it does"
    assert '| `window` | `"22:00-07:00"` |' in page
    assert (
        "| `kind` | required | claude or codex or command or copilot or gemini or opencode or scripted |"
        in page
    )
    assert "| `poll_s` | `20` | > 0, ≤ 600 |" in page


def test_a_name_with_a_unit_is_a_number_and_a_number_of_a_size_has_its_unit() -> None:
    units = ("_s", "_usd", "_gib", "_mib", "_kib", "_percent", "_days", "_tokens")
    counts = {
        "max_parallel_agents", "per_repo_parallel", "max_open_drafts", "attempts_per_ticket",
        "releases_per_ticket", "sessions_per_ticket", "tokens_per_ticket", "max_ask_rounds", "open_after",
        "keep_files", "keep_days", "max_processes", "max_load_per_cpu",
    }  # fmt: skip
    defaults = read_defaults()
    defaults["channels.<name>"] = defaults.pop("each")["channel"]
    for key in known_keys():
        table = defaults.get(key.table, {}) if key.table else defaults
        value = table.get(key.name)
        is_number = isinstance(value, int | float) and not isinstance(value, bool)
        assert is_number == (key.name.endswith(units) or key.name in counts), key.dotted


def test_the_schema_accepts_the_defaults_and_every_old_file() -> None:
    schema = plain_json(config_schema())
    jsonschema.Draft202012Validator.check_schema(schema)
    defaults = read_defaults()
    defaults.pop("each")
    jsonschema.validate({}, schema)
    jsonschema.validate(plain_json(defaults), schema)
    for file in DATA.glob("config-*.toml"):
        jsonschema.validate(plain_json(tomllib.loads(file.read_text())), schema)


@pytest.mark.parametrize(
    "wrong",
    [
        {"max_paralel_agents": 1},
        {"timeouts": {"wall_s": 0}},
        {"timeouts": {"wal_s": 1}},
        {"schedule": {"window": "22-07"}},
        {"agents": {"x": {"model": "m"}}},
        {"repo": [{"path": "/a"}]},
        {"repo": [{"name": "../a", "path": "/a"}]},
        {"logs": {"level": "loud"}},
    ],
)
def test_the_schema_refuses_what_loading_refuses(wrong: dict[str, object]) -> None:
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate(wrong, plain_json(config_schema()))


def test_the_schema_shows_every_default_and_requires_nothing_that_has_one() -> None:
    schema = config_schema()
    assert "required" not in schema
    assert schema["properties"]["cost_ceiling_usd"]["default"] == 25
    assert schema["$defs"]["Timeouts"]["properties"]["wall_s"]["default"] == 7200
    assert schema["$defs"]["Agent"]["required"] == ["kind"]
    assert schema["$defs"]["Repo"]["required"] == ["name"]


def test_the_words_for_a_run_repeat_no_other_default_than_ours() -> None:
    timeouts = read_defaults()["timeouts"]
    limits = Limits(run_ceiling_micro_usd=1)
    assert {key: getattr(limits, key) for key in timeouts} == timeouts
