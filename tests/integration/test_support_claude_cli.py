"""Real Claude Code plays a scripted scenario against the loopback model."""

import json
import subprocess
import threading
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from tests.support import claude_cli
from tests.support.fixtures import MakeModel
from tests.support.inner_pytest import run_pytest
from tests.support.npm_cli import ClientUnavailableError
from tests.support.projects import python_project
from tests.support.repos import make_repo
from tests.support.scenarios import library

pytestmark = [
    pytest.mark.needs(binary="node", apt="nodejs"),
    pytest.mark.needs(binary="npm", apt="npm"),
    pytest.mark.timeout(300),
]
ALLOWED = json.dumps({"permissions": {"allow": ["Bash(python3 -m unittest:*)"]}})


def run_client(
    program: Path, prompt: str, folder: Path, env: dict[str, str], options: Sequence[str] = ()
) -> tuple[int, list[dict[str, Any]]]:
    done = subprocess.run(
        [program, "-p", prompt, "--output-format", "stream-json", "--verbose", *options],
        cwd=folder,
        env=env,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=100,
        check=False,
    )
    return done.returncode, [json.loads(line) for line in done.stdout.splitlines()]


def test_the_real_client_edits_a_file_and_reports_its_cost(
    claude_binary: Path, make_model: MakeModel, tmp_path: Path
) -> None:
    project = python_project()
    repo = make_repo(tmp_path, project=project)
    model = make_model(library.read_edit_test_finish(project, when="no cent"))
    code, events = run_client(
        claude_binary,
        "Make sure that no cent is lost.",
        repo.checkout,
        claude_cli.client_environment(model.url, tmp_path / "home"),
        ["--permission-mode", "acceptEdits", "--model", "claude-sonnet-4-5", "--settings", ALLOWED],
    )
    result = events[-1]
    assert (code, result["type"], result["subtype"]) == (0, "result", "success")
    assert result["total_cost_usd"] > 0
    assert result["permission_denials"] == []
    assert (repo.checkout / project.broken_path).read_text() == project.fixed_file()
    assert [request.step for request in model.requests()] == [0, 1, 2, 3]
    assert events[0]["claude_code_version"] == claude_cli.VERSION
    assert "OK" in json.dumps([event for event in events if event["type"] == "user"][-1])


def test_the_real_client_reports_an_overloaded_model_as_an_error(
    claude_binary: Path, make_model: MakeModel, tmp_path: Path
) -> None:
    model = make_model(library.overloaded())
    env = claude_cli.client_environment(model.url, tmp_path / "home")
    code, events = run_client(claude_binary, "go", tmp_path, env | {"CLAUDE_CODE_MAX_RETRIES": "1"})
    assert (code, events[-1]["is_error"], events[-1]["api_error_status"]) == (1, True, 529)
    assert "api_retry" in {event.get("subtype") for event in events}


def test_two_processes_that_ask_at_once_get_the_same_program(claude_binary: Path) -> None:
    found: list[Path] = []
    threads = [threading.Thread(target=lambda: found.append(claude_cli.CLAUDE.binary())) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == [claude_binary, claude_binary]


def test_without_npm_the_client_is_unavailable_and_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(ClientUnavailableError, match="npm is not on PATH"):
        claude_cli.CLAUDE.binary(tmp_path / "cache")


def test_a_failed_install_is_no_install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    npm = tmp_path / "bin" / "npm"
    npm.parent.mkdir()
    npm.write_text("#!/bin/sh\necho 'npm error code ENOTFOUND' >&2\nexit 1\n")
    npm.chmod(0o755)
    monkeypatch.setenv("PATH", f"{npm.parent}:/usr/bin:/bin")
    with pytest.raises(ClientUnavailableError, match="npm: npm error code ENOTFOUND"):
        claude_cli.CLAUDE.binary(tmp_path / "cache")
    assert [path.suffix for path in (tmp_path / "cache").iterdir()] == [".lock"]


@pytest.mark.parametrize(("ci", "verdict"), [("", "1 skipped"), ("true", "1 error")])
def test_a_client_that_cannot_be_had_is_skipped_here_and_an_error_in_ci(
    tmp_path: Path, ci: str, verdict: str
) -> None:
    done = run_pytest(
        tmp_path,
        "def test_with_the_client(claude_binary): ...\n",
        "-p",
        "tests.support.fixtures",
        "-rs",
        environment={"CI": ci, "PATH": str(tmp_path), "XDG_CACHE_HOME": str(tmp_path)},
    )
    assert verdict in done.stdout
    assert f"Claude Code {claude_cli.VERSION} cannot be installed: npm is not on PATH" in done.stdout
