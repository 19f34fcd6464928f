"""How an agent signs in is said once: a key that lies about in the daemon's surroundings changes nothing."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Literal

import pytest

from autopilot.daemon.loop import Loop
from autopilot.daemon.store import writes
from autopilot.runner.agents.registry import KINDS, kind_of, own_variables
from autopilot.schemas.run import AgentSpec
from tests.support import queue
from tests.support.shop import Stage

PAID = [(kind, each) for kind in KINDS for each in kind_of(AgentSpec(name="x", kind=kind)).paid]
MODELS = {"ANTHROPIC_API_KEY": "anthropic/m", "OPENAI_API_KEY": "openai/m"}


@pytest.mark.field_report("AGT-029")
@pytest.mark.parametrize(("kind", "variable"), PAID)
@pytest.mark.parametrize(
    ("billing", "listed", "is_given"),
    [("metered", False, True), ("subscription", False, False), ("subscription", True, True)],
)
def test_on_a_subscription_no_agent_has_a_key_that_is_paid_by_use_unless_it_is_listed(
    kind: str,
    variable: str,
    billing: Literal["metered", "subscription"],
    *,
    listed: bool,
    is_given: bool,
) -> None:
    passed = (variable,) if listed else ()
    spec = AgentSpec(
        name="x", kind=kind, billing=billing, model=MODELS.get(variable), env_pass=passed, argv=("x",)
    )
    assert (variable in own_variables(spec)) is is_given


@pytest.fixture
def stage(tmp_path: Path) -> Iterator[Stage]:
    stage = Stage(tmp_path)
    config = stage.paths.config_file
    more = "".join(
        f'[agents.{each}]\nkind = "claude"\nbilling = "{each}"\n' for each in ("metered", "subscription")
    )
    config.write_text(config.read_text() + more)
    stage.current.refresh()
    yield stage
    stage.store.close()


@pytest.mark.field_report("AGT-029")
@pytest.mark.parametrize("billing", ["metered", "subscription"])
def test_a_revoked_key_in_the_daemons_surroundings_does_not_take_precedence_over_a_good_login(
    stage: Stage, monkeypatch: pytest.MonkeyPatch, billing: str
) -> None:
    monkeypatch.setenv("ANTHROPIC_API_KEY", "revoked")
    monkeypatch.setenv("CLAUDE_CODE_OAUTH_TOKEN", "the login")
    queue.add(stage.store, agent=billing)
    writes.turn_on(stage.store, by="test")
    Loop(stage.shop).tick()
    (launch,) = stage.supervisor.launches
    assert launch.env["CLAUDE_CODE_OAUTH_TOKEN"] == "the login"
    assert ("ANTHROPIC_API_KEY" in launch.env) is (billing == "metered")
