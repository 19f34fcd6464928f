"""Whether an agent could sign in is known before the night, not after it."""

from __future__ import annotations

from pathlib import Path

import pytest

from autopilot.config.load import load
from autopilot.config.paths import paths_below
from autopilot.config.settings import Settings
from autopilot.daemon.checkup import configured


def settings(home: Path, *, env_pass: str = "") -> Settings:
    client = home / "bin" / "claude"
    client.parent.mkdir()
    client.write_text("#!/bin/sh\n")
    client.chmod(0o755)
    (home / "config.toml").write_text(f'[agents.claude]\nargv = ["{client}"]\nenv_pass = [{env_pass}]\n')
    return load(paths_below(home))


@pytest.fixture(autouse=True)
def _no_account(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN", "CLAUDE_CODE_OAUTH_TOKEN", "AWS_PROFILE"):
        monkeypatch.delenv(name, raising=False)


def test_a_client_without_any_account_blocks_the_night(tmp_path: Path) -> None:
    check = configured.agent("claude", settings(tmp_path))
    assert check.blocks
    assert "ANTHROPIC_API_KEY" in check.cure


@pytest.mark.parametrize(
    ("name", "env_pass"),
    [
        ("ANTHROPIC_API_KEY", ""),
        ("CLAUDE_CODE_OAUTH_TOKEN", ""),
        ("AWS_PROFILE", '"AWS_PROFILE"'),
    ],
)
def test_each_way_to_sign_in_is_enough(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, env_pass: str
) -> None:
    monkeypatch.setenv(name, "made-up")
    assert not configured.agent("claude", settings(tmp_path, env_pass=env_pass)).blocks


def test_a_login_of_the_persons_own_is_not_one_of_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CLAUDE_CONFIG_DIR", "/home/person/.claude")
    assert configured.agent("claude", settings(tmp_path, env_pass='"CLAUDE_CONFIG_DIR"')).blocks


def test_a_variable_that_the_agent_would_not_see_is_not_enough(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AWS_PROFILE", "work")
    assert configured.agent("claude", settings(tmp_path)).blocks


@pytest.mark.parametrize(
    ("extra", "cell", "is_kept"),
    [("", "", True), ('broker = "off"\n', "", False), ("", '[sandbox]\nkind = "none"\n', False)],
)
def test_where_the_credential_is_during_a_run_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, extra: str, cell: str, *, is_kept: bool
) -> None:
    monkeypatch.setenv("ANTHROPIC_API_KEY", "made-up")
    settings(tmp_path)
    written = tmp_path / "config.toml"
    written.write_text(f"{written.read_text()}{extra}{cell}")
    (check,) = configured.key_kept("claude", load(paths_below(tmp_path)))
    assert (check.name, check.blocks) == ("key of claude", False)
    assert ("stays outside of its cell" in check.evidence) is is_kept
    assert "ANTHROPIC_API_KEY" in check.evidence
    assert "made-up" not in check.evidence


def test_nothing_is_told_of_a_credential_that_is_not_there(tmp_path: Path) -> None:
    assert list(configured.key_kept("claude", settings(tmp_path))) == []
