"""What tools are given, in forms that a client may send: every path counts, and none is guessed at."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from autopilot.runner.guard.event import request_of
from autopilot.runner.guard.judge import Guard
from autopilot.runner.guard.verdict import Decision, GuardContext, GuardRequest, Refused


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    (tmp_path / "w" / "src").mkdir(parents=True)
    (tmp_path / "tmp").mkdir()
    return tmp_path / "w"


def decide(tree: Path, tool: str, **given: object) -> Decision:
    return Guard(GuardContext(str(tree), str(tree.parent / "tmp"))).decide(GuardRequest(tool, given))


@pytest.mark.parametrize("tool", ["Write", "Edit", "MultiEdit", "NotebookEdit"])
def test_every_name_of_a_file_is_judged(tree: Path, tool: str) -> None:
    assert decide(tree, tool, file_path="a.py").allowed
    for name in ("file_path", "notebook_path", "path"):
        others = dict.fromkeys({"file_path", "notebook_path", "path"} - {name}, "a.py")
        assert not decide(tree, tool, **others, **{name: "../b.py"}).allowed
        assert not decide(tree, tool, **others, **{name: "package.json"}).allowed
        assert not decide(tree, tool, **others, **{name: 7}).allowed
    assert decide(tree, tool).code == "input"
    assert decide(tree, tool, file_path="").code == "not-a-path"
    assert decide(tree, tool, file_path=["a.py"]).code == "input"


def test_the_files_of_single_edits_are_judged(tree: Path) -> None:
    fine = [{"old_string": "a", "new_string": "b"}]
    assert decide(tree, "MultiEdit", file_path="a.py", edits=fine).allowed
    assert decide(tree, "MultiEdit", file_path="a.py", edits=[*fine, {"file_path": "src/b.py"}]).allowed
    for edits in ([*fine, {"file_path": ".git/config"}], [{"path": "/etc/hosts"}], "x", [["x"]], {"0": fine}):
        assert not decide(tree, "MultiEdit", file_path="a.py", edits=edits).allowed


def test_a_folder_to_work_in_is_where_paths_begin(tree: Path) -> None:
    assert decide(tree, "Bash", command="cat ../README.md", workdir="src").allowed
    assert decide(tree, "Bash", command="cat ../README.md").code == "outside"
    for name in ("cwd", "workdir", "working_directory"):
        assert decide(tree, "Bash", command="ls", **{name: "/etc"}).code == "outside"
        assert decide(tree, "Bash", command="ls", **{name: ["src"]}).code == "input"


def test_a_link_of_the_worktree_leads_no_tool_outside(tree: Path) -> None:
    (tree / "away").symlink_to(tree.parent)
    (tree / "src" / "round").symlink_to("round")
    (tree / "tools").symlink_to(".git")
    assert decide(tree, "Write", file_path="away/x.py").code == "outside-by-link"
    assert (
        decide(tree, "Write", file_path=str(tree / "away" / "w" / "away" / "x.py")).code == "outside-by-link"
    )
    assert decide(tree, "Write", file_path="tools/hooks/pre-commit").code == "protected"
    assert decide(tree, "Write", file_path="/".join(["src", *[".."] * 50, "etc/passwd"])).code == "outside"
    assert decide(tree, "Write", file_path="src/" + "../src/" * 70 + "x").code == "not-a-path"
    decide(tree, "Write", file_path="src/round/x.py")  # a circle of links is a path like any other


def test_a_pattern_is_no_way_outside(tree: Path) -> None:
    assert decide(tree, "Glob", pattern="src/**/*.{ts,tsx}").allowed
    assert decide(tree, "Glob", pattern="**/*.py", path="src").allowed
    for pattern in ("../**", "/etc/*", "{../../etc,src}/*", "{/etc,src}/*", "~/*", "src/{a,../../..}/x"):
        assert not decide(tree, "Glob", pattern=pattern).allowed
        assert not decide(tree, "Grep", pattern="x", glob=pattern).allowed


def asked(tree: Path, tool: str, **given: object) -> Decision:
    """Decide as the guard does for a client's own event."""
    event = json.dumps({"tool_name": tool, "tool_input": given}).encode()
    try:
        request = request_of(event, frozenset())
    except Refused as refused:
        return Decision(allowed=False, code=refused.code, reason=refused.reason)
    return Guard(GuardContext(str(tree), str(tree.parent / "tmp"))).decide(request)


def test_the_tools_of_gemini_cli_are_judged_as_ours_are(tree: Path) -> None:
    assert asked(tree, "run_shell_command", command="cat ../README.md", dir_path="src").allowed
    assert asked(tree, "run_shell_command", command="cat ../README.md").code == "outside"
    assert asked(tree, "run_shell_command", command="ls", dir_path="/etc").code == "outside"
    assert asked(tree, "run_shell_command", command="ls", is_background=True).code == "background"
    assert (
        asked(tree, "run_shell_command", command="git push").code
        == asked(tree, "Bash", command="git push").code
    )
    for tool, given in (
        ("write_file", {"content": "x"}),
        ("replace", {"old_string": "a", "new_string": "b"}),
    ):
        assert asked(tree, tool, file_path="a.py", **given).allowed
        assert asked(tree, tool, file_path=".git/config", **given).code == "protected"
    assert asked(tree, "read_file", file_path="a.py", start_line=1, end_line=5).allowed
    assert asked(tree, "read_file", file_path="../a.py").code == "outside"
    for tool in ("list_directory", "glob", "grep_search"):
        assert asked(tree, tool, dir_path="src", pattern="x").allowed
        assert asked(tree, tool, dir_path="/etc", pattern="x").code == "outside"
    assert asked(tree, "write_todos", todos=[]).allowed
    assert asked(tree, "web_fetch", prompt="https://a.example").code == "tool"


def test_the_tools_of_opencode_are_judged_as_ours_are(tree: Path) -> None:
    assert asked(tree, "bash", command="cat ../README.md", workdir="src").allowed
    assert asked(tree, "bash", command="ls", workdir="/etc").code == "outside"
    assert not asked(tree, "bash", command="git push").allowed
    edits = {"write": {"content": "x"}, "edit": {"oldString": "a", "newString": "b"}}
    for tool, given in edits.items():
        assert asked(tree, tool, filePath="a.py", **given).allowed
        assert asked(tree, tool, filePath=".git/config", **given).code == "protected"
    assert asked(tree, "read", filePath="a.py", offset=1, limit=5).allowed
    assert asked(tree, "read", filePath="../a.py").code == "outside"
    for tool in ("glob", "grep"):
        assert asked(tree, tool, path="src", pattern="x").allowed
        assert asked(tree, tool, path="/etc", pattern="x").code == "outside"
    patch = "*** Begin Patch\n*** Add File: {}\n+x\n*** End Patch\n"
    assert asked(tree, "apply_patch", patchText=patch.format("a.py")).allowed
    assert asked(tree, "apply_patch", patchText=patch.format(".git/config")).code == "protected"
    assert asked(tree, "todowrite", todos=[]).allowed
    assert asked(tree, "webfetch", url="https://a.example").code == "tool"


def test_the_tools_of_copilot_cli_are_judged_as_ours_are(tree: Path) -> None:
    assert asked(tree, "bash", command="ls", mode="sync", detach=False).allowed
    for away in ({"mode": "async"}, {"detach": True}, {"mode": 3}):
        assert asked(tree, "bash", command="ls", **away).code == "background"
    edits = {"create": {"file_text": "x"}, "edit": {"old_str": "a", "new_str": "b"}}
    for tool, given in edits.items():
        assert asked(tree, tool, path="a.py", **given).allowed
        assert asked(tree, tool, path=".git/config", **given).code == "protected"
    assert asked(tree, "view", path="a.py", view_range=[1, 5]).allowed
    assert asked(tree, "view", path="../a.py").code == "outside"
    for tool in ("glob", "grep"):
        assert asked(tree, tool, paths="src", pattern="x").allowed
        assert asked(tree, tool, paths="/etc", pattern="x").code == "outside"
        assert asked(tree, tool, paths=["/etc"], pattern="x").code == "input"


def test_an_event_in_the_words_of_copilot_cli_is_read() -> None:
    event = {"sessionId": "s", "cwd": "/w", "toolName": "bash", "toolArgs": {"command": "ls"}}
    request = request_of(json.dumps(event).encode(), frozenset())
    assert (request.tool, dict(request.given), request.cwd) == ("Bash", {"command": "ls"}, "/w")
    strange: list[dict[str, object]] = [
        {"toolName": "bash"},
        {"toolArgs": {}},
        {**event, "tool_name": "Read"},
        {},
    ]
    for odd in strange:
        with pytest.raises(Refused):
            request_of(json.dumps(odd).encode(), frozenset())


def test_an_input_that_came_by_two_names_is_refused(tree: Path) -> None:
    both = {"dir_path": "src", "path": "/etc"}
    assert asked(tree, "glob", pattern="*", **both).code == "input"
    assert asked(tree, "run_shell_command", command="ls", dir_path="src", workdir="src").code == "input"
