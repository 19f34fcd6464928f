"""What a configuration may hold, told to programs (JSON Schema) and to people (a page of tables).

Both come from the models and the defaults file, so they cannot say anything else. `docs/configuration.md` is
written by `python -P -m autopilot.config.describe`; a test fails when it has drifted.
"""

from __future__ import annotations

import re
import sys
from typing import TYPE_CHECKING, Any

from annotated_types import Ge, Gt, Le

from autopilot.config.keys import Key, known_keys
from autopilot.config.layers import read_defaults
from autopilot.config.settings import Settings

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pydantic.fields import FieldInfo

DIALECT = "https://json-schema.org/draft/2020-12/schema"

_ABSENT = "-"
_MODELS_OF_ENTRIES: Mapping[str, str] = {"Agent": "agent", "Channel": "channel", "Repo": "repo"}
_HEAD = """\
# Configuration

Written from the models; change it there. `autopilot config show` tells where your file is, what holds
now, and where each value comes from. Later layers win, key by key: these defaults, then `config.toml`, then
variables such as `AUTOPILOT__TIMEOUTS__WALL_S`, then flags. An unknown key is an error that names the nearest
known one. Amounts are US dollars, times are in the unit that the name ends with.
"""


def config_schema() -> dict[str, Any]:
    """Give the JSON Schema of `config.toml`: nothing is required of a file, and every default is shown."""
    schema = Settings.model_json_schema(by_alias=True, mode="validation")
    defaults = read_defaults()
    each = defaults.pop("each")
    _loosen(schema, defaults)
    for name, model in schema["$defs"].items():
        key = next((key for key, value in schema["properties"].items() if _points_to(value, name)), None)
        if name in _MODELS_OF_ENTRIES:
            _loosen(model, each[_MODELS_OF_ENTRIES[name]], keep_required=True)
        elif key is not None:
            _loosen(model, defaults.get(key, {}))
    return {"$schema": DIALECT, "$id": "urn:autopilot:schema:config", **schema}


def config_reference() -> str:
    """Give the page for people: one table for each table of the file."""
    lines = [_HEAD.rstrip()]
    table = None
    for key in known_keys():
        if key.table != table:
            table = key.table
            lines += ["", _title(key), "", "| key | default | bounds | what it does |", "|---|---|---|---|"]
        cells = (f"`{key.name}`", _default(key), _bounds(key.field), key.field.description or "")
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines) + "\n"


def _loosen(model: dict[str, Any], defaults: Mapping[str, Any], *, keep_required: bool = False) -> None:
    """Take what has a default out of `required`, and show the default."""
    required = [name for name in model.pop("required", []) if keep_required and name not in defaults]
    if required:
        model["required"] = required
    for name, value in defaults.items():
        if name in model.get("properties", {}) and not isinstance(value, dict):
            model["properties"][name]["default"] = value


def _points_to(value: Mapping[str, Any], name: str) -> bool:
    return value.get("$ref") == f"#/$defs/{name}"


def _title(key: Key) -> str:
    doc = (key.model.__doc__ or "").partition("\n")[0] if key.table else "Before any table."
    heads = {"": "At the top", "repo": "`[[repo]]`"}
    return f"## {heads.get(key.table, f'`[{key.table}]`')}\n\n{doc}"


def _default(key: Key) -> str:
    """Look a default up in the defaults file; a key that may be absent has none."""
    defaults = read_defaults()
    each = defaults.pop("each")
    entry = _MODELS_OF_ENTRIES.get(key.model.__name__)
    table = each[entry] if entry else defaults.get(key.table, {}) if key.table else defaults
    value = table.get(key.name)
    if value is None:
        return "required" if key.field.is_required() else _ABSENT
    return f"`{str(value).lower()}`" if isinstance(value, bool) else f"`{value!r}`".replace("'", '"')


def _bounds(field: FieldInfo) -> str:
    """Say the limits of a number, or the words to choose from."""
    lows: list[tuple[object, str]] = [(rule.gt, ">") for rule in field.metadata if isinstance(rule, Gt)]
    lows += [(rule.ge, "≥") for rule in field.metadata if isinstance(rule, Ge)]
    highs: list[tuple[object, str]] = [(rule.le, "≤") for rule in field.metadata if isinstance(rule, Le)]
    limits = [f"{sign} {number}" for number, sign in (*lows, *highs)]
    words = re.findall(r"'([^']+)'", str(field.annotation)) if "Literal" in str(field.annotation) else []
    return " or ".join(words) or ", ".join(limits) or _ABSENT


if __name__ == "__main__":
    sys.stdout.write(config_reference())
