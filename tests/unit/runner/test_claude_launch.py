"""How Claude Code is started: under a profile of ours, with nobody else's settings."""

from __future__ import annotations

import json
import shlex
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal

import pytest

from autopilot.runner.agents.adapter import Ending, Launch, Order
from autopilot.runner.agents.claude import KIND, ClaudeAgent
from autopilot.runner.agents.events import Hopeless
from autopilot.schemas.run import AgentSpec, Outcome
from tests.support.orders import make_order

GUARD = ("/usr/bin/python3", "-I", "-S", "/a place/client.py", "/run/guard.sock")


@pytest.fixture
def order(tmp_path: Path) -> Order:
    (tmp_path / "prompt.md").write_text("-p is text here, and so is $(this)\n")
    commands = (("python3", "-m", "unittest"), ("sh", "-c", "rm -rf ; x"))
    agent = AgentSpec(name="claude", kind="claude", model="opus", env_pass=("AWS_PROFILE",))
    return make_order(agent, tmp_path, left_micro_usd=4_980_000, allowed_commands=commands, guard=GUARD)


def settings_of(launch: Launch) -> dict[str, Any]:
    file = Path(launch.argv[launch.argv.index("--settings") + 1])
    found: dict[str, Any] = json.loads(launch.files[file])
    return found


def test_the_prompt_goes_in_by_stdin_and_never_on_the_command_line(order: Order) -> None:
    launch = ClaudeAgent().launch(order)
    assert launch.stdin == order.prompt.read_bytes()
    assert launch.argv[:5] == ("claude", "-p", "--output-format", "stream-json", "--verbose")
    assert not any("$(this)" in word for word in launch.argv)


@pytest.mark.covers("I11", "I12")
def test_the_profile_is_a_file_of_ours_that_allows_little_and_asks_nobody(order: Order) -> None:
    launch = ClaudeAgent().launch(order)
    rules = settings_of(launch)["permissions"]
    assert (rules["defaultMode"], rules["disableBypassPermissionsMode"]) == ("dontAsk", "disable")
    assert launch.argv[launch.argv.index("--permission-mode") + 1] == "dontAsk"
    allowed = set(rules["allow"])
    assert {"Read(./**)", "Edit(./**)", "Bash(python3 -m unittest)", "Bash(ls)", "Bash(ls:*)"} <= allowed
    assert not allowed & {
        "Bash",
        "Bash(*)",
        "Edit",
        "Write",
        "Read",
        "WebFetch",
        "Bash(python3:*)",
        "Bash(sh:*)",
    }
    assert not any("rm -rf" in rule for rule in allowed)
    for denied in ("Bash(git push:*)", "Bash(gh:*)", "WebFetch", "Edit(./.git/**)", "Edit(./.claude/**)"):
        assert denied in rules["deny"]
    assert all(path.is_relative_to(order.private) for path in launch.files)
    assert not any("permissions" in word for word in launch.argv)


@pytest.mark.covers("H01")
def test_every_guarded_tool_is_asked_for_and_a_hook_that_fails_blocks(order: Order) -> None:
    hooks = settings_of(ClaudeAgent().launch(order))["hooks"]
    matchers = [entry["matcher"] for entry in hooks["PreToolUse"]]
    assert matchers == ["Bash", "Edit|Write|MultiEdit|NotebookEdit", "Read", "WebFetch", "mcp__.*"]
    for entry in (*hooks["PreToolUse"], *hooks["SessionStart"]):
        (hook,) = entry["hooks"]
        assert (hook["type"], hook["onFailure"]) == ("command", "block")
        assert shlex.split(hook["command"]) == list(GUARD)
        assert hook["timeout"] > 5


@pytest.mark.parametrize(("billing", "is_stopped"), [("subscription", True), ("metered", False)])
@pytest.mark.parametrize(
    ("window", "code"), [("five_hour", "agent-overage"), ("seven_day", "agent-overage-weekly")]
)
def test_extra_usage_beside_a_subscription_stops_the_run_until_the_window_opens(
    order: Order, billing: Literal["subscription", "metered"], is_stopped: bool, window: str, code: str
) -> None:
    agent = ClaudeAgent()
    agent.launch(replace(order, agent=order.agent.model_copy(update={"billing": billing})))
    told = {"status": "allowed", "rateLimitType": window, "resetsAt": 1_800_000_000, "isUsingOverage": True}
    event = {"type": "rate_limit_event", "rate_limit_info": told}
    assert (Hopeless("agent-overage") in agent.feed(lines(event))) is is_stopped
    report = agent.finish(Ending(None, -15, ""))
    assert ((report.outcome, report.code) == (Outcome.USAGE_LIMIT, code)) is is_stopped
    assert report.resets_ms == (1_800_000_000_000 if is_stopped else None)


def test_settings_hooks_and_servers_of_others_are_not_looked_for(order: Order) -> None:
    launch = ClaudeAgent().launch(order)
    assert launch.argv[launch.argv.index("--setting-sources") + 1] == ""
    assert {"--strict-mcp-config", "--disable-slash-commands"} <= set(launch.argv)
    tools = launch.argv[launch.argv.index("--tools") + 1].split(",")
    assert {"Bash", "Edit", "Read", "Write"} <= set(tools)
    assert not {"WebFetch", "WebSearch", "Task", "Agent", "Monitor", "Workflow", "CronCreate"} & set(tools)


def test_the_configuration_folder_is_private_even_where_the_operator_passes_another(order: Order) -> None:
    agent = order.agent.model_copy(update={"env_pass": ("CLAUDE_CONFIG_DIR",)})
    launch = ClaudeAgent().launch(replace(order, agent=agent))
    folder = order.private / "claude"
    assert (launch.extra["CLAUDE_CONFIG_DIR"], launch.writable) == (str(folder), (folder,))


def test_commands_of_the_model_do_not_see_the_clients_keys(order: Order) -> None:
    launch = ClaudeAgent().launch(order)
    words = launch.files[Path(launch.extra["CLAUDE_ENV_FILE"])].split()
    assert words[0] == "unset"
    assert set(words[1:]) == {name for name in KIND.variables if name != "ANTHROPIC_BASE_URL"}


def test_the_client_gets_the_rest_of_the_ceiling_and_its_own_variables_only(order: Order) -> None:
    launch = ClaudeAgent().launch(order)
    assert launch.argv[-2:] == ("--max-budget-usd", "4.980000")
    assert launch.passes == (*KIND.variables, "AWS_PROFILE")
    assert launch.argv[launch.argv.index("--model") + 1] == "opus"


ASKED = {"type": "system", "subtype": "hook_response", "hook_event": "SessionStart", "exit_code": 0}
INIT = {"type": "system", "subtype": "init"}


@pytest.mark.parametrize("before", [[], [{**ASKED, "exit_code": 2}], [{**ASKED, "hook_event": "PreToolUse"}]])
def test_a_client_that_does_not_ask_the_guard_at_its_start_is_given_up_at_once(
    order: Order, before: list[dict[str, Any]]
) -> None:
    agent = ClaudeAgent()
    agent.launch(order)
    assert Hopeless("agent-hooks-ignored") in agent.feed(lines(*before, INIT))
    report = agent.finish(Ending(None, 15, ""))
    assert (report.outcome, report.code) == (Outcome.CONFIGURATION, "agent-hooks-ignored")
    assert report.hint


def test_a_client_that_asks_the_guard_at_its_start_goes_on(order: Order) -> None:
    agent = ClaudeAgent()
    agent.launch(order)
    assert agent.feed(lines(ASKED, INIT)) == []


def lines(*events: dict[str, Any]) -> bytes:
    return b"".join(json.dumps(event).encode() + b"\n" for event in events)
