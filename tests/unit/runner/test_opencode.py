"""How opencode is started, what is written for it, and what its stream means."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from dataclasses import replace
from pathlib import Path

import pytest

from autopilot.runner.agents.adapter import Ending, Order
from autopilot.runner.agents.events import Acted, Spent, Spoke, UsedTool
from autopilot.runner.agents.opencode import OpencodeAgent
from autopilot.runner.agents.opencode_profile import plugin_text
from autopilot.schemas.errors import ConfigError
from autopilot.schemas.price import TokenPrice
from autopilot.schemas.run import AgentSpec, Usage
from tests.support.captures import capture
from tests.support.orders import make_order
from tests.support.played import PLAYED

MODEL = "claude-sonnet-4-5"
PRICES = {MODEL: TokenPrice(input=1_000_000, output=10_000_000, cache_read=100_000, cache_write=0)}


@pytest.fixture
def order(tmp_path: Path) -> Order:
    (tmp_path / "prompt.md").write_text("--auto is text here\n")
    agent = AgentSpec(name="opencode", kind="opencode", model=f"anthropic/{MODEL}", env_pass=("X_PASSED",))
    return make_order(
        agent, tmp_path, guard=("/usr/bin/python3", "client.py", "/r/guard.sock"), is_confined=True
    )


def test_it_is_started_headless_with_nothing_of_others_and_never_with_auto(order: Order) -> None:
    launch = OpencodeAgent().launch(order)
    assert launch.argv == (
        *("opencode", "run", "--dir", str(order.worktree)),
        *("--format", "json", "--title", "ticket"),
        *("--model", f"anthropic/{MODEL}"),
    )
    assert launch.stdin == order.prompt.read_bytes()
    assert launch.passes == ("ANTHROPIC_API_KEY", "X_PASSED")
    assert launch.extra["OPENCODE_DISABLE_PROJECT_CONFIG"] == "1"
    assert launch.extra["SHELL"] == "/bin/bash"
    homes = {name: value for name, value in launch.extra.items() if name.startswith("XDG_")}
    assert set(homes) == {"XDG_CONFIG_HOME", "XDG_DATA_HOME", "XDG_STATE_HOME", "XDG_CACHE_HOME"}
    assert {Path(value) for value in homes.values()} < set(launch.writable)


def test_it_is_started_where_no_file_of_the_worktree_says_what_a_module_is(order: Order) -> None:
    """A `tsconfig.json` there put another file in the place of the plugin that asks the guard."""
    launch = OpencodeAgent().launch(order)
    assert launch.cwd is not None
    assert not launch.cwd.is_relative_to(order.worktree)
    assert not [each for each in launch.writable if launch.cwd.is_relative_to(each)]


@pytest.mark.parametrize("name", [".opencode", "opencode.json", "opencode.jsonc"])
@pytest.mark.parametrize("is_link", [True, False])
def test_a_repository_with_plugins_of_its_own_is_refused(order: Order, name: str, is_link: bool) -> None:
    """1.18.33 loads them whatever it is told, and what one does then is done before the guard is asked."""
    order.worktree.mkdir()
    path = order.worktree / name
    path.symlink_to("nowhere") if is_link else path.touch()
    with pytest.raises(ConfigError, match="would be loaded beside") as refused:
        OpencodeAgent().launch(order)
    assert refused.value.code == "agent-configured-by-repository"


def test_its_configuration_denies_everything_which_only_the_plugin_that_asks_the_guard_takes_back(
    order: Order,
) -> None:
    launch = OpencodeAgent().launch(order)
    config = json.loads(launch.files[Path(launch.extra["OPENCODE_CONFIG"])])
    assert config["permission"] == {"*": "deny"}
    assert config["enabled_providers"] == ["anthropic"]
    assert config["provider"]["anthropic"]["options"] == {
        "baseURL": "https://api.anthropic.com/v1",
        "apiKey": "{env:ANTHROPIC_API_KEY}",
    }
    (plugin,) = config["plugin"]
    text = launch.files[Path(plugin.removeprefix("file://"))]
    assert '"client.py"' in text
    assert '"*": "deny"' in text
    assert not {"webfetch", "task", "external_directory", "websearch"} & set(text.split('"'))


@pytest.mark.parametrize("is_confined", [True, False])
def test_a_sandbox_around_it_is_what_gives_it_a_shell(order: Order, is_confined: bool) -> None:
    launch = OpencodeAgent().launch(replace(order, is_confined=is_confined))
    text = launch.files[order.private / "opencode-guard.js"]
    (allowed,) = re.findall(r"config\.permission = (\{.*\});", text)
    given = {name for name, verdict in json.loads(allowed).items() if verdict == "allow"}
    assert given == {"edit", "glob", "grep", "read", "todowrite"} | ({"bash"} if is_confined else set())


def test_a_library_is_told_to_be_there_so_that_it_is_not_fetched(order: Order) -> None:
    launch = OpencodeAgent().launch(order)
    folder = Path(launch.extra["XDG_CONFIG_HOME"]) / "opencode"
    package = json.loads(launch.files[folder / "package.json"])
    lock = json.loads(launch.files[folder / "package-lock.json"])
    assert lock["packages"][""] == package
    assert package["dependencies"]
    assert folder / "node_modules" in launch.writable


PROBE = """\
import { Guard } from %s;
const hooks = await Guard({ directory: "/w" });
try {
  await hooks["tool.execute.before"]({ tool: "bash", callID: "c-1" }, { args: { command: "ls" } });
  console.log("yes");
} catch (error) {
  console.log("no " + error.message);
}
"""


@pytest.mark.needs(binary="node", apt="nodejs")
@pytest.mark.parametrize(
    ("guard", "answer"),
    [
        (("sh", "-c", "cat > event; exit 0"), "yes"),
        (("sh", "-c", "echo why >&2; exit 2"), "no the guard: why"),
        (("sh", "-c", "exit 1"), "no the guard: it gave no answer"),
        (("sh", "-c", "kill -9 $$"), "no the guard: it gave no answer"),
        (("/nowhere/guard",), "no the guard: it gave no answer"),
    ],
)
def test_whatever_is_no_clean_yes_of_the_guard_is_a_no(
    tmp_path: Path, guard: tuple[str, ...], answer: str
) -> None:
    (tmp_path / "guard.mjs").write_text(plugin_text(guard, has_shell=True))
    (tmp_path / "probe.mjs").write_text(PROBE % json.dumps(str(tmp_path / "guard.mjs")))
    node = shutil.which("node") or "node"
    done = subprocess.run(
        [node, "probe.mjs"], cwd=tmp_path, capture_output=True, text=True, check=False, timeout=60
    )
    assert done.stdout.strip() == answer, done.stderr
    if answer == "yes":
        assert json.loads((tmp_path / "event").read_text()) == {
            "hook_event_name": "PreToolUse",
            "tool_name": "bash",
            "tool_input": {"command": "ls"},
            "cwd": "/w",
            "tool_use_id": "c-1",
        }


@pytest.mark.parametrize("model", [None, "claude", "mystery/x", "anthropic/"])
def test_a_model_whose_provider_is_not_known_is_refused(order: Order, model: str | None) -> None:
    spec = order.agent.model_copy(update={"model": model})
    with pytest.raises(ConfigError) as caught:
        OpencodeAgent().check(spec)
    assert caught.value.code == "agent-model-unknown"
    with pytest.raises(ConfigError):
        OpencodeAgent().launch(replace(order, agent=spec))


def test_its_stream_is_told_and_what_began_is_told_with_its_own_name() -> None:
    report, events = PLAYED["opencode"].replay(capture("opencode", "deeds"))
    acted = [event for event in events if isinstance(event, Acted)]
    assert [event.tool for event in acted] == ["write", "bash", "edit"]
    assert all(event.use_id for event in acted)
    assert [event.tool for event in events if isinstance(event, UsedTool)] == [
        *("write", "bash", "bash", "write", "webfetch", "edit"),
    ]
    assert [event for event in events if isinstance(event, Spoke)] == [Spoke("Creating."), Spoke("All done.")]
    # What the guard refused it tells itself.
    assert report.denials == ("write: not allowed",)
    assert report.final_text == "All done."


def test_without_its_plugin_it_used_no_tool() -> None:
    _, events = PLAYED["opencode"].replay(capture("opencode", "no-plugin"))
    assert not [event for event in events if isinstance(event, UsedTool | Acted)]


def test_its_tokens_are_priced_at_each_step(order: Order) -> None:
    agent = OpencodeAgent()
    agent.launch(replace(order, agent=order.agent.model_copy(update={"prices": PRICES})))
    events = agent.feed(capture("opencode", "deeds").stdout)
    report = agent.finish(Ending(0, None, ""))
    spent = [event for event in events if isinstance(event, Spent)]
    assert spent[0] == Spent(1000 + 500, 1000, 50, 0, is_priced=True)
    cost = 8000 + 3600 + 50
    assert spent[-1] == Spent(cost, 8000, 360, 500, is_priced=True)
    assert (report.usage.known, report.usage.cost_micro_usd, report.usage.turns) == (True, cost, 7)


def stepped(order: Order, *tokens: object) -> Usage:
    """What it is said to have used whose steps tell these tokens."""
    agent = OpencodeAgent()
    agent.launch(replace(order, agent=order.agent.model_copy(update={"prices": PRICES})))
    agent.feed(
        b"".join(
            json.dumps({"type": "step_finish", "part": {"reason": "stop", "tokens": each}}).encode() + b"\n"
            for each in tokens
        )
    )
    return agent.finish(Ending(0, None, "")).usage


USED = {"input": 1000, "output": 50, "reasoning": 10, "cache": {"read": 100, "write": 0}}


def test_what_it_has_thought_is_paid_as_output(order: Order) -> None:
    usage = stepped(order, USED)
    assert (usage.known, usage.cost_micro_usd) == (True, 1000 + 600 + 10)


@pytest.mark.parametrize(
    "tokens",
    [
        *({}, None, [], {**USED, "input": None}, {**USED, "output": 900.0}, {**USED, "input": -5}),
        *({**USED, "output": 2**70}, {**USED, "reasoning": None}, {**USED, "reasoning": "10"}),
        *({**USED, "cache": None}, {**USED, "cache": {"read": 1.5}}, {**USED, "cache": {"write": None}}),
    ],
)
def test_one_step_without_usable_counts_makes_the_cost_unknown_never_free(
    order: Order, tokens: object
) -> None:
    assert not stepped(order, tokens).known
    usage = stepped(order, USED, tokens, USED)
    assert not usage.known
    assert usage.cost_micro_usd >= 2 * 1610


def test_without_a_price_or_an_end_its_cost_is_not_known(order: Order) -> None:
    agent = OpencodeAgent()
    agent.launch(order)
    agent.feed(capture("opencode", "deeds").stdout)
    assert not agent.usage().known
    usage = agent.finish(Ending(0, None, "")).usage
    assert (usage.known, usage.unpriced) == (False, (MODEL,))
