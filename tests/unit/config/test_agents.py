"""The table of an agent: which keys belong together."""

from __future__ import annotations

from pathlib import Path

import pytest

from autopilot.config.load import load
from autopilot.config.paths import paths_below
from autopilot.schemas.errors import ConfigError
from autopilot.schemas.run import AgentSpec

OWN = 'kind = "command"\nargv = ["/bin/x"]\n'
NAMED = 'base_url_env = "MY_SERVICE"\nkey_env = "MY_KEY"\n'
API = 'api = ["https://api.example/v1"]\n'


def agent(home: Path, text: str) -> AgentSpec:
    (home / "config.toml").write_text(f"[agents.mine]\n{text}")
    return load(paths_below(home)).agent("mine")


def test_a_program_can_be_told_where_to_ask_and_with_what(tmp_path: Path) -> None:
    spec = agent(tmp_path, OWN + NAMED + API)
    assert (spec.broker, spec.base_url_env, spec.key_env) == ("auto", "MY_SERVICE", "MY_KEY")


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (OWN + API + 'key_env = "MY_KEY"\n', "needs both base_url_env and key_env"),
        (OWN + API + 'base_url_env = "MY_SERVICE"\n', "needs both base_url_env and key_env"),
        (OWN + NAMED, "needs one address in api"),
        (OWN + NAMED + 'api = ["https://a.example", "https://b.example"]\n', "needs one address in api"),
        (OWN + NAMED + 'api = ["http://models.lan/v1"]\n', "it must be https"),
        (OWN + NAMED + 'api = ["http://10.0.0.4:8080"]\n', "it must be https"),
        ('kind = "claude"\n' + NAMED + API, "the adapter claude knows itself"),
        (OWN + 'broker = "on"\n', "broker"),
    ],
)
def test_what_does_not_belong_together_is_refused_with_the_way_out(
    tmp_path: Path, text: str, said: str
) -> None:
    with pytest.raises(ConfigError) as refused:
        agent(tmp_path, text)
    assert said in str(refused.value)


def test_settings_of_before_the_broker_load_and_have_it(tmp_path: Path) -> None:
    assert agent(tmp_path, 'kind = "claude"\n').broker == "auto"
    old = '{"name": "claude", "kind": "claude", "argv": [], "env_pass": ["X"], "api": []}'
    assert AgentSpec.model_validate_json(old).broker == "auto"
