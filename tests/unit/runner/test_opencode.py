"""How opencode is started, what is written for it, and what its stream means."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from dataclasses import replace
from pathlib import Path

import pytest

from autopilot.runner.agents.adapter import AgentReport, Ending, Order
from autopilot.runner.agents.events import Acted, AgentEvent, Spent, Spoke, UsedTool
from autopilot.runner.agents.opencode import OpencodeAgent
from autopilot.runner.agents.opencode_profile import plugin_text
from autopilot.runner.agents.opencode_stream import OpencodeStream
from autopilot.schemas.errors import ConfigError
from autopilot.schemas.price import TokenPrice
from autopilot.schemas.run import AgentSpec, Outcome
from tests.support.captures import opencode, opencode_names
from tests.support.orders import make_order

MODEL = "claude-sonnet-4-5"
PRICES = {MODEL: TokenPrice(input=1_000_000, output=10_000_000, cache_read=100_000, cache_write=0)}
MATRIX = [
    ("deeds", None, "agent-finished"),
    ("no-plugin", None, "agent-finished"),
    ("error-401", Outcome.CREDENTIAL, "agent-not-authenticated"),
    ("error-403", Outcome.CREDENTIAL, "agent-not-authenticated"),
    ("unknown-model", Outcome.CONFIGURATION, "agent-model-unknown"),
    ("sigterm", Outcome.AGENT_FAILED, "agent-failed-unknown"),
]


@pytest.fixture
def order(tmp_path: Path) -> Order:
    (tmp_path / "prompt.md").write_text("--auto is text here\n")
    agent = AgentSpec(name="opencode", kind="opencode", model=f"anthropic/{MODEL}", env_pass=("X_PASSED",))
    return make_order(
        agent, tmp_path, guard=("/usr/bin/python3", "client.py", "/r/guard.sock"), is_confined=True
    )


def told(*events: object) -> bytes:
    return b"".join(json.dumps(each).encode() + b"\n" for each in events)


def play(data: bytes, code: int = 0, tail: str = "") -> tuple[AgentReport, list[AgentEvent]]:
    stream = OpencodeStream(MODEL, PRICES)
    events = [event for start in range(0, len(data), 97) for event in stream.feed(data[start : start + 97])]
    ending = Ending(code, None, tail) if code >= 0 else Ending(None, -code, tail)
    return stream.report(ending), events


def replay(name: str) -> tuple[AgentReport, list[AgentEvent]]:
    capture = opencode(name)
    return play(capture.stdout, capture.exit_code, capture.stderr)


def test_it_is_started_headless_with_nothing_of_others_and_never_with_auto(order: Order) -> None:
    launch = OpencodeAgent().launch(order)
    assert launch.argv == (
        *("opencode", "run", "--format", "json", "--title", "ticket"),
        *("--model", f"anthropic/{MODEL}"),
    )
    assert launch.stdin == order.prompt.read_bytes()
    assert launch.passes == ("ANTHROPIC_API_KEY", "X_PASSED")
    assert launch.extra["OPENCODE_DISABLE_PROJECT_CONFIG"] == "1"
    assert launch.extra["SHELL"] == "/bin/bash"
    homes = {name: value for name, value in launch.extra.items() if name.startswith("XDG_")}
    assert set(homes) == {"XDG_CONFIG_HOME", "XDG_DATA_HOME", "XDG_STATE_HOME", "XDG_CACHE_HOME"}
    assert {Path(value) for value in homes.values()} < set(launch.writable)


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


@pytest.mark.parametrize(("name", "outcome", "code"), MATRIX)
def test_every_row_of_the_outcome_matrix_gets_its_verdict(
    name: str, outcome: Outcome | None, code: str
) -> None:
    report, _ = replay(name)
    assert (report.outcome, report.code) == (outcome, code)
    assert report.message
    assert report.hint or outcome is None


def test_every_recorded_stream_is_in_the_matrix_and_read_without_a_damaged_line() -> None:
    assert sorted(opencode_names()) == sorted(name for name, _, _ in MATRIX)
    assert not [warning for name in opencode_names() for warning in replay(name)[0].warnings]


def test_its_stream_is_told_and_what_began_is_told_with_its_own_name() -> None:
    report, events = replay("deeds")
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
    assert not [event for event in replay("no-plugin")[1] if isinstance(event, UsedTool | Acted)]


def test_its_tokens_are_priced_at_each_step() -> None:
    report, events = replay("deeds")
    spent = [event for event in events if isinstance(event, Spent)]
    assert spent[0] == Spent(1000 + 500, 1000, 50, 0, is_priced=True)
    cost = 8000 + 3600 + 50
    assert spent[-1] == Spent(cost, 8000, 360, 500, is_priced=True)
    assert (report.usage.known, report.usage.cost_micro_usd, report.usage.turns) == (True, cost, 7)


def test_without_a_price_or_an_end_its_cost_is_not_known(order: Order) -> None:
    agent = OpencodeAgent()
    agent.launch(order)
    agent.feed(opencode("deeds").stdout)
    assert not agent.usage().known
    usage = agent.finish(Ending(0, None, "")).usage
    assert (usage.known, usage.unpriced) == (False, (MODEL,))


@pytest.mark.parametrize(
    ("error", "outcome", "code"),
    [
        (
            {"name": "APIError", "data": {"message": "x", "statusCode": 429}},
            Outcome.AGENT_FAILED,
            "agent-rate-limited",
        ),
        (
            {"name": "APIError", "data": {"message": "x", "statusCode": 503}},
            Outcome.AGENT_FAILED,
            "agent-service-down",
        ),
        (
            {
                "name": "APIError",
                "data": {"message": "Forbidden", "statusCode": 403, "responseBody": "autopilot: host"},
            },
            *(Outcome.CONFIGURATION, "agent-host-refused"),
        ),
        (
            {"name": "UnknownError", "data": {"message": "Unable to connect."}},
            Outcome.AGENT_FAILED,
            "agent-unreachable",
        ),
        ({"name": "Flux", "data": []}, Outcome.AGENT_FAILED, "agent-error"),
        ([], Outcome.AGENT_FAILED, "agent-error"),
    ],
)
def test_its_errors_are_sorted_even_where_it_ends_in_0(error: object, outcome: Outcome, code: str) -> None:
    report, _ = play(told({"type": "error", "error": error}), 0)
    assert (report.outcome, report.code) == (outcome, code)


@pytest.mark.parametrize(
    ("events", "exit_code", "outcome", "code"),
    [
        ((), 127, Outcome.AGENT_MISSING, "agent-missing"),
        ((), 1, Outcome.AGENT_FAILED, "agent-failed-unknown"),
        ((), 0, Outcome.AGENT_FAILED, "agent-no-result"),
        (
            ({"type": "step_finish", "part": {"reason": "tool-calls"}},),
            *(0, Outcome.AGENT_FAILED, "agent-no-result"),
        ),
    ],
)
def test_an_end_without_a_result_is_a_failure(
    events: tuple[object, ...], exit_code: int, outcome: Outcome, code: str
) -> None:
    report, _ = play(told(*events), exit_code, "no")
    assert (report.outcome, report.code) == (outcome, code)


@pytest.mark.field_report("AGT-021")
@pytest.mark.parametrize("code", [1, 137, -9])
def test_a_good_result_followed_by_a_bad_exit_is_kept_with_a_warning(code: int) -> None:
    report, _ = play(told({"type": "step_finish", "part": {"reason": "stop"}}), code)
    assert report.outcome is None
    assert any("non-zero exit after result" in warning for warning in report.warnings)


@pytest.mark.parametrize(
    "strange",
    [
        *({"type": 3}, {"type": "new.thing"}, {"type": ["x"]}, {}, {"type": "text", "part": [1]}),
        *({"type": "tool_use", "part": {"state": 7, "callID": {}}}, {"type": "tool_use"}),
        {"type": "step_finish", "part": {"tokens": {"input": "9", "output": -1, "cache": 3}}},
    ],
)
def test_strange_events_are_tolerated(strange: object) -> None:
    report, _ = play(told(strange, {"type": "step_finish", "part": {"reason": "stop", "tokens": None}}))
    assert report.outcome is None


def test_an_agent_that_talks_without_end_does_not_fill_our_memory() -> None:
    rule = {"status": "error", "error": "The user has specified a rule which prevents you"}
    denied = {"type": "tool_use", "part": {"tool": "x" * 500, "state": rule}}
    unknown = [{"type": f"new.{number}"} for number in range(500)]
    report, events = play(told(*([denied] * 500), *unknown))
    assert len(report.denials) == 100
    assert len(report.warnings[0]) < 2000
    assert max(len(event.tool) for event in events if isinstance(event, UsedTool)) <= 70
