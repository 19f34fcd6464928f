from __future__ import annotations

import os
from pathlib import Path

import pytest

from autopilot.config import environ

HOME = Path("/private/home")
# Credentials are put together here so that no scanner takes this file for a leak.
FAKE_TOKEN = "gh" + "p_" + "a1B2" * 9

CREDENTIAL_NAMES = [
    "NPM_TOKEN", "MY_SECRET", "DB_PASSWORD", "PASSWD", "pgpassword", "STRIPE_API_KEY", "apikey", "API-KEY",
    "GOOGLE_APPLICATION_CREDENTIALS", "HTTP_AUTH", "AUTHORIZATION", "PRIVATE_KEY", "PRIVATE-KEY",
    "SESSION_ID", "COOKIE_JAR", "SENTRY_DSN", "DATABASE_URL", "AZURE_CONNECTION_STRING", "GITLAB_PAT",
    "AWS_REGION", "GH_HOST", "GITHUB_ACTOR",
]  # fmt: skip
NEVER_NAMES = [
    "GIT_DIR", "GIT_INDEX_FILE", "GIT_SSH_COMMAND", "LD_PRELOAD", "LD_LIBRARY_PATH",
    "DYLD_INSERT_LIBRARIES", "PYTHONPATH", "PYTHONSTARTUP", "PYTHONHOME", "NODE_OPTIONS", "NODE_PATH",
    "BASH_ENV", "ENV", "BASH_FUNC_x%%", "PERL5OPT", "RUBYOPT", "JAVA_TOOL_OPTIONS", "_JAVA_OPTIONS",
    "PROMPT_COMMAND", "SHELLOPTS", "IFS", "CDPATH", "SSH_AUTH_SOCK", "SSH_ASKPASS",
    "DBUS_SESSION_BUS_ADDRESS", "XDG_RUNTIME_DIR", "AUTOPILOT_HOME", "AUTOPILOT_SECRET_FORGE",
    "MULTI_AGENT_UNATTENDED", "GIT_CONFIG_COUNT", "GLIBC_TUNABLES", "LESSOPEN", "ZDOTDIR", "CLASSPATH",
]  # fmt: skip
AGENT_NAMES = [
    "ANTHROPIC_API_KEY", "ANTHROPIC_BASE_URL", "CLAUDECODE", "CLAUDE_CODE_OAUTH_TOKEN", "CLAUDE_CONFIG_DIR",
    "OPENAI_BASE_URL", "CODEX_HOME", "GEMINI_MODEL", "CURSOR_TRACE_ID", "COPILOT_MODEL", "AIDER_MODEL",
]  # fmt: skip
SESSION_NAMES = [
    "CLAUDECODE", "CLAUDE_CODE_ENTRYPOINT", "CLAUDE_CODE_SSE_PORT", "CLAUDE_CODE_SESSION_ID",
    "CODEX_THREAD_ID", "CURSOR_SESSION",
]  # fmt: skip
ORDINARY_NAMES = ["NPM_CONFIG_CACHE", "GOPROXY", "PATIENT", "EDITOR", "MAVEN_OPTS", "CARGO_HOME", "KEYBOARD"]
CREDENTIAL_VALUES = [
    FAKE_TOKEN,
    "gh" + "s_" + "a1B2" * 9,
    "github_" + "pat_" + "a1B2" * 9,
    "sk-" + "ant-" + "api03-" + "a1B2" * 9,
    "sk-" + "proj-" + "a1B2" * 9,
    "AKI" + "A" + "ABCDEFGH12345678",
    "xox" + "b-" + "1234567890-abcdef",
    "glp" + "at-" + "a1B2" * 5,
    "AIz" + "a" + "a1B2" * 9,
    "rk_" + "live_" + "a1B2" * 6,
    "npm" + "_" + "a1B2" * 9,
    "hvs" + "." + "a1B2" * 9,
    "-----BEGIN " + "OPENSSH PRIVATE KEY-----\nabc",
    "-----BEGIN " + "CERTIFICATE-----\nabc",
    "ey" + "JhbGciOiJIUzI1NiJ9.ey" + "JzdWIiOiIxMjM0NTYifQ.abc",
    "postgres://app:hunter2@db.invalid/app",
    "prefix " + FAKE_TOKEN + " suffix",
]


def child(base: dict[str, str], *passed: str) -> dict[str, str]:
    return environ.child_environment(base, home=HOME, passed=passed)


def test_a_child_starts_with_nothing_of_ours_but_path_and_language() -> None:
    base = {
        "PATH": "/opt/bin",
        "HOME": "/me",
        "LANG": "de_DE.UTF-8",
        "LC_TIME": "C",
        "TZ": "UTC",
        "FOO": "1",
        "TERM": "xterm",
    }
    got = child(base)
    assert got.pop("PATH").startswith("/opt/bin:")
    assert got == {
        "HOME": str(HOME), "LANG": "de_DE.UTF-8", "LC_TIME": "C", "TZ": "UTC", "TERM": "dumb", "CI": "1",
    }  # fmt: skip


@pytest.mark.parametrize(
    ("name", "value"), [("LC_TOKEN", "x"), ("LC_ALL", FAKE_TOKEN), ("TZ", "postgres://a:b@h/x")]
)
def test_what_every_child_inherits_is_no_way_in_for_a_credential(name: str, value: str) -> None:
    assert name not in child({name: value})


def test_a_child_has_a_language_even_when_we_have_none() -> None:
    assert child({})["LANG"] == "C.UTF-8"


def test_listed_names_pass_and_listed_names_that_are_not_set_do_not_appear() -> None:
    got = child({"GOPROXY": "off", "FOO": "1"}, "GOPROXY", "ABSENT")
    assert (got["GOPROXY"], "FOO" in got, "ABSENT" in got) == ("off", False, False)


@pytest.mark.parametrize("name", ORDINARY_NAMES)
def test_an_ordinary_name_passes_when_it_is_listed(name: str) -> None:
    assert child({name: "value"}, name)[name] == "value"


@pytest.mark.covers("I20")
@pytest.mark.parametrize("name", CREDENTIAL_NAMES + AGENT_NAMES + NEVER_NAMES)
def test_a_dangerous_name_never_passes_to_a_child_even_when_listed(name: str) -> None:
    assert name not in child({name: "value"}, name)
    assert environ.refusal(name)


@pytest.mark.parametrize("name", ["Path", "path", "HOME", "TERM"])
def test_a_listed_name_cannot_replace_what_we_set_ourselves(name: str) -> None:
    got = child({name: "/mine", "PATH": "/bin"}, name)
    assert "/mine" not in got.values()


@pytest.mark.parametrize("value", CREDENTIAL_VALUES)
def test_a_value_that_looks_like_a_credential_never_passes(value: str) -> None:
    assert "GOPROXY" not in child({"GOPROXY": value}, "GOPROXY")
    assert environ.refusal("GOPROXY", value) == "holds what looks like a credential"


@pytest.mark.parametrize(
    "value", ["", "sk-8", "https://proxy.invalid:8080/x", "AKIA", "xoxo-kisses", "eyJ", "ghp_"]
)
def test_a_harmless_value_is_not_taken_for_a_credential(value: str) -> None:
    assert child({"GOPROXY": value}, "GOPROXY")["GOPROXY"] == value


def test_an_agent_gets_its_own_credential_and_a_child_does_not() -> None:
    base = {
        "ANTHROPIC_API_KEY": "sk-" + "ant-" + "x" * 20,
        "PATH": "/bin",
        "NPM_TOKEN": "n",
        "GOPROXY": "off",
    }
    got = environ.agent_environment(
        base, home=HOME, passed=["NPM_TOKEN", "GOPROXY"], own=["ANTHROPIC_API_KEY"]
    )
    assert got["ANTHROPIC_API_KEY"].startswith("sk-")
    assert ("NPM_TOKEN" in got, got["GOPROXY"]) == (False, "off")


@pytest.mark.parametrize("name", NEVER_NAMES + SESSION_NAMES)
def test_some_names_do_not_even_pass_to_an_agent_that_lists_them(name: str) -> None:
    got = environ.agent_environment({name: "value"}, home=HOME, own=[name])
    assert got.get(name) != "value"
    assert environ.refusal(name, for_agent=True)


@pytest.mark.covers("A16")
def test_an_agent_is_told_that_nobody_watches_and_other_children_are_not() -> None:
    got = environ.agent_environment({}, home=HOME)
    assert (got["AUTOPILOT_UNATTENDED"], got["MULTI_AGENT_UNATTENDED"]) == ("1", "1")
    assert "AUTOPILOT_UNATTENDED" not in child({})


def test_what_we_add_ourselves_comes_last() -> None:
    got = environ.agent_environment({"TZ": "UTC"}, home=HOME, extra={"TZ": "CET", "GIT_AUTHOR_NAME": "A"})
    assert (got["TZ"], got["GIT_AUTHOR_NAME"]) == ("CET", "A")


def test_a_relative_folder_never_stays_in_the_path() -> None:
    # It would let the repository we stand in supply the programs.
    assert child({"PATH": ".:/a::bin:/b:./c"})["PATH"].split(":")[:2] == ["/a", "/b"]


@pytest.mark.field_report("DMN-010")
def test_the_usual_folders_are_searched_even_with_a_services_short_path() -> None:
    # Field report DMN-010.
    found = environ.search_path({"PATH": "/usr/bin:/bin", "HOME": "/me"}).split(os.pathsep)
    assert found[:2] == ["/usr/bin", "/bin"]
    assert {"/usr/local/bin", "/opt/homebrew/bin", "/me/.local/bin"} <= set(found)
    assert len(found) == len(set(found))


def test_our_own_environment_is_a_copy(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GOPROXY", "off")
    assert environ.current()["GOPROXY"] == "off"
    assert environ.child_environment(None, home=HOME, passed=["GOPROXY"])["GOPROXY"] == "off"


@pytest.mark.field_report("SEC-010")
def test_what_an_agent_alone_is_given_may_be_a_credential_whatever_it_is_called() -> None:
    given = {
        "MY_AGENT_KEY": "abcdef-sekrit-0123456789",
        "LLM_KEY": "0f1e2d3c4b5a69788796a5b4c3d2e1f0",
        "MODEL_URL": "https://key:word@api.example.com/v1",
        "PLACE": "https://api.example.com/v1",
        "FOLDER": "~/models/large",
        "COLOUR": "green",
        "LIMIT": "12000000.5",
        "OTHER": "not-named-by-anybody",
    }
    names = [name for name in given if name != "OTHER"]
    assert environ.secrets_among(names, given) == (
        given["MY_AGENT_KEY"],
        given["LLM_KEY"],
        given["MODEL_URL"],
    )


@pytest.mark.covers("I06")
def test_a_toolkit_that_an_agent_starts_is_told_to_be_strict_whatever_the_operator_passes(
    tmp_path: Path,
) -> None:
    names = ("MCP_TOOLKIT_URL_POLICY", "MCP_TOOLKIT_INDEX_DENY")
    base = dict.fromkeys(names, "off")
    env = environ.agent_environment(base, home=tmp_path, passed=names, own=names)
    assert (env["MCP_TOOLKIT_URL_POLICY"], env["MCP_TOOLKIT_INDEX_DENY"]) == ("strict", "*")
    assert not set(names) & environ.child_environment(base, home=tmp_path).keys()


def test_a_child_is_told_where_the_compilers_of_the_persons_rustup_are(tmp_path: Path) -> None:
    """By its own HOME it found none, and no project of Rust could be tested."""
    base = {"HOME": str(tmp_path)}
    assert "RUSTUP_HOME" not in child(base)
    (tmp_path / ".rustup").mkdir()
    assert child(base)["RUSTUP_HOME"] == str(tmp_path / ".rustup")
    assert child({**base, "RUSTUP_HOME": "/else"}, "RUSTUP_HOME")["RUSTUP_HOME"] == "/else"
    assert "RUSTUP_HOME" not in child({"HOME": "."})
    assert "RUSTUP_HOME" not in environ.child_environment(base, home=tmp_path), "it looks there by itself"


def test_who_has_gates_run_knows_whose_home_it_is(tmp_path: Path) -> None:
    built = environ.verifier_environment({"HOME": str(tmp_path), "FORGE": "x"}, passed=(), extra={"A": "b"})
    assert (built["HOME"], built["A"], "FORGE" in built) == (str(tmp_path), "b", False)
    assert environ.home_of({}) == Path.home()
