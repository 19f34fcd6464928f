"""Numbers that other parts keep for their tests are the ones of the defaults file."""

from __future__ import annotations

from autopilot.config.layers import read_defaults
from autopilot.daemon.rules import Rules
from autopilot.schemas.units import MS_PER_S, micro_usd

GIB = 1024**3


def test_the_judge_without_settings_judges_by_the_defaults() -> None:
    written = read_defaults()
    breaker = written["breaker"]
    assert Rules() == Rules(
        run_ceiling_micro_usd=micro_usd(written["run_ceiling_usd"]),
        ticket_ceiling_micro_usd=micro_usd(written["ticket_ceiling_usd"]),
        cost_ceiling_micro_usd=micro_usd(written["cost_ceiling_usd"]),
        stop_launching_percent=written["stop_launching_percent"],
        max_parallel_agents=written["max_parallel_agents"],
        per_repo_parallel=written["per_repo_parallel"],
        max_open_drafts=written["max_open_drafts"],
        launch_stagger_ms=written["launch_stagger_s"] * MS_PER_S,
        attempts_per_ticket=written["attempts_per_ticket"],
        releases_per_ticket=written["releases_per_ticket"],
        sessions_per_ticket=written["sessions_per_ticket"],
        tokens_per_ticket=written["tokens_per_ticket"],
        lease_ms=written["daemon"]["lease_s"] * MS_PER_S,
        max_ask_rounds=written["max_ask_rounds"],
        backoff_ms=written["backoff_s"] * MS_PER_S,
        backoff_cap_ms=written["backoff_cap_s"] * MS_PER_S,
        min_free_disk_bytes=written["min_free_disk_gib"] * GIB,
        min_free_memory_bytes=written["min_free_memory_gib"] * GIB,
        max_load_per_cpu=written["max_load_per_cpu"],
        breaker_open_after=breaker["open_after"],
        breaker_cooldown_ms=breaker["cooldown_s"] * MS_PER_S,
        breaker_cooldown_cap_ms=breaker["cooldown_cap_s"] * MS_PER_S,
    )
