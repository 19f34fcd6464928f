"""`autopilot config show|check|schema`: the configuration in force, what is wrong with it, and its shape."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from autopilot.config.paths import find_paths
from autopilot.daemon.cli import console
from autopilot.schemas.errors import ExitCode

if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterator, Mapping


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the three acts."""
    parser.add_argument("act", choices=["show", "check", "schema", "path"], help="what to print")
    parser.add_argument("--json", action="store_true", help="print JSON")


def run(args: argparse.Namespace) -> ExitCode:
    """Print; a configuration that cannot be loaded ends with exit code 78 and every fault named."""
    from autopilot.config.load import load_with_origins
    from autopilot.config.settings import Settings

    paths = find_paths()
    if args.act == "path":
        console.say(str(paths.config_file))
        return ExitCode.OK
    if args.act == "schema":
        console.say_json(Settings.model_json_schema())
        return ExitCode.OK
    loaded = load_with_origins(paths)
    values = loaded.settings.model_dump(mode="json", by_alias=True)
    if args.json:
        console.say_json({"settings": values, "origins": dict(loaded.origins)})
    elif args.act == "show":
        _show(values, loaded.origins)
    else:
        console.say(f"{paths.config_file} is in order: {len(loaded.settings.repos)} repositories")
    return ExitCode.OK


def _show(values: Mapping[str, Any], origins: Mapping[str, str]) -> None:
    rows = [(key, _shown(value), origins.get(key, "")) for key, value in flat(values)]
    console.table(rows, header=("key", "value", "from"))


def flat(value: object, key: str = "") -> Iterator[tuple[str, object]]:
    """Give every leaf of nested tables with its dotted key; lists of tables count from 0."""
    if isinstance(value, dict) and value:
        for name, inner in value.items():
            yield from flat(inner, f"{key}.{name}" if key else str(name))
    elif isinstance(value, list) and value and isinstance(value[0], dict):
        for number, inner in enumerate(value):
            yield from flat(inner, f"{key}.{number}")
    else:
        yield key, value


def _shown(value: object) -> str:
    return "-" if value is None else json.dumps(value, ensure_ascii=False)
