"""The configurations that an operator of the simulated world changes between."""

from __future__ import annotations

import tempfile
from functools import cache
from pathlib import Path

from autopilot.config.load import load
from autopilot.config.paths import paths_below
from autopilot.config.settings import Settings

_TABLES = """
[schedule]
window = "{window}"
timezone = "Europe/Berlin"
digest_at = "07:30"
[timeouts]
wall_s = 60
silence_s = 30
no_progress_s = 30
gate_s = 1
git_s = 1
kill_grace_s = 2
[breaker]
open_after = 2
cooldown_s = 30
cooldown_cap_s = 120
[daemon]
poll_s = 60
drain_s = 20
[awake]
enabled = false
[identity]
name = "Pat Doe"
email = "pat@example.org"
[agents.scripted]
kind = "scripted"
[agents.other]
kind = "scripted"
"""
_CHANNELS = """
[channels.team]
kind = "webhook"
credential = "team-hook"
[channels.desk]
kind = "command"
argv = ["mail"]
"""
_LOOKS = """
[checkup]
every_s = 900
"""
_REPO = """
[[repo]]
name = "{name}"
url = "https://forge.test/o/{name}.git"
base = "main"
forge = "local"
"""
_USUAL = {
    "cost_ceiling_usd": "6",
    "run_ceiling_usd": "1",
    "ticket_ceiling_usd": "4",
    "stop_launching_percent": "80",
    "max_parallel_agents": "2",
    "per_repo_parallel": "1",
    "launch_stagger_s": "2",
    "max_open_drafts": "2",
    "attempts_per_ticket": "3",
    "releases_per_ticket": "3",
    "sessions_per_ticket": "6",
    "max_ask_rounds": "1",
    "backoff_s": "10",
    "backoff_cap_s": "60",
    "min_free_disk_gib": "1",
    "min_free_memory_gib": "0",
    "max_load_per_cpu": "0",
    "default_agent": '"scripted"',
}
_VARIANTS: tuple[tuple[dict[str, str], str, tuple[str, ...]], ...] = (
    ({}, "", ("shop", "till")),
    ({"cost_ceiling_usd": "4", "max_parallel_agents": "1"}, "", ("shop", "till")),
    ({"per_repo_parallel": "2", "max_parallel_agents": "0", "max_open_drafts": "0"}, "", ("shop", "till")),
    ({"run_ceiling_usd": "2", "launch_stagger_s": "0"}, "22:00-07:00", ("shop", "till")),
    ({"default_agent": '"other"'}, "", ("shop",)),
)


@cache
def variants() -> tuple[Settings, ...]:
    """Every configuration, read once as the daemon reads it."""
    return tuple(_read(*variant) for variant in _VARIANTS)


@cache
def with_channels() -> tuple[Settings, ...]:
    """The same configurations of an operator who is told of the night; one channel comes and goes."""
    usual = {"report_drafts": "true", "report_channels": '["team", "desk"]'}
    one = {"report_drafts": "true", "report_channels": '["team"]'}
    return tuple(
        _read({**changes, **(one if number == 1 else usual)}, window, repos, _TABLES + _CHANNELS)
        for number, (changes, window, repos) in enumerate(_VARIANTS)
    )


@cache
def of_week(zone: str, digest_at: str) -> Settings:
    """What an operator has who leaves it alone for a week: hours, long runs, room for all of them."""
    room = {"cost_ceiling_usd": "40", "max_open_drafts": "20", "releases_per_ticket": "10"}
    edits = {
        'timezone = "Europe/Berlin"': f'timezone = "{zone}"',
        'digest_at = "07:30"': f'digest_at = "{digest_at}"',
        "wall_s = 60": "wall_s = 14400",
        "silence_s = 30": "silence_s = 1800",
        "no_progress_s = 30": "no_progress_s = 3600",
        "poll_s = 60": "poll_s = 600\nlease_s = 3600",
    }
    tables = _TABLES
    for before, after in edits.items():
        assert before in tables
        tables = tables.replace(before, after)
    return _read(room, "22:00-07:00", ("shop", "till"), tables + _LOOKS, also='credential = "forge"\n')


def _read(
    changes: dict[str, str],
    window: str,
    repos: tuple[str, ...],
    tables_text: str = _TABLES,
    also: str = "",
) -> Settings:
    with tempfile.TemporaryDirectory() as folder:
        paths = paths_below(Path(folder))
        lines = [f"{name} = {value}" for name, value in (_USUAL | changes).items()]
        tables = [tables_text.format(window=window), *(_REPO.format(name=name) + also for name in repos)]
        paths.config_file.write_text("\n".join([*lines, *tables]))
        return load(paths)
