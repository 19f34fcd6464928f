"""`autopilot config show|check|schema|path`: the configuration in force, what is wrong with it, its shape."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from autopilot.config.paths import find_paths
from autopilot.daemon.cli import console
from autopilot.schemas.errors import ExitCode

if TYPE_CHECKING:
    import argparse

    from autopilot.config.load import Loaded
    from autopilot.config.paths import Paths

ACTS = ("show", "check", "schema", "path")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the acts."""
    parser.add_argument(
        "act", nargs="?", choices=ACTS, default="show", help="what to print (show when absent)"
    )
    parser.add_argument("--json", action="store_true", help="print JSON")


def run(args: argparse.Namespace) -> ExitCode:
    """Print; a configuration that cannot be loaded ends with exit code 78 and every fault named."""
    paths = find_paths()
    match args.act:
        case "path":
            _path(paths, as_json=args.json)
        case "schema":
            from autopilot.config.describe import config_schema

            console.say_json(config_schema())
        case "check":
            _check(paths, as_json=args.json)
        case _:
            _show(paths, as_json=args.json)
    return ExitCode.OK


def _path(paths: Paths, *, as_json: bool) -> None:
    if as_json:
        console.say_json({"config_file": str(paths.config_file), "exists": paths.config_file.exists()})
    else:
        console.say(str(paths.config_file))


def _check(paths: Paths, *, as_json: bool) -> None:
    from autopilot.config.load import load

    names = [repo.name for repo in load(paths).repos]
    if as_json:
        console.say_json({"config_file": str(paths.config_file), "repositories": names})
    else:
        told = ", ".join(names) or "none yet (autopilot init adds the one you are in)"
        console.say(f"{paths.config_file} is in order; repositories: {told}")


def _show(paths: Paths, *, as_json: bool) -> None:
    from autopilot.config.layers import flat
    from autopilot.config.load import load_with_origins

    loaded = load_with_origins(paths)
    values = loaded.settings.model_dump(mode="json", by_alias=True)
    origins = {key: origin(loaded, key, value) for key, value in flat(values)}
    if as_json:
        console.say_json({"settings": values, "origins": origins})
        return
    rows = [(key, _shown(value), origins[key]) for key, value in flat(values)]
    console.table(rows, header=("key", "value", "from"))


def origin(loaded: Loaded, key: str, value: object) -> str:
    """Say which layer a value came from; nothing for a key that nobody set."""
    from autopilot.config.layers import DEFAULTS

    return loaded.origins.get(key, "" if value is None else DEFAULTS)


def _shown(value: object) -> str:
    return "-" if value is None else json.dumps(value, ensure_ascii=False)
