"""Whole runs through the key broker: what the agent reaches with what it was given, and who is told."""

from __future__ import annotations

from pathlib import Path

import pytest

from autopilot.config.clock import SystemClock
from autopilot.runner.sandbox.missing import Missing
from autopilot.runner.sandbox.registry import open_sandbox
from autopilot.schemas.cell import SandboxSpec
from autopilot.schemas.run import AgentSpec, Outcome, RunSpec
from tests.support import codex_cli
from tests.support.fixtures import MakeModel
from tests.support.repos import Repo
from tests.support.runs import OPEN, Host, events_of, run_here
from tests.support.scenarios import library
from tests.support.scenarios.steps import Scenario
from tests.support.small_net import Pages
from tests.support.small_project import small_repo

pytestmark = [pytest.mark.needs(binary="bwrap", apt="bubblewrap"), pytest.mark.timeout(300)]
KEY = "real-credential-of-the-operator-0815"
ASK = """
import os, urllib.error, urllib.request
base, key = os.environ["MY_SERVICE"], os.environ["MY_KEY"]
print("sees", key)
def ask(path, key, data=b"{}"):
    request = urllib.request.Request(base + path, data, {"x-api-key": key})
    try:
        with urllib.request.urlopen(request, timeout=20) as page:
            print(page.status, page.read().decode())
    except urllib.error.HTTPError as refused:
        print(refused.code, refused.headers.get("X-Autopilot-Refused"))
ask("/v1/messages", key)
ask("/v1/messages", "sk-of-somebody-else")
ask("/v1/files", key)
"""
STEPS: list[dict[str, object]] = [
    {"write": {"path": "ask.py", "text": ASK}},
    {"run": ["sh", "-c", "python3 -I ask.py > said.txt 2>&1; rm ask.py"]},
    {"write": {"path": "answer.txt", "text": "right\n"}},
]


@pytest.fixture
def small(tmp_path: Path) -> Repo:
    return small_repo(tmp_path / "theirs")


def asking(host: Host, url: str, **changes: object) -> AgentSpec:
    named = {"api": (url,), "base_url_env": "MY_SERVICE", "key_env": "MY_KEY", **changes}
    return host.agent(STEPS).model_copy(update=named)


def said(spec: RunSpec) -> list[str]:
    return (spec.worktree / "said.txt").read_text(encoding="utf-8").splitlines()


@pytest.mark.parametrize("kind", ["bubblewrap", "landlock"])
def test_an_agent_without_its_key_is_answered_and_what_else_it_tries_is_told(
    host: Host, small: Repo, monkeypatch: pytest.MonkeyPatch, kind: str
) -> None:
    cell = SandboxSpec(kind=kind)  # type: ignore[arg-type]
    if isinstance(sandbox := open_sandbox(cell, SystemClock()), Missing):
        pytest.skip(sandbox.why)
    monkeypatch.setenv("MY_KEY", KEY)
    with Pages() as service:
        spec = host.spec(small, asking(host, service.url), sandbox=cell)
        result = run_here(spec)
        assert result.outcome is Outcome.COMMITTED, result.message
        sees, *answers = said(spec)
        assert answers == ["200 POST /v1/messages 2", "403 key", "403 path"]
        assert sees.startswith("sees autopilot-")
        assert [headers["x-api-key"] for _, _, headers, _ in service.asked] == [KEY]
    told = [(each.by, each.what, each.code) for each in result.blocked]
    there = f"127.0.0.1:{service.server_port}"
    assert told == [
        ("network", f"POST {there}/v1/messages", "key"),
        ("network", f"POST {there}/v1/files", "path"),
    ]
    assert [event["path"] for event in events_of(spec, "network.refused")] == ["/v1/messages", "/v1/files"]
    assert _holders(host.state, KEY) == []
    (ended,) = events_of(spec, "agent.finished")
    counted = {name: ended[name] for name in ("calls", "calls_failed", "calls_unanswered")}
    assert counted == {"calls": {"POST /v1/messages": 1}, "calls_failed": 0, "calls_unanswered": 0}
    assert isinstance(ended["turns"], int)


@pytest.mark.parametrize("without", ["broker", "cell"])
def test_without_the_broker_or_a_cell_the_key_goes_inside_as_before(
    host: Host, small: Repo, monkeypatch: pytest.MonkeyPatch, without: str
) -> None:
    monkeypatch.setenv("MY_KEY", KEY)
    with Pages() as service:
        agent = asking(host, service.url, broker="off" if without == "broker" else "auto")
        spec = host.spec(small, agent, sandbox=OPEN if without == "cell" else SandboxSpec())
        assert run_here(spec).outcome is Outcome.COMMITTED
        assert said(spec)[0] == f"sees {KEY}"
        assert service.asked[0][2]["x-api-key"] == KEY
    assert "calls" not in events_of(spec, "agent.finished")[0]


def _holders(folder: Path, text: str) -> list[Path]:
    files = [path for path in folder.rglob("*") if path.is_file() and not path.is_symlink()]
    return [path for path in files if text.encode() in path.read_bytes()]


@pytest.mark.slow
@pytest.mark.needs(binary="node", apt="nodejs")
@pytest.mark.needs(binary="npm", apt="npm")
@pytest.mark.parametrize(
    ("scenario", "code"),
    [
        (library.rate_limited(), "agent-rate-limited"),
        (library.overloaded(), "agent-service-down"),
        (library.server_error(), "agent-service-down"),
        (library.forbidden(), "agent-not-authenticated"),
        (library.usage_limit(), "agent-usage-limit"),
    ],
    ids=["429", "529", "500", "403", "window"],
)
def test_what_the_service_says_of_claude_codes_account_arrives_as_it_was_said(
    host: Host,
    small: Repo,
    make_model: MakeModel,
    claude_binary: Path,
    monkeypatch: pytest.MonkeyPatch,
    *,
    scenario: Scenario,
    code: str,
) -> None:
    model = make_model(scenario)
    monkeypatch.setenv("ANTHROPIC_BASE_URL", model.url)
    monkeypatch.setenv("CLAUDE_CODE_OAUTH_TOKEN", KEY)
    monkeypatch.setenv("CLAUDE_CODE_MAX_RETRIES", "1")
    agent = AgentSpec(
        name="claude",
        kind="claude",
        argv=(str(claude_binary),),
        model="claude-sonnet-4-5",
        env_pass=("CLAUDE_CODE_MAX_RETRIES",),
    )
    spec = host.spec(small, agent)
    result = run_here(spec)
    assert result.code == code, (result.message, (spec.run_dir / "agent-1.log").read_text()[-2000:])
    assert model.requests()
    assert result.blocked == ()


@pytest.mark.slow
@pytest.mark.needs(binary="node", apt="nodejs")
@pytest.mark.needs(binary="npm", apt="npm")
@pytest.mark.parametrize("name", ["claude", "codex"])
def test_a_run_that_is_stopped_while_its_service_thinks_ends_at_once(
    host: Host, small: Repo, make_model: MakeModel, request: pytest.FixtureRequest, name: str
) -> None:
    monkeypatch: pytest.MonkeyPatch = request.getfixturevalue("monkeypatch")
    binary: Path = request.getfixturevalue(f"{name}_binary")
    model = make_model(library.hang())
    monkeypatch.setenv("ANTHROPIC_BASE_URL", model.url)
    monkeypatch.setenv("ANTHROPIC_API_KEY" if name == "claude" else codex_cli.KEY_VARIABLE, KEY)
    argv = (str(binary),) if name == "claude" else codex_cli.client_argv(binary, model.url)
    agent = AgentSpec(name=name, kind=name, argv=argv, api=(model.url,))
    spec = host.spec(small, agent)
    result = run_here(spec, stop=lambda: "cancelled" if model.requests() else None)
    assert result.outcome is Outcome.STOPPED, result.message
    assert len(model.requests()) == 1
