"""Paths: where they lead on a real disk, and which names are not to be touched."""

from __future__ import annotations

from pathlib import Path

import pytest

from autopilot.runner.guard.judge import Guard, judge
from autopilot.runner.guard.names import Names, may_meet
from autopilot.runner.guard.verdict import GuardContext, GuardRequest


class Desk:
    """A worktree on the disk and its guard."""

    def __init__(self, place: Path) -> None:
        self.tree = place / "T-1"
        self.tmp = place / "tmp"
        for folder in (self.tree / "src", self.tmp, place / "T-10", place / "T-2"):
            folder.mkdir(parents=True)
        self.guard = Guard(GuardContext(str(self.tree), str(self.tmp)))

    def code(self, command: str, *written: str) -> str:
        return self.guard.decide(GuardRequest("Bash", {"command": command}, written=frozenset(written))).code

    def edit(self, path: str) -> str:
        return self.guard.decide(GuardRequest("Edit", {"file_path": path})).code


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    return Desk(tmp_path)


@pytest.mark.covers("H19")
def test_a_link_out_of_the_worktree_is_followed(desk: Desk) -> None:
    (desk.tree / "out").symlink_to(desk.tree.parent / "T-2")
    (desk.tree / "up").symlink_to("..")
    (desk.tree / "dot").symlink_to(".")
    for command in (
        "cat out/x",
        "echo x > out/x",
        "rm -rf out/x",
        "cat up/T-2/x",
        "ls out",
        "cat src/../up/x",
    ):
        assert desk.code(command) == "outside-by-link", command
    assert desk.code("cat dot/src/x") == "allowed"
    assert desk.edit("out/x") == "outside-by-link"


@pytest.mark.covers("H19", "H18")
def test_a_link_to_a_protected_name_is_followed(desk: Desk) -> None:
    (desk.tree / ".github").mkdir()
    (desk.tree / "ci").symlink_to(".github")
    (desk.tree / "meta").symlink_to("package.json")
    (desk.tree / "dotgit").symlink_to(".git")
    assert desk.code("echo x > ci/workflows/x.yml") == "protected"
    assert desk.edit("ci/workflows/x.yml") == "protected"
    assert desk.code("echo x > meta") == "manifest"
    assert desk.edit("meta") == "manifest"
    assert desk.code("cat dotgit/config") == "secret-file"


@pytest.mark.parametrize(
    "name",
    [
        *(
            ".opencode/plugin/x.js",
            "opencode.json",
            "opencode.jsonc",
            ".copilot/x",
            ".agents/skills/x/SKILL.md",
        ),
        *(".github/hooks/x.json", ".github/copilot/settings.json", ".github/mcp.json", ".github/agents/x.md"),
    ],
)
def test_no_tool_writes_what_an_agent_of_the_next_one_would_load(desk: Desk, name: str) -> None:
    """It would be in the draft, and run on the machine of whoever looks at it with such a client."""
    assert desk.edit(name) == "protected"
    assert desk.code(f"echo x > {name}") in {"protected", "folder"}


def test_the_system_follows_a_link_before_it_goes_up(desk: Desk) -> None:
    (desk.tree / "a" / "b").mkdir(parents=True)
    (desk.tree / "deep").symlink_to("a/b")
    (desk.tree / "src" / "l").symlink_to("../src")
    assert desk.code("cat deep/../x") == "allowed"
    assert desk.code("cat src/l/../../x") == "outside-by-link"
    assert desk.code("cd src/l && ls") == "folder"


def test_folders_are_compared_by_their_parts(desk: Desk) -> None:
    assert desk.code(f"cat {desk.tree}0/x") == "outside"
    assert desk.code("cat ../T-10/x") == "outside"
    assert desk.code(f"cat {desk.tree}/src/x") == "allowed"
    assert desk.code(f"echo x > {desk.tmp}/x") == "allowed"
    assert desk.code(f"echo x > {desk.tmp}0/x") == "outside"


@pytest.mark.covers("H12")
def test_a_program_that_is_younger_than_the_run_is_not_run(desk: Desk) -> None:
    program = desk.tree / "check.sh"
    program.write_text("true\n", encoding="utf-8")
    made_ns = program.stat().st_ctime_ns
    request = GuardRequest("Bash", {"command": "./check.sh"})
    older = GuardContext(str(desk.tree), str(desk.tmp), started_ns=made_ns + 1)
    younger = GuardContext(str(desk.tree), str(desk.tmp), started_ns=made_ns)
    assert judge(request, older).allowed
    assert judge(request, younger).code == "made-by-the-run"
    (desk.tree / "Makefile").write_text("all:\n", encoding="utf-8")
    assert judge(GuardRequest("Bash", {"command": "make"}), younger).code == "build-file-changed"


@pytest.mark.covers("H12")
def test_a_program_that_is_not_there_is_not_run_for_what_it_may_become(desk: Desk) -> None:
    begun = GuardContext(str(desk.tree), str(desk.tmp), started_ns=0)
    for line in ("./later.sh", "python later.py", "node later.js", "bash tools/later.sh"):
        assert judge(GuardRequest("Bash", {"command": line}), begun).code == "not-there"


@pytest.mark.covers("H12")
def test_what_was_written_whole_is_made_by_the_run_with_all_that_is_in_it(desk: Desk) -> None:
    moved = desk.guard.decide(GuardRequest("Bash", {"command": "mv a tools"}))
    assert moved.allowed
    run = GuardRequest("Bash", {"command": "./tools/x.sh"}, written=moved.writes)
    assert desk.guard.decide(run).code == "made-by-the-run"
    assert desk.code("./other/x.sh", *moved.writes) == "allowed"


def test_a_folder_that_may_be_a_repository_is_not_asked_by_git(desk: Desk) -> None:
    (desk.tree / "fake").mkdir()
    assert desk.code("git -C fake status") == "allowed"
    assert desk.code("git -C fake status", "fake/HEAD") == "other-repository"
    (desk.tree / "fake" / "HEAD").write_text("ref: x\n", encoding="utf-8")
    assert desk.code("cd fake && git status") == "other-repository"
    assert desk.code("git status") == "allowed"


def test_a_command_of_the_policy_is_accepted_word_for_word(desk: Desk) -> None:
    own = GuardContext(str(desk.tree), str(desk.tmp), commands=(("tool", "--odd", "x"),))
    assert judge(GuardRequest("Bash", {"command": "tool --odd 'x' 2>&1 | tail -5"}), own).allowed
    assert judge(GuardRequest("Bash", {"command": "tool --odd x y"}), own).code == "program"
    assert judge(GuardRequest("Bash", {"command": "tool --odd x > .git/x"}), own).code == "protected"


def test_a_tool_of_the_settings_is_allowed_and_no_other(desk: Desk) -> None:
    own = GuardContext(str(desk.tree), str(desk.tmp), mcp_tools=frozenset({"mcp__a__b"}))
    assert judge(GuardRequest("mcp__a__b", {}), own).allowed
    assert judge(GuardRequest("mcp__a__c", {}), own).code == "mcp-tool"


def test_evaluating_in_a_page_is_refused(desk: Desk) -> None:
    assert (
        desk.guard.decide(GuardRequest("mcp__multi-agent-toolkit__web_eval", {"code": "1"})).code
        == "mcp-tool"
    )


def test_a_long_path_of_wildcards_is_answered(desk: Desk) -> None:
    assert desk.code("cat " + "/".join(["a*"] * 200)) == "not-a-path"
    assert desk.code("cat " + "/".join(["*"] * 50)) in {"allowed", "not-a-path"}


@pytest.mark.parametrize(
    ("one", "other", "expected"),
    [
        ("a.json", "\x01", True),
        (".env", "\x01", False),
        (".env", ".\x01", True),
        (".env", ".e\x02v", True),
        ("abc", "a\x02", False),
        ("a\x01c", "\x01b\x01", True),
        ("a", "b", False),
        ("", "", True),
    ],
)
def test_two_patterns_meet_when_some_name_has_both(one: str, other: str, expected: bool) -> None:
    assert may_meet(one, other) is expected


def test_names_count_at_any_depth_and_in_any_case() -> None:
    names = Names((".git", ".github/workflows/**", "requirements*.txt", "**/.env*"))
    for path in (
        ".git",
        ".git/x",
        "a/.git/x",
        ".github/workflows",
        "a/.github/workflows/x",
        "requirements-a.txt",
        "a/.env.b",
    ):
        assert names.has(tuple(path.split("/"))), path
    for path in ("git", "x.git", ".github", ".github/x", "requirements.md", "env", "a.env"):
        assert not names.has(tuple(path.split("/"))), path
    assert names.may_lie_in((".github",))
    assert names.may_lie_in(())
    assert not names.may_lie_in(("src",))


@pytest.mark.parametrize(
    "path",
    [".travis.yml", ".devcontainer/devcontainer.json", ".cargo/config.toml", "web/.mvn/jvm.config"],
)
def test_what_other_machines_run_or_tools_obey_is_changed_by_nobody(desk: Desk, path: str) -> None:
    assert desk.edit(str(desk.tree / path)) == "protected"
    assert desk.code(f"cp README.md {path}") == "protected"


def test_npx_runs_without_a_word_what_is_installed_where_it_looks_first(desk: Desk) -> None:
    folder = desk.tree / "node_modules" / ".bin"
    assert desk.code("npx eslint src") == "download"
    folder.mkdir(parents=True)
    (folder / "tsc").symlink_to("../gone/tsc")
    for name in ("eslint", "cowsay"):
        (folder / name).write_text("")
    assert desk.code("npx eslint src") == "allowed"
    assert desk.code("cd src && npx eslint .") == "allowed"
    assert desk.code("npx eslint --resolve-plugins-relative-to=/x .") == "option"
    assert desk.code("npx eslint src", "node_modules/.bin/eslint") == "made-by-the-run"
    for command in (
        "npx tsc", "npx cowsay hi", "npx eslint@8 .", "npx -y eslint .", "npx -p eslint eslint .",
        "npx es*t .", "npx -c eslint", "npx ./eslint",
    ):  # fmt: skip
        assert desk.code(command) == "download", command
