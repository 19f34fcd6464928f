"""What signs an agent in goes to its service over https, or to this machine itself."""

from __future__ import annotations

from pathlib import Path

import pytest

from autopilot.config.load import load
from autopilot.config.paths import paths_below
from autopilot.daemon.checkup import configured
from autopilot.runner.in_clear import refuse_in_clear
from autopilot.schemas.errors import ConfigError
from autopilot.schemas.run import AgentSpec

REAL = "sk-real-credential-0815"
FAR = ("http://gateway.lan:8080/v1", "http://10.0.0.4", "HTTP://models.example", "http://localhost.lan")
FINE = ("https://gateway.lan", "http://127.0.0.1:4000", "http://localhost:4000/v1", "http://[::1]:4000")
KEYS = {
    "claude": "ANTHROPIC_API_KEY",
    "codex": "OPENAI_API_KEY",
    "gemini": "GEMINI_API_KEY",
    "copilot": "COPILOT_PROVIDER_API_KEY",
    "opencode": "ANTHROPIC_API_KEY",
}


def agent(kind: str, url: str, broker: str) -> AgentSpec:
    return AgentSpec.model_validate(
        {"name": "it", "kind": kind, "api": (url,), "broker": broker, "model": "anthropic/m"}
    )


@pytest.mark.covers("I01")
@pytest.mark.parametrize("broker", ["auto", "off"])
@pytest.mark.parametrize("url", FAR)
@pytest.mark.parametrize(("kind", "key"), KEYS.items())
def test_a_key_goes_over_http_to_no_other_machine(kind: str, key: str, url: str, broker: str) -> None:
    if (kind, broker) == ("codex", "auto"):
        return  # its key goes to the vendor's own address, whatever else the agent may reach
    spec = agent(kind, url, broker)
    environment = {key: REAL, "ANTHROPIC_BASE_URL": url, "GOOGLE_GEMINI_BASE_URL": url}
    environment["COPILOT_PROVIDER_BASE_URL"] = url
    with pytest.raises(ConfigError) as refused:
        refuse_in_clear(spec, environment)
    assert refused.value.code == "service-in-clear"
    assert key in refused.value.what
    assert "it https" in refused.value.hint
    assert REAL not in f"{refused.value} {refused.value.hint}"
    refuse_in_clear(spec, {name: value for name, value in environment.items() if name != key})


@pytest.mark.parametrize("broker", ["auto", "off"])
@pytest.mark.parametrize("url", FINE)
@pytest.mark.parametrize(("kind", "key"), KEYS.items())
def test_encrypted_or_to_this_machine_it_may_go(kind: str, key: str, url: str, broker: str) -> None:
    environment = {key: REAL, "ANTHROPIC_BASE_URL": url, "GOOGLE_GEMINI_BASE_URL": url}
    refuse_in_clear(agent(kind, url, broker), {**environment, "COPILOT_PROVIDER_BASE_URL": url})


@pytest.mark.parametrize(
    ("value", "is_refused"), [(REAL, True), ("/home/bot/models", False), ("yes", False), ("8080", False)]
)
def test_a_program_of_the_operator_may_ask_a_neighbour_with_what_is_no_key(
    value: str, *, is_refused: bool
) -> None:
    spec = AgentSpec(
        name="mine", kind="command", argv=("x",), api=("http://models.lan:11434",), env_pass=("WHAT_IT_IS",)
    )
    if not is_refused:
        return refuse_in_clear(spec, {"WHAT_IT_IS": value})
    with pytest.raises(ConfigError, match="service-in-clear"):
        refuse_in_clear(spec, {"WHAT_IT_IS": value})
    return None


def test_the_check_up_is_a_no_go_with_the_way_out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ANTHROPIC_API_KEY", REAL)
    (tmp_path / "config.toml").write_text('[agents.claude]\nkind = "claude"\n')
    monkeypatch.setenv("ANTHROPIC_BASE_URL", "http://gateway.lan")
    (check,) = configured.key_kept("claude", load(paths_below(tmp_path)))
    assert check.blocks
    assert "gateway.lan:80" in check.evidence
    assert "make it https" in check.cure
