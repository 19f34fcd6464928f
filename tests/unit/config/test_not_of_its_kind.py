"""A setting that its table's kind does not take is refused; ignored, it would look as if it worked."""

from __future__ import annotations

from pathlib import Path

import pytest
from pydantic import ValidationError

from autopilot.config.agent_settings import Agent
from autopilot.config.layers import read_defaults
from autopilot.config.tracker import Tracker


def test_a_tracker_of_github_has_no_account() -> None:
    url = "https://api.github.com"
    with pytest.raises(ValidationError, match="says itself whose it is"):
        Tracker(kind="github", url=url, account="pat@example.org")
    assert Tracker(kind="jira", url=url, account="pat@example.org").account == "pat@example.org"


@pytest.mark.parametrize("kind", ["claude", "codex", "command", "copilot", "gemini", "opencode"])
def test_only_the_scripted_agent_has_a_script(kind: str) -> None:
    shipped = read_defaults()["each"]["agent"]
    with pytest.raises(ValidationError, match="does not play"):
        Agent.model_validate({**shipped, "kind": kind, "script": "/srv/play.yaml"})
    played = Agent.model_validate({**shipped, "kind": "scripted", "script": "/srv/play.yaml"})
    assert played.script == Path("/srv/play.yaml")
