"""How Gemini CLI is started, what is written for it, and what its stream means."""

from __future__ import annotations

import json
import subprocess
import tomllib
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from autopilot.runner.agents.adapter import Launch, Order
from autopilot.runner.agents.events import Acted, Spent, Spoke, UsedTool
from autopilot.runner.agents.gemini import GeminiAgent
from autopilot.runner.agents.gemini_profile import policy_text, settings_text
from autopilot.schemas.errors import ConfigError
from autopilot.schemas.price import TokenPrice
from autopilot.schemas.run import AgentSpec, Usage
from tests.support.captures import capture
from tests.support.orders import make_order
from tests.support.played import PLAYED

PRICE = TokenPrice(input=1_000_000, output=10_000_000, cache_read=100_000, cache_write=0)


@pytest.fixture
def order(tmp_path: Path) -> Order:
    (tmp_path / "prompt.md").write_text("--yolo is text here\n")
    (tmp_path / "worktree").mkdir()
    agent = AgentSpec(name="gemini", kind="gemini", model="gemini-2.5-pro", env_pass=("X_PASSED",))
    return make_order(agent, tmp_path)


def launched(order: Order) -> Launch:
    return GeminiAgent().launch(order)


def test_it_is_started_headless_with_nothing_of_others_and_never_with_yolo(order: Order) -> None:
    launch = launched(order)
    home, policy = order.private / "gemini", order.private / "gemini-policy.toml"
    assert launch.argv == (
        *("gemini", "--output-format", "stream-json", "--approval-mode", "auto_edit"),
        *("--admin-policy", str(policy), "--extensions", "none", "--allowed-mcp-server-names", "none"),
        *("--model", "gemini-2.5-pro"),
    )
    assert launch.stdin == order.prompt.read_bytes()
    assert launch.passes == ("GOOGLE_GEMINI_BASE_URL", "GEMINI_API_KEY", "X_PASSED")
    assert launch.extra == {
        "GEMINI_CLI_HOME": str(home),
        "GEMINI_CLI_SYSTEM_SETTINGS_PATH": str(home / "none" / "settings.json"),
        "GEMINI_CLI_TRUST_WORKSPACE": "true",
        "GEMINI_CLI_NO_RELAUNCH": "1",
        "GEMINI_SANDBOX": "false",
    }
    assert set(launch.files) == {policy, home / ".gemini" / "settings.json"}
    assert launch.writable == (home / ".gemini",)


def test_the_guard_is_asked_before_every_tool_and_whatever_is_no_yes_is_a_no_with_words(order: Order) -> None:
    names = set()
    for _ in range(2):
        launch = launched(replace(order, guard=("/usr/bin/python3", "-I", "cl ient.py", "/r/guard.sock")))
        settings = json.loads(launch.files[order.private / "gemini" / ".gemini" / "settings.json"])
        assert settings["hooksConfig"] == {"enabled": True}
        ((event, (asked,)),) = settings["hooks"].items()
        (hook,) = asked["hooks"]
        assert (event, asked["matcher"], hook["type"], hook["timeout"]) == (
            *("BeforeTool", ".*", "command"),
            86_400_000,
        )
        assert hook["command"].startswith("/usr/bin/python3 -I 'cl ient.py' /r/guard.sock || {")
        names.add(hook["name"])
    assert len(names) == 2  # the repository's settings may switch off a hook that they can name


@pytest.mark.parametrize("end", ["exit 2", "exit 1", "kill -9 $$", "exit 0"])
def test_the_hooks_command_ends_in_two_with_words_wherever_the_guards_does_not_end_in_0(end: str) -> None:
    settings = json.loads(settings_text(("sh", "-c", end)))
    command = settings["hooks"]["BeforeTool"][0]["hooks"][0]["command"]
    done = subprocess.run(["bash", "-c", command], capture_output=True, check=False)
    # Without words the client takes exit 2 for a yes.
    assert (done.returncode, bool(done.stderr)) == ((0, False) if end == "exit 0" else (2, True))
    assert done.stdout == b""


@pytest.mark.parametrize(
    ("name", "content", "is_refused"),
    [
        (".gemini/settings.json", '{"context": {"fileName": "A.md"}, "ui": {}}', False),
        (".gemini/settings.json", '{"hooks": {}}', True),
        (".gemini/settings.json", '{"hook\\u0073": {}}', True),
        (".gemini/settings.json", '{"mcpServers": {}}', True),
        (".gemini/settings.json", "{} // hooks", True),
        (".gemini/settings.json", "[]", True),
        (".gemini/settings.json", "[" * 100_000, True),
        (".gemini/.env", "", True),
        (".gemini/GEMINI.md", "", False),
    ],
)
def test_a_repository_whose_settings_would_outrank_ours_is_not_worked_on(
    order: Order, name: str, content: str, *, is_refused: bool
) -> None:
    (order.worktree / ".gemini").mkdir()
    (order.worktree / name).write_text(content)
    if not is_refused:
        launched(order)
        return
    with pytest.raises(ConfigError) as caught:
        launched(order)
    assert caught.value.code == "agent-configured-by-repository"
    assert name in str(caught.value)


def test_settings_that_are_no_plain_file_are_taken_for_ones_that_outrank_ours(order: Order) -> None:
    (order.worktree / ".gemini").mkdir()
    for name in ("settings.json", ".env"):
        (order.worktree / ".gemini" / name).symlink_to("/nowhere")
        with pytest.raises(ConfigError):
            launched(order)
        (order.worktree / ".gemini" / name).unlink()


def test_its_settings_are_these_and_no_others() -> None:
    assert json.loads(settings_text()) == {
        "advanced": {"ignoreLocalEnv": True},
        "general": {
            "checkpointing": {"enabled": False},
            "enableAutoUpdate": False,
            "enableAutoUpdateNotification": False,
        },
        "hooksConfig": {"enabled": False},
        "ide": {"enabled": False},
        "mcp": {"allowed": ["none"]},
        "privacy": {"usageStatisticsEnabled": False},
        "security": {
            "auth": {"enforcedType": "gemini-api-key", "selectedType": "gemini-api-key"},
            "enablePermanentToolApproval": False,
            "folderTrust": {"enabled": False},
        },
        "skills": {"enabled": False},
        "telemetry": {"enabled": False},
        "tools": {
            "callCommand": "",
            "discoveryCommand": "",
            "sandbox": False,
            "shell": {"enableInteractiveShell": False},
        },
    }


@pytest.mark.parametrize("has_shell", [True, False])
def test_its_policy_denies_what_it_does_not_name_and_a_shell_where_there_is_none(has_shell: bool) -> None:
    rules = tomllib.loads(policy_text(has_shell=has_shell))["rule"]
    files, last = rules[0], rules[-1]
    assert files == {
        "toolName": [
            *("glob", "grep_search", "list_directory", "read_file", "replace", "write_file", "write_todos"),
        ],
        "decision": "allow",
        "priority": 900,
    }
    assert last == {"toolName": "*", "decision": "deny", "priority": 1}
    of_shell = [rule for rule in rules if rule["toolName"] == "run_shell_command"]
    assert [(rule["decision"], rule["priority"]) for rule in of_shell] == (
        [("allow", 900), ("deny", 950)] if has_shell else []
    )
    assert not has_shell or {"git push", "gh", "sudo"} <= set(of_shell[1]["commandPrefix"])
    assert len(rules) == 2 + len(of_shell)


def test_a_sandbox_around_it_is_what_gives_it_a_shell(order: Order) -> None:
    for is_confined in (True, False):
        launch = launched(replace(order, is_confined=is_confined))
        policy = launch.files[order.private / "gemini-policy.toml"]
        assert ("run_shell_command" in policy) is is_confined


def test_its_stream_is_told_and_only_what_began_counts_as_done() -> None:
    report, events = PLAYED["gemini"].replay(capture("gemini", "deeds"))
    assert [event for event in events if not isinstance(event, UsedTool | Spent)] == [
        Spoke("Creating."),
        *(Acted("write_file"), Acted("run_shell_command")),
        Spoke("All done."),
    ]
    assert report.final_text == "All done."
    # What the guard refused it tells itself.
    assert report.denials == ("run_shell_command: not allowed", "web_fetch: not allowed")


def test_its_questions_are_those_of_its_last_message_whatever_the_pieces_it_comes_in() -> None:
    def said(words: str) -> dict[str, Any]:
        return {"type": "message", "role": "assistant", "content": words, "delta": True}

    used = ({"type": "tool_use", "tool_id": "1"}, {"type": "tool_result", "tool_id": "1"})
    done = {"type": "result", "status": "success"}
    early, late = said("AUTOPILOT-QUESTION: early?\n"), (said("AUTOPILOT-QUES"), said("TION: late?\n"))
    play = PLAYED["gemini"].play
    assert play((early, *used, *late, done))[0].questions == ("late?",)
    assert play((early, *used, said("All done."), done))[0].questions == ()
    assert play((said("x"), *used, early, *used, done))[0].questions == ("early?",)
    whole = {"type": "message", "role": "assistant", "content": "All done."}
    assert play((early, whole, done))[0].final_text == "All done."


def test_its_end_is_priced(order: Order) -> None:
    agent = GeminiAgent()
    agent.launch(replace(order, agent=order.agent.model_copy(update={"prices": {"gemini-2.5-pro": PRICE}})))
    spent = agent.feed(capture("gemini", "deeds").stdout)[-1]
    cost = 7000 + 3100 + 50
    assert spent == Spent(cost, 7000, 310, 500, is_priced=True)
    assert (agent.usage().known, agent.usage().cost_micro_usd) == (True, cost)


def told(shown: dict[str, Any]) -> dict[str, Any]:
    return {"type": "result", "status": "success", "stats": {"models": shown}}


def priced(order: Order, shown: dict[str, Any]) -> Usage:
    """What it is said to have used that ends with these counts."""
    agent = GeminiAgent()
    agent.launch(replace(order, agent=order.agent.model_copy(update={"prices": {"m": PRICE, "m 2": PRICE}})))
    agent.feed(json.dumps(told(shown)).encode() + b"\n")
    return agent.usage()


COUNTS = {
    "total_tokens": 1_010_100,
    "input_tokens": 10_000,
    "output_tokens": 100,
    "cached": 0,
    "input": 10_000,
}


def test_what_it_has_thought_is_paid_as_output_and_stands_in_its_total_alone(order: Order) -> None:
    usage = priced(order, {"m": COUNTS})
    assert (usage.known, usage.cost_micro_usd) == (True, 10_000 + 10_001_000)
    assert usage.output_tokens == 1_000_100


@pytest.mark.parametrize(
    "shown",
    [
        {"m": {**COUNTS, "total_tokens": 10_099}},
        {"m": {**COUNTS, "total_tokens": 0}},
        {"m": {**COUNTS, "total_tokens": None}},
        {"m": {**COUNTS, "total_tokens": 1_010_100.0}},
        {"m": {name: count for name, count in COUNTS.items() if name != "total_tokens"}},
        {"m": {name: count for name, count in COUNTS.items() if name != "input_tokens"}},
        {"m": {**COUNTS, "input": 9_999}},
        {"m": COUNTS, "m 2": {**COUNTS, "output_tokens": -1}},
        {"m 2": COUNTS, "m\n2": COUNTS},
    ],
)
def test_counts_that_do_not_agree_are_of_unknown_cost(order: Order, shown: dict[str, Any]) -> None:
    assert not priced(order, shown).known


@pytest.mark.parametrize("stats", [None, "all", {"models": {"m": [1], "n": {"input": -1}}}])
def test_without_usable_counts_its_cost_is_not_known(stats: object) -> None:
    report, _ = PLAYED["gemini"].play(({"type": "result", "status": "success", "stats": stats},))
    assert (report.outcome, report.usage.known) == (None, False)


def test_without_a_price_or_an_end_its_cost_is_not_known() -> None:
    usage = PLAYED["gemini"].replay(capture("gemini", "deeds"))[0].usage
    assert (usage.known, usage.unpriced) == (False, ("gemini-2.5-pro",))
    assert not PLAYED["gemini"].replay(capture("gemini", "sigterm"))[0].usage.known
