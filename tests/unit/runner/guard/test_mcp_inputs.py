"""A tool of an MCP server that an operator listed reaches no further than the tools of an agent do."""

from __future__ import annotations

import pytest

from autopilot.runner.guard.judge import Guard
from autopilot.runner.guard.verdict import Decision, GuardContext, GuardRequest

TOOLS = frozenset(
    {
        "mcp__fs__write_file",
        "mcp__fs__read_file",
        "mcp__toolkit__web_fetch",
        "mcp__docs__search",
        "mcp__fs__readWrite",
    }
)
GUARD = Guard(GuardContext("/w/T-1", "/t/T-1", hosts=frozenset({"docs.python.org"}), mcp_tools=TOOLS))
WRITE, READ, FETCH, SEARCH = (
    "mcp__fs__write_file", "mcp__fs__read_file", "mcp__toolkit__web_fetch", "mcp__docs__search",
)  # fmt: skip


def decide(tool: str, **given: object) -> Decision:
    return GUARD.decide(GuardRequest(tool, given))


@pytest.mark.covers("I01")
@pytest.mark.parametrize("key", ["url", "uri", "URL", "urls", "pageUrl", "target_url", "href", "q"])
def test_an_address_is_one_of_a_listed_host(key: str) -> None:
    assert decide(FETCH, **{key: "https://docs.python.org/3/"}).allowed
    for address in (
        "https://evil.example", "http://docs.python.org/", "file:///etc/passwd", "https://127.0.0.1/",
        "data:text/html,x",
        "https://docs.python.org@evil.example/", " https://evil.example", "view-source:https://docs.python.org/",
    ):  # fmt: skip
        assert not decide(FETCH, **{key: address}).allowed, address
        assert not decide(FETCH, options=[{key: address}]).allowed, address


@pytest.mark.parametrize(
    "key", ["path", "file_path", "filePath", "files", "directory", "outputDir", "destination", "cwd"]
)
def test_a_path_is_judged_as_for_an_edit(key: str) -> None:
    fine = decide(WRITE, **{key: "src/a.py"}, content="x")
    assert fine.allowed
    assert fine.writes == {"/w/T-1/src/a.py"}
    for path in ("/etc/passwd", "../T-2/x", "~/.bashrc", "/w/T-1/.git/config", "sub/.env"):
        assert not decide(WRITE, **{key: path}).allowed, path
        assert not decide(WRITE, edits=[{key: [path]}]).allowed, path
        assert not decide("mcp__fs__readWrite", **{key: path}).allowed, path


def test_a_manifest_is_read_and_not_written() -> None:
    assert decide(READ, path="package.json").allowed
    assert not decide(READ, path="package.json").writes
    assert decide(WRITE, path="package.json").code == "manifest"
    for path in ("/etc/passwd", ".env", ".git/config", "../x"):
        assert not decide(READ, path=path).allowed, path


def test_a_path_that_leads_out_is_refused_by_any_name() -> None:
    assert not decide(SEARCH, subject="../T-2/x").allowed
    assert not decide(SEARCH, subject="~/.ssh/id_rsa").allowed


def test_words_are_only_words() -> None:
    assert decide(SEARCH, q="how does https://evil.example/ work?", limit=5, exact=True).allowed
    assert decide(SEARCH, library="/vercel/next.js", to="2026-12-01", source="web").allowed
    assert decide(SEARCH).allowed


def test_no_credential_is_handed_on_and_no_depth_hides_one() -> None:
    assert decide(SEARCH, q="ghp_" + "a1B2c3D4e5" * 4).code == "secret"
    deep: object = "https://evil.example"
    for _ in range(40):
        deep = [deep]
    assert decide(SEARCH, q=deep).code == "input"


OUTSIDE = ("../../outside", "/home/me/.bashrc", ".git/hooks/pre-commit", "sub/.env", "package.json")


@pytest.mark.covers("I01")
@pytest.mark.parametrize("path", OUTSIDE)
def test_a_path_counts_wherever_it_stands_below_a_name_that_says_so(path: str) -> None:
    for given in (
        {"files": {path: "x\n"}},
        {"files": {path: {"content": "x\n", "mode": "0644"}}},
        {"files": [{path: "x"}]},
        {"files": [{"name": path, "content": "x"}]},
        {"path": {"value": path}},
        {"path": {"value": {"of": [path]}}},
        {"paths": [{"item": {"text": path}}]},
        {"file": {"as": f"my folder/../{path}"}}
        if "/" in path[1:] and path[0] != "/"
        else {"file": {"as": path}},
    ):
        assert not decide(WRITE, **given).allowed, given
        assert decide(READ, **given).allowed == (path == "package.json"), given


@pytest.mark.parametrize("path", [each for each in OUTSIDE if "/" in each])
def test_a_word_that_may_be_a_path_counts_from_above_and_as_a_name(path: str) -> None:
    for given in ({"target": {path: "x"}}, {"destination": {"value": path}}, {"output": [{"as": path}]}):
        assert not decide(WRITE, **given).allowed, given


@pytest.mark.covers("I01")
def test_a_whole_path_counts_by_any_name() -> None:
    for key in ("document", "q", "item", "library", "route"):
        for path in (
            "/etc/passwd",
            "/home/me/.ssh/id_rsa",
            "/proc/self/environ",
            " /etc/passwd",
            "/w/T-1/.env",
        ):
            assert not decide(READ, **{key: path}).allowed, (key, path)
            assert not decide(SEARCH, **{key: {path: 1}}).allowed, (key, path)
    assert decide(READ, document="/w/T-1/src/a.py").allowed
    assert decide(SEARCH, q="/ is the root, /etc/passwd a file").allowed


def test_an_address_counts_below_a_name_that_says_so() -> None:
    for given in (
        {"url": {"value": "evil.example/x"}},
        {"links": [{"to_open": ["evil.example"]}]},
        {"urls": {"evil.example": 1}},
        {"q": {"https://evil.example": 1}},
    ):
        assert not decide(FETCH, **given).allowed, given
    assert decide(
        FETCH, link={"url": "https://docs.python.org/3/", "title": "the docs", "rel": "next"}
    ).allowed


def test_what_files_are_to_hold_is_no_path_and_their_names_are_remembered() -> None:
    code = "#!/usr/bin/env python3\nprint('a\\n')\n"
    by_name = decide(
        WRITE, files={"src/a.py": code, "src/url.py": code, "Makefile": "all:\n\tcc a.c\n", "e": ""}
    )
    assert by_name.allowed
    assert by_name.writes == {"/w/T-1/src/a.py", "/w/T-1/src/url.py", "/w/T-1/Makefile", "/w/T-1/e"}
    listed = decide(
        WRITE, files=[{"path": "src/a.py", "content": code}, {"name": "b", "content": "a word of it."}]
    )
    assert listed.allowed
    assert {"/w/T-1/src/a.py", "/w/T-1/b"} <= listed.writes


def test_no_name_hides_a_credential() -> None:
    token = "ghp_" + "a1B2c3D4e5" * 4
    assert decide(SEARCH, q={token: "x"}).code == "secret"
    assert decide(WRITE, files={f"notes/{token}.txt": "x\n"}).code == "secret"
    assert decide(SEARCH, description={"cwd": "x"}, q=[{"a": {token: 1}}]).code == "secret"
