"""Every number of the settings reaches the judge, in the judge's units; and the defaults are the same."""

from __future__ import annotations

from dataclasses import fields
from decimal import Decimal
from pathlib import Path

import pytest

from autopilot.config.load import load
from autopilot.config.paths import Paths
from autopilot.config.settings import Settings
from autopilot.daemon.rules import Rules, rules_of

CHANGED = {
    "run_ceiling_usd": (Decimal("0.5"), "run_ceiling_micro_usd", 500_000),
    "ticket_ceiling_usd": (Decimal(7), "ticket_ceiling_micro_usd", 7_000_000),
    "cost_ceiling_usd": (Decimal(30), "cost_ceiling_micro_usd", 30_000_000),
    "stop_launching_percent": (70, "stop_launching_percent", 70),
    "max_parallel_agents": (9, "max_parallel_agents", 9),
    "per_repo_parallel": (4, "per_repo_parallel", 4),
    "max_open_drafts": (6, "max_open_drafts", 6),
    "launch_stagger_s": (0.5, "launch_stagger_ms", 500),
    "attempts_per_ticket": (4, "attempts_per_ticket", 4),
    "releases_per_ticket": (4, "releases_per_ticket", 4),
    "sessions_per_ticket": (4, "sessions_per_ticket", 4),
    "tokens_per_ticket": (4, "tokens_per_ticket", 4),
    "daemon.lease_s": (30, "lease_ms", 30_000),
    "max_ask_rounds": (4, "max_ask_rounds", 4),
    "backoff_s": (1.5, "backoff_ms", 1500),
    "backoff_cap_s": (90, "backoff_cap_ms", 90_000),
    "min_free_disk_gib": (0.5, "min_free_disk_bytes", 1024**3 // 2),
    "min_free_memory_gib": (0.25, "min_free_memory_bytes", 1024**3 // 4),
    "max_load_per_cpu": (2.5, "max_load_per_cpu", 2.5),
    "breaker.open_after": (5, "breaker_open_after", 5),
    "breaker.cooldown_s": (60, "breaker_cooldown_ms", 60_000),
    "breaker.cooldown_cap_s": (61, "breaker_cooldown_cap_ms", 61_000),
}


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    return load(Paths(state=tmp_path, config_file=tmp_path / "config.toml", logs=tmp_path))


def test_the_defaults_of_the_judge_are_the_defaults_of_the_settings(settings: Settings) -> None:
    assert rules_of(settings) == Rules()


@pytest.mark.parametrize(("setting", "change"), CHANGED.items(), ids=CHANGED.keys())
def test_a_changed_setting_changes_exactly_its_rule(
    settings: Settings, setting: str, change: tuple[object, str, int]
) -> None:
    value, rule, expected = change
    part, _, name = setting.rpartition(".")
    changes = {name: value}
    if part:
        changes = {part: getattr(settings, part).model_copy(update=changes)}
    rules = rules_of(settings.model_copy(update=changes))
    differing = [
        field.name for field in fields(Rules) if getattr(rules, field.name) != getattr(Rules(), field.name)
    ]
    assert differing == [rule]
    assert getattr(rules, rule) == expected


def test_every_rule_has_its_setting() -> None:
    assert {rule for _, rule, _ in CHANGED.values()} == {field.name for field in fields(Rules)}
