"""The layers of the configuration: defaults, file, environment, flags. Later ones win, key by key.

Must not check values; it only remembers where each came from.
"""

from __future__ import annotations

import json
import os
import stat
import tomllib
from dataclasses import dataclass, field
from decimal import Decimal
from importlib import resources
from typing import TYPE_CHECKING, Any

from autopilot.schemas.errors import ConfigError

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

ENVIRONMENT_PREFIX = "AUTOPILOT__"
DEFAULTS = "defaults.toml"
PRICES = "prices.toml"

_EACH = "each"


@dataclass(frozen=True, slots=True)
class Layered:
    """All layers laid over each other, and the name of the layer that each dotted key came from."""

    values: dict[str, Any] = field(default_factory=dict)
    origins: dict[str, str] = field(default_factory=dict)

    def under(self, layer: Mapping[str, Any], origin: str) -> Layered:
        """Lay one more layer on top."""
        kept = {key: where for key, where in self.origins.items() if not _is_replaced(key, layer)}
        return Layered(
            _merge(self.values, layer), {**kept, **dict.fromkeys((key for key, _ in flat(layer)), origin)}
        )

    def origin_of(self, key: str) -> str:
        """Name where a key was last set, or else something in it, or in the table around it."""
        while key:
            inside = [origin for known, origin in self.origins.items() if f"{known}.".startswith(f"{key}.")]
            if inside:
                return inside[-1]
            key = key.rpartition(".")[0]
        return DEFAULTS


def read_defaults() -> dict[str, Any]:
    """Read the defaults that come with the program."""
    return _read_own(DEFAULTS)


def read_prices() -> dict[str, Any]:
    """Read the price table that comes with the program."""
    return _read_own(PRICES)


def _read_own(name: str) -> dict[str, Any]:
    text = resources.files("autopilot.config").joinpath(name).read_text(encoding="utf-8")
    return tomllib.loads(text, parse_float=Decimal)


def read_file(file: Path) -> dict[str, Any]:
    """Read the operator's file; a file that does not exist sets nothing.

    Raises:
        ConfigError: it cannot be read, or is no TOML; the line is named.
    """
    try:
        text = _plain_text(file)
        return tomllib.loads(text, parse_float=Decimal)
    except FileNotFoundError:
        return {}
    except OSError as exc:
        hint = f"let this account read it: ls -l {file}"
        raise ConfigError("config-unreadable", f"cannot read {file}: {exc.strerror}", hint=hint) from exc
    except UnicodeDecodeError as exc:
        what = f"{file} is no UTF-8 text (byte {exc.start})"
        raise ConfigError("config-unreadable", what, hint="save it as UTF-8") from exc
    except tomllib.TOMLDecodeError as exc:
        end = f"at line {len(text.splitlines())}, the end of the file"
        what = f"{file}: {str(exc).replace('at end of document', end)}"
        hint = "texts stand in quotes, and a table begins with [its.name]"
        raise ConfigError("config-syntax", what, hint=hint) from exc


def _plain_text(file: Path) -> str:
    """Read a file, also through links; a pipe would hold the reader for as long as nobody writes to it."""
    descriptor = os.open(file, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        hint = "put a file, or a link to one, in its place"
        raise ConfigError("config-unreadable", f"cannot read {file}: it is no plain file", hint=hint)
    with os.fdopen(descriptor, encoding="utf-8-sig") as handle:
        return handle.read()


def layers(file: Path, environment: Mapping[str, str], flags: Mapping[str, object]) -> Layered:
    """Lay all four over each other.

    Args:
        file: the operator's configuration file.
        environment: variables such as AUTOPILOT__SCHEDULE__WINDOW; a list is written as JSON.
        flags: dotted keys, as the command line gives them; None = not given.
    """
    defaults = read_defaults()
    each = defaults.pop(_EACH)
    shipped = Layered().under(defaults, DEFAULTS).under(read_prices(), PRICES)
    result = shipped.under(read_file(file), str(file))
    for name in sorted(name for name in environment if name.startswith(ENVIRONMENT_PREFIX)):
        path = name.removeprefix(ENVIRONMENT_PREFIX).lower().split("__")
        result = result.under(_nest(path, _parsed(environment[name])), name)
    for key, value in flags.items():
        if value is not None:
            result = result.under(_nest(key.split("."), value), f"--{key}")
    return Layered(_with_each(result.values, each), result.origins)


def _with_each(values: dict[str, Any], each: Mapping[str, Any]) -> dict[str, Any]:
    """Give every agent, channel and repository what it need not say. Wrong shapes are left for the check."""
    result = dict(values)
    repos = values.get("repo")
    for kind in ("agent", "channel"):
        table = values.get(f"{kind}s")
        if isinstance(table, dict):
            result[f"{kind}s"] = {name: _over(each[kind], one) for name, one in table.items()}
    if isinstance(repos, list):
        result["repo"] = [_over(each["repo"], repo) for repo in repos]
    return result


def _over(defaults: Mapping[str, Any], value: Any) -> Any:  # noqa: ANN401  not yet checked
    return {**defaults, **value} if isinstance(value, dict) else value


def _merge(lower: Mapping[str, Any], upper: Mapping[str, Any]) -> dict[str, Any]:
    result = dict(lower)
    for key, value in upper.items():
        below = result.get(key)
        result[key] = _merge(below, value) if isinstance(below, dict) and isinstance(value, dict) else value
    return result


def _nest(path: list[str], value: object) -> dict[str, Any]:
    for part in reversed(path):
        value = {part: value}
    return value if isinstance(value, dict) else {}


def flat(values: Mapping[str, Any], above: str = "") -> Iterator[tuple[str, Any]]:
    """Give every leaf with its dotted key; tables in a list count from 0, as in `repo.0.base`."""
    for key, value in values.items():
        dotted = f"{above}{key}"
        if isinstance(value, list) and value and all(isinstance(each, dict) for each in value):
            yield from flat({str(number): each for number, each in enumerate(value)}, f"{dotted}.")
        elif isinstance(value, dict) and value:
            yield from flat(value, f"{dotted}.")
        else:
            yield dotted, value


def _is_replaced(key: str, layer: Mapping[str, Any]) -> bool:
    """Tell whether a layer replaces the list of tables that a key of a lower layer stands in."""
    table, *rest = key.split(".")
    return bool(rest) and rest[0].isdigit() and isinstance(layer.get(table), list)


def _parsed(text: str) -> object:
    """Read a list or table of the environment as JSON; every other text is itself."""
    if text[:1] not in {"[", "{"}:
        return text
    try:
        return json.loads(text)
    except ValueError:
        return text
