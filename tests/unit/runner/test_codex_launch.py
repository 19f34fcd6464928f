"""How Codex is started: under a configuration of ours, by its native program."""

from __future__ import annotations

import shlex
import tomllib
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from autopilot.runner.agents.adapter import Launch, Order
from autopilot.runner.agents.codex import KIND, CodexAgent, native
from autopilot.schemas.run import AgentSpec
from tests.support.orders import make_order

GUARD = ("/usr/bin/python3", "-I", "-S", '/a "place"/client.py', "/run/guard.sock")


@pytest.fixture
def order(tmp_path: Path) -> Order:
    (tmp_path / "prompt.md").write_text("-p is text here, and so is $(this)\n")
    agent = AgentSpec(
        name="codex", kind="codex", argv=("/opt/codex",), model="gpt-5.5", env_pass=("CODEX_HOME",)
    )
    return make_order(agent, tmp_path, guard=GUARD, is_confined=True, worktree=tmp_path / 'w "t"')


def config_of(launch: Launch) -> dict[str, Any]:
    (path,) = launch.files
    assert path == Path(launch.extra["CODEX_HOME"]) / "config.toml"
    return tomllib.loads(launch.files[path])


def test_the_prompt_goes_in_by_stdin_and_never_on_the_command_line(order: Order) -> None:
    launch = CodexAgent().launch(order)
    assert launch.stdin == order.prompt.read_bytes()
    assert (launch.argv[0], launch.argv[-1]) == ("/opt/codex", "-")
    assert not any("$(this)" in word for word in launch.argv)


def test_approval_is_pinned_and_an_unknown_setting_is_an_error(order: Order) -> None:
    launch = CodexAgent().launch(order)
    config = config_of(launch)
    assert config["approval_policy"] == "never"
    assert config["web_search"] == "disabled"
    assert "--strict-config" in launch.argv
    assert not {"-s", "--sandbox", "--dangerously-bypass-approvals-and-sandbox", "--trust"} & set(launch.argv)


def test_the_repository_is_not_trusted_and_nothing_else_brings_tools_or_hooks(order: Order) -> None:
    config = config_of(CodexAgent().launch(order))
    assert config["projects"] == {str(order.worktree): {"trust_level": "untrusted"}}
    assert "mcp_servers" not in config
    for feature in ("apps", "plugins", "browser_use", "computer_use", "unified_exec_tty"):
        assert config["features"][feature] is False
    assert config["agents"] == {"enabled": False}


def test_every_tool_is_asked_for_and_only_a_clean_yes_is_one(order: Order) -> None:
    hooks = config_of(CodexAgent().launch(order))["hooks"]
    assert [entry.get("matcher") for entry in hooks["PreToolUse"]] == [".*"]
    for entry in (*hooks["PreToolUse"], *hooks["SessionStart"]):
        (hook,) = entry["hooks"]
        assert shlex.split(hook["command"]) == [*GUARD, "||", "exit", "2"]
        assert hook["timeout"] > 3600


def test_without_a_guard_there_are_no_hooks_and_none_is_trusted(order: Order) -> None:
    launch = CodexAgent().launch(replace(order, guard=()))
    assert "hooks" not in config_of(launch)
    assert not any("hook" in word for word in launch.argv)


def test_its_own_sandbox_is_off_only_inside_one_of_ours_and_closes_the_network(order: Order) -> None:
    inside = config_of(CodexAgent().launch(order))
    assert inside["sandbox_mode"] == "danger-full-access"
    alone = config_of(CodexAgent().launch(replace(order, is_confined=False)))
    assert alone["sandbox_mode"] == "workspace-write"
    assert alone["sandbox_workspace_write"]["network_access"] is False


def test_commands_do_not_see_the_keys_and_the_home_is_private(order: Order) -> None:
    launch = CodexAgent().launch(order)
    assert config_of(launch)["shell_environment_policy"]["ignore_default_excludes"] is False
    assert launch.passes == (*KIND.variables, "CODEX_HOME")
    home = order.private / "codex"
    assert (launch.extra["CODEX_HOME"], launch.writable) == (str(home), (home,))


@pytest.mark.parametrize("inside", ["", "@openai/codex/node_modules/"])
def test_the_native_program_is_started_and_not_npms_launcher(tmp_path: Path, inside: str) -> None:
    modules = tmp_path / "lib" / "node_modules"
    launcher = modules / "@openai" / "codex" / "bin" / "codex.js"
    program = modules / inside / "@openai/codex-linux-x64/vendor/x86_64-unknown-linux-musl/bin/codex"
    for path in (launcher, program, launcher.parent.parent / "package.json"):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("#!/bin/sh\n")
        path.chmod(0o755)
    link = tmp_path / "bin" / "codex"
    link.parent.mkdir()
    link.symlink_to(launcher)
    assert native(str(link)) == str(program)
    program.unlink()
    assert native(str(link)) == str(link)


def test_another_program_is_started_as_it_is(tmp_path: Path) -> None:
    assert native(str(tmp_path / "nowhere")) == str(tmp_path / "nowhere")
