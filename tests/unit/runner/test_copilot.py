"""How Copilot CLI is started, what is written for it, and what its stream means."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from autopilot.runner.agents.adapter import Order
from autopilot.runner.agents.copilot import CopilotAgent, hooks_text
from autopilot.runner.agents.events import Acted, Spoke, UsedTool
from autopilot.schemas.errors import ConfigError
from autopilot.schemas.run import AgentSpec
from tests.support.captures import capture
from tests.support.orders import make_order
from tests.support.played import PLAYED


@pytest.fixture
def order(tmp_path: Path) -> Order:
    (tmp_path / "prompt.md").write_text("--yolo is text here\n")
    agent = AgentSpec(name="copilot", kind="copilot", model="claude-sonnet-4.5", env_pass=("X_PASSED",))
    return make_order(
        agent, tmp_path, guard=("/usr/bin/python3", "cl ient.py", "/r/guard.sock"), is_confined=True
    )


def test_it_is_started_headless_offline_with_few_tools_and_never_with_all(order: Order) -> None:
    launch = CopilotAgent().launch(order)
    argv = list(launch.argv)
    tools = argv[argv.index("--available-tools") + 1 :][:6]
    assert tools == ["bash", "create", "edit", "glob", "grep", "view"]
    assert {"--no-ask-user", "--disable-builtin-mcps", "--no-auto-update", "--no-remote"} < set(argv)
    assert [argv[at + 1] for at, word in enumerate(argv) if word == "--allow-tool"] == ["write", "shell"]
    assert "shell(git push)" in argv
    forbidden = ("--allow-all", "--yolo", "--trust-folder", "-p", "--prompt", "--autopilot")
    assert not [word for word in argv if word.startswith(forbidden)]
    assert launch.stdin == order.prompt.read_bytes()
    assert launch.passes == ("COPILOT_PROVIDER_BASE_URL", "COPILOT_PROVIDER_API_KEY", "X_PASSED")
    assert launch.extra == {
        "COPILOT_HOME": str(order.private / "copilot"),
        "COPILOT_OFFLINE": "true",
        "COPILOT_PROVIDER_TYPE": "anthropic",
        "SHELL": "/bin/bash",
    }
    (hooks,) = launch.files.values()
    (asked,) = json.loads(hooks)["hooks"]["preToolUse"]
    assert asked["bash"] == "/usr/bin/python3 'cl ient.py' /r/guard.sock"
    assert asked["timeoutSec"] == 86_400
    assert json.loads(hooks_text(()))["hooks"] == {"preToolUse": []}


def test_a_sandbox_around_it_is_what_gives_it_a_shell(order: Order) -> None:
    argv = list(CopilotAgent().launch(replace(order, is_confined=False)).argv)
    start, end = argv.index("--available-tools") + 1, argv.index("--allow-tool")
    assert argv[start:end] == ["create", "edit", "glob", "grep", "view"]
    assert [argv[at + 1] for at, word in enumerate(argv) if word == "--allow-tool"] == ["write"]


def test_without_a_model_it_is_not_started(order: Order) -> None:
    nameless = order.agent.model_copy(update={"model": None})
    with pytest.raises(ConfigError) as caught:
        CopilotAgent().launch(replace(order, agent=nameless))
    assert caught.value.code == "agent-model-unknown"


def test_its_stream_is_told_and_what_was_denied_does_not_count_as_done() -> None:
    report, events = PLAYED["copilot"].replay(capture("copilot", "deeds"))
    assert [event for event in events if isinstance(event, Acted)] == [Acted("create"), Acted("bash")]
    assert [event.tool for event in events if isinstance(event, UsedTool)] == [
        *("create", "bash", "bash", "bash", "create"),
    ]
    assert [event for event in events if isinstance(event, Spoke)] == [Spoke("Creating."), Spoke("All done.")]
    # What the guard refused it tells itself.
    assert report.denials == ("bash: not allowed", "create: not allowed")
    assert report.final_text == "All done."
    assert (report.usage.known, report.usage.turns) == (False, 6)


def test_a_type_of_a_family_that_nobody_knows_is_told_of() -> None:
    done = {"type": "result", "exitCode": 0}
    report, _ = PLAYED["copilot"].play(
        ({"type": "session.brand_new"}, {"type": "brand.new"}, {"type": 7}, done)
    )
    assert report.warnings == ("unknown event types: (no type), brand.new",)
