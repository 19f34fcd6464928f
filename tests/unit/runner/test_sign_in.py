"""Which sign-ins can stay outside of a cell, and what is put in their place."""

from __future__ import annotations

import h11
import pytest

from autopilot.runner.agents.opencode_provider import PROVIDERS
from autopilot.runner.agents.registry import sign_in
from autopilot.runner.agents.sign_in import Inside, Outside
from autopilot.runner.network.names import Refusal
from autopilot.runner.network.plan import agent_policy
from autopilot.runner.network.policy import Asked
from autopilot.runner.stand_ins import StandIns, stand_ins
from autopilot.schemas.errors import ConfigError
from autopilot.schemas.network import NetworkSpec
from autopilot.schemas.run import AgentSpec

REAL = "sk-real-credential-0815"
CLAUDE = AgentSpec(name="claude", kind="claude")
OWN = AgentSpec(
    name="mine",
    kind="command",
    argv=("x",),
    api=("https://api.example/v1",),
    base_url_env="MY_SERVICE",
    key_env="MY_KEY",
)


def made(spec: AgentSpec, environment: dict[str, str]) -> StandIns:
    found = stand_ins(spec, environment)
    assert found is not None
    return found


@pytest.mark.parametrize("name", ["ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN", "CLAUDE_CODE_OAUTH_TOKEN"])
def test_each_sign_in_of_claude_code_stays_outside(name: str) -> None:
    known = made(CLAUDE, {name: REAL})
    assert (known.endpoint.target.host, known.endpoint.is_tls) == ("api.anthropic.com", True)
    inside = known.cover({name: REAL, "PATH": "/bin", "COPY": f"x{REAL}x"}, "http://127.0.0.1:3128")
    assert set(inside) == {name, "PATH", "ANTHROPIC_BASE_URL"}
    assert REAL not in repr(inside)
    assert inside["ANTHROPIC_BASE_URL"] == "http://127.0.0.1:3128"


def test_several_credentials_have_each_a_stand_in_of_their_own() -> None:
    environment = {"ANTHROPIC_API_KEY": REAL, "CLAUDE_CODE_OAUTH_TOKEN": f"{REAL}-2"}
    known = made(CLAUDE, environment)
    assert len(set(known.words.values())) == 2
    assert {key.value for key in known.broker(1).keys} == set(environment.values())


def test_a_stand_in_is_new_each_time_and_nobody_guesses_it() -> None:
    words = {made(CLAUDE, {"ANTHROPIC_API_KEY": REAL}).words["ANTHROPIC_API_KEY"] for _ in range(20)}
    assert len(words) == 20
    assert min(map(len, words)) > 48


def test_no_credential_is_shown_by_what_holds_it() -> None:
    known = made(CLAUDE, {"ANTHROPIC_API_KEY": REAL})
    assert REAL not in repr(known)
    assert REAL not in repr(known.broker(3128))


def test_the_address_of_the_operator_is_taken_with_its_path() -> None:
    environment = {"ANTHROPIC_API_KEY": REAL, "ANTHROPIC_BASE_URL": "http://gateway.lan:8080/anthropic/"}
    broker = made(CLAUDE, environment).broker(3128)
    assert broker.base_url == "http://127.0.0.1:3128/anthropic"
    assert (str(broker.endpoint.target), broker.endpoint.is_tls) == ("gateway.lan:8080", False)
    assert broker.endpoint.may_be_near


@pytest.mark.parametrize("path", ["//a", "/a//b", "/a/../b", "/%61", "/a b", "/.."])
def test_a_path_that_can_be_read_in_two_ways_is_refused(path: str) -> None:
    with pytest.raises(ConfigError, match="service-unreadable"):
        stand_ins(CLAUDE, {"ANTHROPIC_API_KEY": REAL, "ANTHROPIC_BASE_URL": f"http://gateway.lan{path}"})


def test_an_address_that_is_not_in_the_operators_list_is_known_as_such() -> None:
    listed = CLAUDE.model_copy(update={"api": ("https://gateway.lan",)})
    assert not made(listed, {"ANTHROPIC_API_KEY": REAL}).is_listed
    here = {"ANTHROPIC_API_KEY": REAL, "ANTHROPIC_BASE_URL": "https://gateway.lan"}
    assert made(listed, here).is_listed


def test_with_the_broker_off_or_another_provider_it_goes_inside_and_this_is_said() -> None:
    off = sign_in(CLAUDE.model_copy(update={"broker": "off"}), {"ANTHROPIC_API_KEY": REAL})
    assert off == Inside(("ANTHROPIC_API_KEY",), 'broker = "off"', 'set broker = "auto" for the agent')
    bedrock = CLAUDE.model_copy(update={"env_pass": ("CLAUDE_CODE_USE_BEDROCK", "AWS_PROFILE")})
    found = sign_in(bedrock, {"CLAUDE_CODE_USE_BEDROCK": "1", "AWS_PROFILE": "night"})
    assert isinstance(found, Inside)
    assert "AWS_PROFILE" in found.variables
    assert sign_in(CLAUDE, {}) is None


def test_a_program_of_the_operators_is_told_by_the_variables_that_are_named() -> None:
    found = sign_in(OWN, {"MY_KEY": REAL})
    assert isinstance(found, Outside)
    assert (found.url, found.base_variable, list(found.keys)) == (
        "https://api.example/v1",
        "MY_SERVICE",
        ["MY_KEY"],
    )
    unnamed = OWN.model_copy(update={"base_url_env": None, "key_env": None, "env_pass": ("MY_KEY",)})
    assert isinstance(sign_in(unnamed, {"MY_KEY": REAL}), Inside)
    assert sign_in(unnamed, {}) is None


def test_what_the_broker_reaches_is_reached_in_no_other_way() -> None:
    known = made(CLAUDE, {"ANTHROPIC_API_KEY": REAL})
    network = NetworkSpec(static_hosts=("api.anthropic.com", "docs.example"))
    policy = agent_policy(network, ("https://api.anthropic.com",), brokered=known.endpoint)
    for target in ("api.anthropic.com:443", "api.anthropic.com:80", "API.Anthropic.com:443"):
        refused = policy.judge(Asked(method="CONNECT", target=target, hosts=(target,)))
        assert isinstance(refused, Refusal)
        assert refused.code == "brokered"
    assert policy.names == ("docs.example",)


def test_a_service_on_this_machine_is_no_port_of_the_cell_either() -> None:
    here = {"ANTHROPIC_API_KEY": REAL, "ANTHROPIC_BASE_URL": "http://localhost:4000"}
    known = made(CLAUDE, here)
    assert agent_policy(NetworkSpec(), ("http://localhost:4000",), brokered=known.endpoint).endpoints == ()


CODEX = AgentSpec(name="codex", kind="codex")


@pytest.mark.parametrize("name", ["CODEX_API_KEY", "OPENAI_API_KEY"])
def test_a_key_of_codex_stays_outside_and_no_other_sign_in_goes_in(name: str) -> None:
    environment = {name: REAL}
    if name == "CODEX_API_KEY":  # which the client prefers
        environment["CODEX_ACCESS_TOKEN"] = "chatgpt-token"
    known = made(CODEX, environment)
    assert known.broker(3128).base_url == "http://127.0.0.1:3128/v1"
    inside = known.cover({**environment, "OPENAI_BASE_URL": "https://api.openai.com/v1"}, "unused")
    assert inside == {"CODEX_API_KEY": known.words["CODEX_API_KEY"]}
    assert known.outside.variables == (name,)


def test_a_chatgpt_sign_in_goes_inside_and_this_is_said() -> None:
    found = sign_in(CODEX, {"CODEX_ACCESS_TOKEN": "chatgpt-token", "OPENAI_API_KEY": REAL})
    assert isinstance(found, Inside)
    assert found.variables == ("CODEX_ACCESS_TOKEN",)
    assert "CODEX_API_KEY" in found.hint


def test_the_key_of_a_provider_in_the_arguments_stays_outside_where_both_are_plain() -> None:
    table = 'model_providers.mine={base_url = "https://api.example/v1", env_key = "MY_KEY"}'
    argv = ("codex", "-c", "model_provider=mine", "-c", table)
    mine = CODEX.model_copy(update={"argv": argv, "env_pass": ("MY_KEY",), "api": ("https://api.example",)})
    known = made(mine, {"MY_KEY": REAL})
    assert (known.is_listed, list(known.words)) == (True, ["MY_KEY"])
    assert not made(mine.model_copy(update={"api": ()}), {"MY_KEY": REAL}).is_listed
    assert isinstance(sign_in(mine.model_copy(update={"argv": argv[:3]}), {"MY_KEY": REAL}), Inside)


def test_no_other_host_of_the_vendor_is_a_way_around_the_broker() -> None:
    known = made(CODEX, {"CODEX_API_KEY": REAL})
    assert agent_policy(NetworkSpec(), CODEX.api, brokered=known.endpoint).endpoints == ()
    own = ("http://api.openai.com", "https://api.openai.com:8443", "https://other.example")
    policy = agent_policy(NetworkSpec(), own, brokered=known.endpoint)
    assert policy.names == ("other.example",)


GEMINI = AgentSpec(name="gemini", kind="gemini")


@pytest.mark.parametrize("base", ["", "http://127.0.0.1:4000"])
def test_the_key_of_gemini_cli_stays_outside(base: str) -> None:
    environment = {"GEMINI_API_KEY": REAL, **({"GOOGLE_GEMINI_BASE_URL": base} if base else {})}
    found = sign_in(GEMINI, environment)
    assert isinstance(found, Outside)
    assert found.url == (base or "https://generativelanguage.googleapis.com")
    known = made(GEMINI, environment)
    inside = known.cover(environment, known.broker(3128).base_url)
    assert inside["GEMINI_API_KEY"] == known.words["GEMINI_API_KEY"]
    assert inside["GOOGLE_GEMINI_BASE_URL"] == "http://127.0.0.1:3128"
    assert sign_in(GEMINI, {}) is None


@pytest.mark.parametrize(
    ("method", "path", "passes"),
    [
        ("POST", "/v1beta/models/gemini-2.5-pro:streamGenerateContent?alt=sse", True),
        ("POST", "/v1beta/models/gemini-2.5-pro:countTokens", True),
        ("GET", "/v1beta/models", True),
        ("GET", "/v1beta/models/gemini-2.5-pro:streamGenerateContent", False),
        ("POST", "/v1beta/models/gemini-2.5-pro:batchGenerateContent", False),
        ("POST", "/v1beta/tunedModels/x:generateContent", False),
        ("POST", "/upload/v1beta/files", False),
        ("GET", "/v1beta/files", False),
        ("POST", "/v1beta/cachedContents", False),
        ("GET", "/v1beta/models?pageSize=50&pageToken=x", True),
        ("POST", "/v1beta/models/gemini-2.5-pro:generateContent?key=AIzaOfSomebodyElse", False),
        ("POST", "/v1beta/models/gemini-2.5-pro:generateContent?alt=sse&key=AIzaOfSomebodyElse", False),
        ("POST", "/v1beta/models/gemini-2.5-pro:generateContent?%6bey=AIzaOfSomebodyElse", False),
        ("POST", "/v1beta/models/gemini-2.5-pro:generateContent?access_token=ya29.OfSomebodyElse", False),
        ("POST", "/v1beta/models/gemini-2.5-pro:generateContent?$httpHeaders=x", False),
        ("GET", "/v1beta/models?key=AIzaOfSomebodyElse", False),
    ],
)
def test_of_the_gemini_api_only_messages_and_models_are_reached(
    method: str, path: str, *, passes: bool
) -> None:
    known = made(GEMINI, {"GEMINI_API_KEY": REAL})
    headers = [
        ("Host", "127.0.0.1:3128"),
        ("x-goog-api-key", known.words["GEMINI_API_KEY"]),
        ("x-goog-api-client", "google-genai-sdk/1.30.0"),
        ("x-goog-user-project", "of-somebody-else"),
    ]
    judged = known.broker(3128).judge(h11.Request(method=method, target=path, headers=headers))
    assert isinstance(judged, h11.Request) is passes
    if isinstance(judged, h11.Request):
        google = [(name, value) for name, value in judged.headers if name.startswith(b"x-goog-")]
        client = (b"x-goog-api-client", b"google-genai-sdk/1.30.0")
        assert google == [(b"x-goog-api-key", REAL.encode()), client]


def test_a_length_in_another_spelling_does_not_go_to_the_service() -> None:
    """A gateway that reads `_` as `-` would see another end of the body, and behind it another request."""
    known = made(CODEX, {"CODEX_API_KEY": REAL})
    headers = [
        *(("Host", "127.0.0.1:3128"), ("Content-Length", "4")),
        *(("Content_Length", "0"), ("Transfer_Encoding", "chunked")),
        ("Authorization", f"Bearer {known.words['CODEX_API_KEY']}"),
    ]
    judged = known.broker(3128).judge(h11.Request(method="POST", target="/v1/responses", headers=headers))
    assert isinstance(judged, h11.Request)
    lengths = [(name, value) for name, value in judged.headers if b"length" in name or b"encoding" in name]
    assert lengths == [(b"content-length", b"4")]


def test_codex_may_say_which_release_asks_for_models() -> None:
    known = made(CODEX, {"CODEX_API_KEY": REAL})
    headers = [("Host", "127.0.0.1:3128"), ("Authorization", f"Bearer {known.words['CODEX_API_KEY']}")]
    for query, passes in (("client_version=0.56.0", True), ("api-version=preview", True), ("key=x", False)):
        asked = h11.Request(method="GET", target=f"/v1/models?{query}", headers=headers)
        assert isinstance(known.broker(3128).judge(asked), h11.Request) is passes


@pytest.mark.parametrize(
    ("model", "key", "url"),
    [
        ("anthropic/claude", "ANTHROPIC_API_KEY", "https://api.anthropic.com"),
        ("openai/gpt", "OPENAI_API_KEY", "https://api.openai.com/v1"),
    ],
)
def test_the_key_of_opencode_is_that_of_its_models_provider_and_stays_outside(
    model: str, key: str, url: str
) -> None:
    both = {"ANTHROPIC_API_KEY": "sk-of-the-other-1", "OPENAI_API_KEY": "sk-of-the-other-2", key: REAL}
    spec = AgentSpec(name="opencode", kind="opencode", model=model)
    found = sign_in(spec, both)
    assert isinstance(found, Outside)
    assert found.url == url
    known = made(spec, both)
    assert known.is_listed
    assert known.cover(both, "unused") == {key: known.words[key]}
    assert sign_in(spec, {}) is None
    assert sign_in(spec.model_copy(update={"model": None}), both) is None
    elsewhere = sign_in(spec.model_copy(update={"api": ("https://a.example/x",)}), both)
    assert isinstance(elsewhere, Outside)
    assert elsewhere.url == "https://a.example/x"


def test_opencode_is_told_an_address_with_the_version_of_its_api() -> None:
    anthropic, openai = PROVIDERS["anthropic"], PROVIDERS["openai"]
    assert anthropic.base_url("http://127.0.0.1:3128", ()) == "http://127.0.0.1:3128/v1"
    assert openai.base_url("http://127.0.0.1:3128/v1", ()) == "http://127.0.0.1:3128/v1"
    assert anthropic.base_url(None, ()) == "https://api.anthropic.com/v1"
    assert openai.base_url(None, ("https://a.example/x",)) == "https://a.example/x"


@pytest.mark.parametrize("base", ["", "http://127.0.0.1:4000"])
def test_the_key_of_copilot_cli_stays_outside(base: str) -> None:
    spec = AgentSpec(name="copilot", kind="copilot", model="m")
    environment = {"COPILOT_PROVIDER_API_KEY": REAL, **({"COPILOT_PROVIDER_BASE_URL": base} if base else {})}
    known = made(spec, environment)
    assert known.outside.url == (base or "https://api.anthropic.com")
    inside = known.cover(environment, known.broker(3128).base_url)
    assert inside["COPILOT_PROVIDER_BASE_URL"] == "http://127.0.0.1:3128"
    assert REAL not in repr(inside)
    assert sign_in(spec, {"GITHUB_TOKEN": REAL}) is None
