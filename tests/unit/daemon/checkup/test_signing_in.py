"""How an agent signs in is said before the night: which variable wins, and whether it lasts until the end."""

from __future__ import annotations

import base64
import json
from pathlib import Path

import pytest

from autopilot.daemon.checkup import signin
from autopilot.daemon.checkup.scene import Runner
from autopilot.runner.agents.registry import KINDS, kind_of
from autopilot.schemas.checkup import Check
from autopilot.schemas.run import AgentSpec
from tests.support.clock import NIGHT_START_MS, FakeClock
from tests.support.scenes import scene

HOUR_MS = 3_600_000
CLAUDE = AgentSpec(name="claude", kind="claude")
CODEX = AgentSpec(name="codex", kind="codex", billing="subscription")


def token(ends_ms: int) -> str:
    """A made-up token whose end stands in plain sight."""
    claims = base64.urlsafe_b64encode(json.dumps({"exp": ends_ms // 1000}).encode()).decode().rstrip("=")
    return f"e30.{claims}.c2ln"


def lines(spec: AgentSpec, now_ms: int = NIGHT_START_MS, /, **given: str) -> list[Check]:
    runner = Runner(who="the service (systemd)", environment=given)
    return list(signin.sign_in(spec, runner, now_ms=now_ms, ends_ms=NIGHT_START_MS + 9 * HOUR_MS))


@pytest.mark.field_report("AGT-029")
def test_a_key_that_wins_over_a_good_login_is_told() -> None:
    (line,) = lines(CLAUDE, ANTHROPIC_API_KEY="k", CLAUDE_CODE_OAUTH_TOKEN="t")
    assert (line.blocks, bool(line.cure)) == (False, True)
    assert "ANTHROPIC_API_KEY wins over CLAUDE_CODE_OAUTH_TOKEN" in line.evidence
    assert "the service (systemd)" in line.cure


@pytest.mark.field_report("AGT-029")
@pytest.mark.parametrize(
    ("spec", "variable"),
    [
        (CLAUDE.model_copy(update={"billing": "subscription"}), "ANTHROPIC_API_KEY"),
        (CLAUDE.model_copy(update={"billing": "subscription"}), "ANTHROPIC_AUTH_TOKEN"),
        (CODEX, "OPENAI_API_KEY"),
    ],
)
def test_a_key_that_would_turn_a_subscription_into_paid_use_blocks(spec: AgentSpec, variable: str) -> None:
    (line,) = lines(spec, CODEX_ACCESS_TOKEN="t", CLAUDE_CODE_OAUTH_TOKEN="t", **{variable: "k"})
    assert line.blocks
    assert f"{variable} of the service (systemd) wins" in line.evidence
    assert f"unset {variable}" in line.cure


PAID = [(kind, each) for kind in KINDS for each in kind_of(AgentSpec(name="x", kind=kind)).paid]
MODELS = {"ANTHROPIC_API_KEY": "anthropic/m", "OPENAI_API_KEY": "openai/m"}


@pytest.mark.field_report("AGT-029")
@pytest.mark.parametrize(("kind", "variable"), PAID)
def test_no_agent_with_a_key_that_is_paid_by_use_passes_for_a_subscription(kind: str, variable: str) -> None:
    spec = AgentSpec(name="x", kind=kind, billing="subscription", model=MODELS.get(variable))
    (line,) = lines(spec, **{variable: "k"})
    assert line.blocks
    assert f"{variable} of the service (systemd) wins" in line.evidence
    (line,) = lines(spec.model_copy(update={"billing": "metered"}), **{variable: "k"})
    assert not line.blocks


def test_of_opencode_only_the_key_of_its_models_provider_signs_it_in() -> None:
    spec = AgentSpec(name="x", kind="opencode", billing="subscription", model="openai/m")
    assert not lines(spec, ANTHROPIC_API_KEY="k")
    (line,) = lines(spec, ANTHROPIC_API_KEY="k", OPENAI_API_KEY="k")
    assert "OPENAI_API_KEY of" in line.evidence
    assert "ANTHROPIC" not in line.cure


def test_a_single_way_to_sign_in_is_a_go_and_its_value_is_not_shown() -> None:
    (line,) = lines(CLAUDE, ANTHROPIC_API_KEY="sk-secret")
    assert not line.blocks
    assert "sk-secret" not in line.model_dump_json()


@pytest.mark.parametrize(("hours", "blocks"), [(-1, True), (2, True), (9, True), (10, False)])
def test_a_token_that_ends_before_the_night_does_blocks_with_both_hours(hours: int, blocks: bool) -> None:
    found = lines(CODEX, CODEX_ACCESS_TOKEN=token(NIGHT_START_MS + hours * HOUR_MS))
    assert any(line.blocks for line in found) is blocks
    if blocks:
        assert "2026-01-02T09:00:00" in found[-1].evidence
        assert ("ended at" if hours < 0 else "ends at") in found[-1].evidence


def test_with_a_later_clock_the_same_token_has_ended() -> None:
    clock = FakeClock()
    value = token(clock.now_ms() + 20 * HOUR_MS)
    assert not any(line.blocks for line in lines(CODEX, CODEX_ACCESS_TOKEN=value))
    clock.advance(30 * 3600)
    late = lines(CODEX, clock.now_ms(), CODEX_ACCESS_TOKEN=token(NIGHT_START_MS))
    assert "ended at" in late[-1].evidence


@pytest.mark.parametrize(
    "value",
    ["", "plain", "a.b", "a.b.c", "e30.e30.x", "e30.eyJleHAiOiJzb29uIn0.x", "..", "e30.eyJleHAiOnRydWV9.x"],
)
def test_a_token_that_carries_no_end_has_none(value: str) -> None:
    assert signin.expires_ms(value) is None


def test_two_agents_of_one_account_have_one_fingerprint_and_it_tells_no_value() -> None:
    one = signin.fingerprint(CLAUDE, {"ANTHROPIC_API_KEY": "sk-1"})
    assert one == signin.fingerprint(
        CLAUDE.model_copy(update={"name": "other"}), {"ANTHROPIC_API_KEY": "sk-1"}
    )
    assert one != signin.fingerprint(CLAUDE, {"ANTHROPIC_API_KEY": "sk-2"})
    assert "sk-1" not in one


def test_an_agent_without_any_sign_in_is_told_of_by_its_own_line(tmp_path: Path) -> None:
    assert scene(tmp_path).runner.is_us
    assert not lines(CLAUDE)
