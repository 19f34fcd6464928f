"""The settings in force: numbers, choices and defaults as they are, free texts of the operator only as set.

Must not show a text that is not on the list. The configuration file itself is never part of a report: its
comments may say anything.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from autopilot.config import environ
from autopilot.config.layers import DEFAULTS, PRICES, flat, layers
from autopilot.config.load import load_with_origins
from autopilot.daemon.report.known import leaves
from autopilot.daemon.report.pieces import Facts, Left
from autopilot.schemas.errors import AutopilotError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from autopilot.config.load import Loaded
    from autopilot.config.paths import Paths
    from autopilot.daemon.checkup.probe import Limit
    from autopilot.daemon.report.pieces import Given, Piece

NAME, _ABOUT = (
    "settings.json",
    "settings in force and where each comes from; free texts are masked",
)
SET = "<set>"
# Choices among known words, times and zones. A text under any other key may be anything.
_OPEN = re.compile(
    r"schedule\.(window|timezone|digest_at)|logs\.level|(backup|retention)\.at|awake\.lid|sandbox\.kind"
    r"|output_language|default_agent|agents\.[^.]+\.(kind|billing|broker|model)|repo\.\d+\.(forge|agent)"
    r"|channels\.[^.]+\.(kind|format)|tracker\.[^.]+\.kind|intake\.trusted_associations"
    r"|(.*\.)?[a-z_]+_usd(_per_mtok)?"
)
_NAMED_REPO = re.compile(r"(?<=: )repo\[.*\](?=[.:])")  # as an error of the configuration names one
_NAMED_PROJECT = re.compile(r"(?<=\.projects\.)[^:\n]+")  # what stands left of a `=` is a text here too
_SHIPPED = frozenset({DEFAULTS, PRICES, ""})
_LEAST = 3


def settings(given: Given, _: Limit) -> Iterator[Piece]:
    """Give the settings, or what is wrong with the configuration."""
    paths = given.paths
    about: dict[str, Any] = {"config_file": str(paths.config_file), "exists": paths.config_file.exists()}
    try:
        loaded = load_with_origins(paths)
    except AutopilotError as error:
        about["error"] = {"code": error.code, "what": without_texts(error.what, written(paths))}
        yield Left("settings in force", f"the configuration cannot be used [{error.code}]")
    else:
        about["settings"] = dict(_shown(loaded))
    yield Facts(NAME, _ABOUT, about)


def written(paths: Paths) -> frozenset[str]:
    """Give every text that the operator's configuration holds; none where it is no TOML."""
    try:
        values = layers(paths.config_file, environ.current(), {}).values
    except AutopilotError:
        return frozenset()
    return frozenset(text for _, text in leaves(values))


def without_texts(what: str, texts: Iterable[str]) -> str:
    """Mask what an error repeats of the operator's own texts; what is no setting's value stays."""
    for text in sorted((text for text in texts if len(text) >= _LEAST), key=len, reverse=True):
        for quoted in (repr(text), f'"{text}"'):
            what = what.replace(quoted, SET)
    what = _NAMED_PROJECT.sub(SET, _NAMED_REPO.sub(f"repo[{SET}]", what))
    return re.sub(r"(?<=, not )(?!<set>).*", SET, what)


def _shown(loaded: Loaded) -> Iterator[tuple[str, dict[str, Any]]]:
    values = loaded.settings.model_dump(mode="json", by_alias=True)
    for number, (key, value) in enumerate(flat(values)):
        origin = loaded.origins.get(key, "" if value is None else DEFAULTS)
        shown = _NAMED_PROJECT.sub(f"{SET} {number}", key)
        yield shown, {"value": _masked(key, value, origin), "from": origin}


def _masked(key: str, value: object, origin: str) -> object:
    if isinstance(value, str | list) and origin not in _SHIPPED and value and not _OPEN.fullmatch(key):
        return f"<{len(value)} set>" if isinstance(value, list) else SET
    return value
