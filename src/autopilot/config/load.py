"""From files, environment and flags to `Settings`, or to one error that lists everything wrong.

Must not look at the disk beyond the configuration file.
"""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass
from decimal import Decimal
from typing import TYPE_CHECKING, Any

from pydantic import BaseModel, ValidationError

from autopilot.config import environ
from autopilot.config.keys import meant
from autopilot.config.layers import DEFAULTS, Layered, layers
from autopilot.config.nearest import nearest
from autopilot.config.plain import one_line
from autopilot.config.settings import Settings
from autopilot.config.values import PATTERNS
from autopilot.schemas.errors import ConfigError

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from pydantic_core import ErrorDetails

    from autopilot.config.paths import Paths

_MAX_SHOWN_CHARS = 60
# The lower may not be above the higher: nothing could ever start, or a cap would never be reached.
_ORDERED = (
    ("run_ceiling_usd", "ticket_ceiling_usd"),
    ("run_ceiling_usd", "cost_ceiling_usd"),
    ("backoff_s", "backoff_cap_s"),
    ("breaker.cooldown_s", "breaker.cooldown_cap_s"),
    ("timeouts.silence_s", "timeouts.wall_s"),
)


@dataclass(frozen=True, slots=True)
class Loaded:
    """Settings and, for each dotted key that was set anywhere, where it was set last."""

    settings: Settings
    origins: Mapping[str, str]


def load(paths: Paths, *, flags: Mapping[str, Any] | None = None) -> Settings:
    """Load the settings: defaults, then the file, then the environment, then flags.

    Args:
        paths: where the configuration file is; it need not exist.
        flags: dotted keys from the command line; None as a value = not given.

    Raises:
        ConfigError: something is wrong; every fault is listed with its place.
    """
    return load_with_origins(paths, flags=flags).settings


def load_with_origins(paths: Paths, *, flags: Mapping[str, Any] | None = None) -> Loaded:
    """Load the settings and tell where each came from. Raises as `load` does."""
    layered = layers(paths.config_file, environ.current(), flags or {})
    faults = [*_contradictions(layered.values)]
    try:
        settings = Settings.model_validate(layered.values)
    except ValidationError as exc:
        faults = [*(_fault(detail) for detail in exc.errors(include_url=False)), *faults]
        raise _error(faults, layered) from exc
    faults += _disorder(settings, layered)
    if faults:
        raise _error(faults, layered)
    return Loaded(settings, layered.origins)


def _error(faults: list[tuple[str, str]], layered: Layered) -> ConfigError:
    lines = [f"{layered.origin_of(key)}: {_shown_key(key, layered.values)}: {text}" for key, text in faults]
    hint = "mend it there; `autopilot config schema` describes every key"
    return ConfigError("config-invalid", "\n".join(lines), hint=hint)


def _fault(detail: ErrorDetails) -> tuple[str, str]:
    """Turn one complaint of the check into a dotted key and a sentence."""
    path = detail["loc"]
    key = ".".join(str(part) for part in path if part != "[key]")
    if detail["type"] == "extra_forbidden":
        return key, "; ".join(filter(None, ("unknown key", meant(path))))
    if detail["type"] == "missing":
        return key, "is missing"
    expected = PATTERNS.get(str(detail.get("ctx", {}).get("pattern")), detail["msg"])
    expected = expected.removeprefix("Value error, ").replace("Input should", "should")
    given = detail["input"]
    if isinstance(given, (dict, BaseModel)):
        return key, expected
    shown = one_line(str(given) if isinstance(given, Decimal) else repr(given), max_chars=_MAX_SHOWN_CHARS)
    choice = detail.get("ctx", {}).get("expected") if detail["type"] == "literal_error" else None
    near = nearest(str(given), re.findall(r"'([^']+)'", str(choice))) if choice else ""
    return key, "; ".join(filter(None, (f"{expected}, not {shown}", near)))


def _contradictions(values: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """Find names that point nowhere and names given twice, in values that may otherwise be wrong."""
    agents = [str(name) for name in _table(values.get("agents"))]
    default = values.get("default_agent")
    if isinstance(default, str) and default not in agents:
        yield "default_agent", f"no agent is called {default!r}; {nearest(default, agents) or _known(agents)}"
    repos = [repo for repo in _list(values.get("repo")) if isinstance(repo, dict)]
    names = Counter(str(repo.get("name")).casefold() for repo in repos)
    for number, repo in enumerate(repos):
        if names[str(repo.get("name")).casefold()] > 1:
            yield f"repo.{number}.name", f"two repositories are called {repo.get('name')!r}"
        agent = repo.get("agent")
        if isinstance(agent, str) and agent not in agents:
            yield (
                f"repo.{number}.agent",
                f"no agent is called {agent!r}; {nearest(agent, agents) or _known(agents)}",
            )
    channels = [str(name) for name in _table(values.get("channels"))]
    for channel in _list(values.get("report_channels")):
        if isinstance(channel, str) and channel not in channels:
            near = nearest(channel, channels) or f"add a table [channels.{channel}]"
            yield "report_channels", f"no channel is called {channel!r}; {near}"
    for name, agent in _table(values.get("agents")).items():
        if _table(agent).get("kind") == "command" and not _table(agent).get("argv"):
            yield f"agents.{name}.argv", "an agent of kind command needs the program to start"
    yield from _contradictions_of_trackers(values, [str(repo.get("name")) for repo in repos])


def _contradictions_of_trackers(values: Mapping[str, Any], repos: Sequence[str]) -> Iterator[tuple[str, str]]:
    """Find projects whose issues are for no repository, or are told by two trackers."""
    told_by: dict[str, str] = {}
    for name, tracker in _table(values.get("tracker")).items():
        for project, repo in _table(_table(tracker).get("projects")).items():
            key = f"tracker.{name}.projects.{project}"
            if isinstance(repo, str) and repo not in repos:
                yield key, f"no repository is called {repo!r}; {nearest(repo, repos) or _known([*repos])}"
            if project.casefold() in told_by:
                yield key, f"is told by tracker.{told_by[project.casefold()]} already"
            told_by.setdefault(project.casefold(), name)


def _disorder(settings: Settings, layered: Layered) -> Iterator[tuple[str, str]]:
    """Find limits that contradict each other; the one that the operator has set is named."""
    for low, high in _ORDERED:
        lower, higher = _value_at(settings, low), _value_at(settings, high)
        if lower > higher and layered.origin_of(low) != DEFAULTS:
            yield low, f"is {lower}, above {high}, which is {higher}"
        elif lower > higher:
            yield high, f"is {higher}, below {low}, which is {lower}"


def _value_at(settings: Settings, key: str) -> Any:  # noqa: ANN401  a number of either kind
    value: Any = settings
    for part in key.split("."):
        value = getattr(value, part)
    return value


def _shown_key(key: str, values: Mapping[str, Any]) -> str:
    """Name a repository instead of its number: `repo.0.base` becomes `repo[app].base`."""
    table, number, *rest = [*key.split("."), "", ""]
    if table != "repo" or not number.isdigit():
        return key
    repos = _list(values.get("repo"))
    name = _table(repos[int(number)]).get("name", number)
    return ".".join(filter(None, (f"repo[{name}]", *rest)))


def _table(value: Any) -> dict[str, Any]:  # noqa: ANN401  not yet checked
    return value if isinstance(value, dict) else {}


def _list(value: Any) -> list[Any]:  # noqa: ANN401  not yet checked
    return value if isinstance(value, list) else []


def _known(names: list[str]) -> str:
    return f"known are {', '.join(sorted(names))}" if names else "none is configured"
