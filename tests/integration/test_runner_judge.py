"""The run's one commit, whatever the agent did to its files and its repository."""

from __future__ import annotations

import os
import shutil
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import pytest

from autopilot.runner.changes import scope_of
from autopilot.runner.commit import AGENT_REFS, commit_tree, keep_agents_commits
from autopilot.runner.judge import Judge, Pristine, Snapshot, absent_by_sparse_checkout
from autopilot.runner.mirror import fetch_base
from autopilot.runner.remote import choose_base, look_at
from autopilot.runner.tripwire import UserConfig, differences, fingerprint, local_path
from autopilot.runner.worktree import Workspace, cut
from tests.support import git_agents, repo_layouts
from tests.support.agents import Agent
from tests.support.clock import NIGHT_START_MS
from tests.support.gitcmd import git, git_bytes
from tests.support.programs import start
from tests.support.repos import Repo, commit_files, make_repo
from tests.support.runs import IDENTITY, Host

ODD_NAMES = (
    "ä.txt",
    'a"b.txt',
    "tab\tname",
    "new\nline.txt",
    "x -> y.txt",
    " lead",
    "trail ",
    "-rf",
    "*?[x]",
    "世界",
)


@dataclass(frozen=True, slots=True)
class Bench:
    """A worktree as it is when the agent starts, and the judge beside it."""

    host: Host
    repo: Repo
    workspace: Workspace
    judge: Judge
    pristine: Pristine

    @property
    def tree(self) -> Path:
        return self.workspace.worktree

    def write(self, files: Mapping[str, str | bytes]) -> None:
        for name, content in files.items():
            path = self.tree / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(content if isinstance(content, bytes) else content.encode())

    def play(self, agent: Agent) -> None:
        start(
            (str(agent.path),),
            self.host.state,
            cwd=self.tree,
            env={"PATH": os.environ["PATH"], "HOME": "/nowhere"},
        )

    def snapshot(self) -> Snapshot:
        self.judge.renew()
        return self.judge.snapshot(self.pristine, absent=absent_by_sparse_checkout(self.judge))

    def commit(self, message: str = "Mend it\n\nRef: T-1\n") -> str:
        taken = self.snapshot()
        assert taken.problems == ()
        return commit_tree(
            self.judge,
            tree=taken.tree,
            branch="autopilot/t-1-x",
            message=message,
            identity=IDENTITY,
            now_ms=NIGHT_START_MS,
        )

    def changed(self) -> dict[str, str]:
        scope = scope_of(self.host.git, self.judge.place, base=self.repo.base_sha, head=self.commit())
        return {line.path: line.change for line in scope}


def bench(tmp_path: Path, repo: Repo) -> Bench:
    host = Host(tmp_path / "state")
    spec = host.spec(repo)
    remote = look_at(host.git, spec.repo.url)
    base = choose_base(spec.repo, remote)
    sha = fetch_base(host.git, host.git, spec.repo, base=base, remote=remote, on_lock_removed=print)
    workspace = cut(host.git, spec, base=base.name, base_sha=sha)
    judge = Judge(host.git, spec.run_dir / "judge.git", spec.repo.mirror, workspace, {})
    return Bench(host, repo, workspace, judge, judge.prepare())


@pytest.fixture
def repo(tmp_path: Path) -> Repo:
    return make_repo(tmp_path / "theirs")


@pytest.fixture
def desk(tmp_path: Path, repo: Repo) -> Bench:
    return bench(tmp_path, repo)


def mend(desk: Bench) -> None:
    desk.write({desk.repo.project.broken_path: desk.repo.project.fixed_file()})


@pytest.mark.covers("B22", "A06", "O28")
def test_the_commit_has_the_recorded_identity_the_base_as_parent_and_the_trailer(desk: Bench) -> None:
    mend(desk)
    sha = desk.commit()
    shown = git(desk.judge.place, "show", "-s", "--format=%an|%ae|%cn|%ce|%P|%at|%B", sha).rstrip()
    assert shown == (
        f"Night Shift|night@example.com|Night Shift|night@example.com|{desk.repo.base_sha}"
        f"|{NIGHT_START_MS // 1000}|Mend it\n\nRef: T-1"
    )
    assert git(desk.judge.place, "rev-parse", "autopilot/t-1-x") == sha
    assert (
        git(desk.judge.place, "show", f"{sha}:{desk.repo.project.broken_path}")
        == desk.repo.project.fixed_file().strip()
    )


def test_an_untouched_worktree_is_no_change(desk: Bench) -> None:
    assert not desk.snapshot().is_changed
    os.utime(desk.tree / "README.md")
    assert not desk.snapshot().is_changed


def test_edits_additions_deletions_renames_and_mode_changes_are_all_in_it(desk: Bench) -> None:
    mend(desk)
    desk.write({"deep/er/new.txt": "new\n", "binary": bytes(range(256)) * 8})
    (desk.tree / "pyproject.toml").unlink()
    (desk.tree / "tests/__init__.py").rename(desk.tree / "tests/renamed.py")
    (desk.tree / "bill/__init__.py").chmod(0o755)
    (desk.tree / "README.md").unlink()
    (desk.tree / "README.md").symlink_to("bill")
    changed = desk.changed()
    assert changed["bill/split.py"] == "modified"
    assert changed["deep/er/new.txt"] == "added"
    assert changed["pyproject.toml"] == "deleted"
    assert changed["bill/__init__.py"] == "modified"
    assert changed["README.md"] == "type-changed"


def test_the_scope_has_line_counts_and_none_for_a_binary(desk: Bench) -> None:
    desk.write({"binary": bytes(range(256)), "three.txt": "1\n2\n3\n"})
    scope = {
        line.path: line
        for line in scope_of(desk.host.git, desk.judge.place, base=desk.repo.base_sha, head=desk.commit())
    }
    assert (scope["three.txt"].added_lines, scope["three.txt"].removed_lines) == (3, 0)
    assert (scope["binary"].added_lines, scope["binary"].removed_lines) == (None, None)


@pytest.mark.field_report("GIT-026")
def test_names_of_any_characters_are_committed_and_listed_as_they_are(desk: Bench) -> None:
    desk.write({name: f"content of {name}" for name in ODD_NAMES})
    desk.write({b"caf\xe9".decode("utf-8", "surrogateescape"): "latin"})
    assert desk.changed() == {**dict.fromkeys(ODD_NAMES, "added"), "caf\\xe9": "added"}
    listed = git_bytes(desk.judge.place, "ls-tree", "-r", "-z", "--name-only", "autopilot/t-1-x").split(b"\0")
    assert {os.fsencode(name) for name in ODD_NAMES} <= set(listed)
    assert b"caf\xe9" in listed


@pytest.mark.field_report("GIT-026")
def test_a_rename_between_odd_names_is_one_rename_with_its_new_name(tmp_path: Path) -> None:
    body = "".join(f"line {number}\n" for number in range(50))
    desk = bench(tmp_path, make_repo(tmp_path / "theirs", extra_files={"x -> y.txt": body}))
    (desk.tree / "x -> y.txt").rename(desk.tree / "new\nline\t.txt")
    with (desk.tree / "new\nline\t.txt").open("a") as file:
        file.write("API_KEY=not-a-real-one\n")
    [line] = scope_of(desk.host.git, desk.judge.place, base=desk.repo.base_sha, head=desk.commit())
    assert (line.path, line.change, line.added_lines, line.removed_lines) == (
        "new\nline\t.txt",
        "renamed",
        1,
        0,
    )


def test_ignored_files_and_droppings_stay_out_but_tracked_ones_do_not(tmp_path: Path) -> None:
    tracked = {
        ".gitignore": "*.log\n",
        "kept.log": "tracked though ignored\n",
        "node_modules/own.js": "tracked\n",
    }
    desk = bench(tmp_path, make_repo(tmp_path / "theirs", extra_files=tracked))
    desk.write(
        {
            "noise.log": "ignored",
            "kept.log": "changed\n",
            "node_modules/own.js": "changed\n",
            "node_modules/dep/index.js": "untracked",
            "bill/__pycache__/split.cpython-311.pyc": b"\x00",
            ".pytest_cache/x": "x",
            ".DS_Store": "x",
            ".aider.chat.history.md": "x",
            "real.txt": "x",
        }
    )
    assert set(desk.changed()) == {"kept.log", "node_modules/own.js", "real.txt"}


@pytest.mark.field_report("AGT-043")
def test_commits_on_a_detached_head_are_in_the_commit_and_kept_by_name(desk: Bench, tmp_path: Path) -> None:
    agent = git_agents.detaches_and_commits_twice(tmp_path / "agent", desk.repo.project)
    desk.play(agent)
    assert git(desk.workspace.repository, "rev-parse", desk.host.spec(desk.repo).branch) == desk.repo.base_sha
    changed = desk.changed()
    assert changed == {"first.txt": "added", "bill/split.py": "modified"}
    kept = keep_agents_commits(desk.judge)
    assert kept.shas == (agent.notes()[-1],)
    assert kept.notes == ()
    assert (
        git(desk.judge.place, "log", "--format=%H", f"{AGENT_REFS}1", f"^{desk.repo.base_sha}").split()
        == agent.notes()[::-1]
    )
    body = git(desk.judge.place, "log", "-1", "--format=%B", "autopilot/t-1-x")
    assert "Robot" not in body


def test_commits_on_branches_tags_and_the_own_branch_are_all_kept(desk: Bench) -> None:
    shas = [commit_files(desk.workspace.repository, name, {"f": name}) for name in ("one", "two")]
    git(desk.workspace.repository, "tag", "-a", "-m", "note", "three", shas[0])
    git(desk.workspace.repository, "update-ref", "refs/anything/else", shas[1])
    desk.judge.renew()
    kept = keep_agents_commits(desk.judge)
    assert set(shas) <= set(kept.shas)
    assert kept.notes == ()


def test_an_agents_repository_that_is_destroyed_costs_a_note_not_the_work(desk: Bench) -> None:
    mend(desk)
    shutil.rmtree(desk.workspace.repository)
    assert set(desk.changed()) == {"bill/split.py"}
    kept = keep_agents_commits(desk.judge)
    assert kept.shas == ()
    assert "cannot be read" in kept.notes[0]


def test_nothing_that_the_agent_planted_runs_and_a_planted_filter_changes_nothing(
    desk: Bench, tmp_path: Path
) -> None:
    agent = git_agents.plants_commands(tmp_path / "agent", desk.repo.project)
    desk.play(agent)
    noted = agent.notes()
    assert set(desk.changed()) == {"bill/split.py", ".gitattributes"}
    keep_agents_commits(desk.judge)
    assert agent.notes() == noted
    assert (
        git(desk.judge.place, "show", "autopilot/t-1-x:bill/split.py")
        == desk.repo.project.fixed_file().strip()
    )


@pytest.mark.parametrize("has_commit", [True, False])
def test_a_repository_inside_the_worktree_is_refused_by_name(
    desk: Bench, tmp_path: Path, has_commit: bool
) -> None:
    if has_commit:
        desk.play(git_agents.nests_repository(tmp_path / "agent"))
    else:
        git(desk.tree, "init", "-q", "vendored")
        desk.write({"vendored/code.py": "x = 1\n"})
    taken = desk.snapshot()
    assert taken.tree == ""
    assert "repository of its own" in taken.problems[0]
    assert "vendored/" in taken.problems[0]


def test_a_submodule_of_the_base_stays_as_it_is_and_nothing_of_its_runs(tmp_path: Path) -> None:
    repo = make_repo(tmp_path / "theirs")
    inner = make_repo(tmp_path / "inner")
    git(repo.checkout, "-c", "protocol.file.allow=always", "submodule", "add", "-q", inner.url, "vendor lib")
    git(repo.checkout, "commit", "-q", "-m", "Add a submodule")
    git(repo.checkout, "push", "-q", "origin", "main")
    sha = git(repo.checkout, "rev-parse", "HEAD")
    desk = bench(tmp_path, Repo(repo.remote, repo.checkout, "main", sha, repo.project))
    shutil.rmtree(desk.tree / "vendor lib", ignore_errors=True)
    git(desk.tree, "clone", "-q", inner.url, "vendor lib")
    git(desk.tree / "vendor lib", "config", "core.fsmonitor", f"touch {tmp_path}/pwned; false")
    commit_files(desk.tree / "vendor lib", "main", {"x": "y"})
    mend(desk)
    taken = desk.snapshot()
    assert taken.notes == ("submodules are left as they are in the base",)
    assert set(desk.changed()) == {"bill/split.py"}
    assert not (tmp_path / "pwned").exists()


@pytest.mark.field_report("GIT-036")
def test_dirt_from_before_the_agent_is_not_the_agents(tmp_path: Path) -> None:
    repo = make_repo(
        tmp_path / "theirs", extra_files={"Agents.md": "upper\n", "AGENTS.md": "lower\n", "crlf.txt": "a\n"}
    )
    desk = bench(tmp_path, repo)
    # What a disk that folds case makes of a checkout of two names that it takes for one.
    (desk.tree / "Agents.md").write_text("lower\n")
    (desk.tree / "crlf.txt").unlink()
    desk = Bench(desk.host, repo, desk.workspace, desk.judge, desk.judge.prepare())
    assert {os.fsdecode(path) for path in desk.pristine.dirt} == {"Agents.md", "crlf.txt"}
    assert not desk.snapshot().is_changed
    mend(desk)
    assert set(desk.changed()) == {"bill/split.py"}
    desk.write({"Agents.md": "by the agent\n"})
    assert set(desk.changed()) == {"bill/split.py", "Agents.md"}


@pytest.mark.field_report("GIT-043")
def test_files_that_a_sparse_checkout_hides_are_no_deletions(desk: Bench) -> None:
    git(desk.tree, "sparse-checkout", "set", "--cone", "bill")
    assert not (desk.tree / "tests").exists()
    mend(desk)
    (desk.tree / "bill/__init__.py").unlink()
    desk.write({"tests/test_split.py": "# edited though excluded\n"})
    assert desk.changed() == {
        "bill/split.py": "modified",
        "bill/__init__.py": "deleted",
        "tests/test_split.py": "modified",
    }


def test_a_broken_index_of_the_agents_hides_nothing(desk: Bench) -> None:
    git(desk.tree, "sparse-checkout", "set", "--cone", "bill")
    (desk.workspace.admin / "index").write_bytes(b"DIRC garbage")
    desk.judge.renew()
    assert absent_by_sparse_checkout(desk.judge) == []


@pytest.mark.skipif(os.geteuid() == 0, reason="root reads every file")
def test_a_file_that_cannot_be_read_is_a_problem_with_its_name(desk: Bench) -> None:
    desk.write({"secret": "x"})
    (desk.tree / "secret").chmod(0)
    assert "secret" in desk.snapshot().problems[0]


def test_a_pipe_or_socket_in_the_worktree_does_not_hold_the_judge_up(desk: Bench) -> None:
    mend(desk)
    os.mkfifo(desk.tree / "pipe")
    assert set(desk.changed()) == {"bill/split.py"}


@pytest.mark.parametrize(
    "ends", ["* text=auto\n", "*.py text eol=crlf\n", "*.py working-tree-encoding=UTF-16\n"]
)
def test_line_ends_and_encodings_of_the_repository_are_kept(tmp_path: Path, ends: str) -> None:
    repo = make_repo(tmp_path / "theirs", extra_files={".gitattributes": ends, "win.txt": b"a\r\nb\r\n"})
    desk = bench(tmp_path, repo)
    assert not desk.snapshot().is_changed
    desk.write({"README.md": "# changed\n"})
    assert set(desk.changed()) == {"README.md"}


def test_each_round_starts_from_a_repository_that_nobody_touched(desk: Bench) -> None:
    mend(desk)
    first = desk.commit()
    (desk.judge.place / "info" / "attributes").write_text("* filter=x\n")
    (desk.judge.place / "objects" / "info" / "alternates").write_text("/nowhere\n")
    assert desk.commit() == first


@pytest.mark.field_report("GIT-041")
def test_what_the_agent_did_to_its_repository_is_named(desk: Bench, tmp_path: Path) -> None:
    before = fingerprint(desk.workspace)
    assert differences(before, fingerprint(desk.workspace)) == ()
    desk.play(git_agents.plants_commands(tmp_path / "agent", desk.repo.project))
    (desk.workspace.repository / "objects/info/alternates").write_text("/elsewhere\n")
    (desk.tree / ".git").unlink()
    names = {Path(name).name for name in differences(before, fingerprint(desk.workspace))}
    assert {"config", "alternates", ".git", "pre-commit"} <= names


def test_ordinary_work_with_git_trips_nothing(desk: Bench, tmp_path: Path) -> None:
    before = fingerprint(desk.workspace)
    desk.play(git_agents.commits_itself(tmp_path / "agent", desk.repo.project))
    desk.play(git_agents.detaches_and_commits_twice(tmp_path / "agent2", desk.repo.project))
    assert differences(before, fingerprint(desk.workspace)) == ()


@pytest.mark.field_report("GIT-041")
@pytest.mark.parametrize("layout", ["plain", "linked", "bare-with-worktrees"])
def test_a_flipped_core_bare_in_the_users_clone_is_put_back_and_told(
    desk: Bench, tmp_path: Path, layout: str
) -> None:
    repo = desk.repo
    if layout == "linked":
        repo = repo_layouts.linked_worktree(repo, tmp_path / "linked")
    if layout == "bare-with-worktrees":
        repo = repo_layouts.bare_with_worktrees(tmp_path / "layout")
    noted = UserConfig.note(desk.host.git, str(repo.checkout))
    assert noted is not None
    assert noted.mend(desk.host.git) == ()
    before = noted.path.read_bytes()
    flipped = b"false" if noted.bare == b"true" else b"true"
    git(repo.checkout, "config", "--file", str(noted.path), "core.bare", flipped.decode())
    told = noted.mend(desk.host.git)
    assert "core.bare" in told[1]
    assert noted.path.read_bytes() == before
    assert noted.mend(desk.host.git) == ()


@pytest.mark.field_report("GIT-041")
def test_another_change_in_the_users_clone_is_told_and_left(desk: Bench) -> None:
    noted = UserConfig.note(desk.host.git, desk.repo.url)
    assert noted is not None
    git(desk.repo.remote, "config", "user.name", "Somebody")
    assert len(noted.mend(desk.host.git)) == 1
    assert git(desk.repo.remote, "config", "user.name") == "Somebody"


def test_only_an_address_on_this_machine_has_a_clone_to_watch(desk: Bench, tmp_path: Path) -> None:
    assert local_path("/a b") == Path("/a b")
    assert local_path("file:///a%20b") == Path("/a b")
    assert local_path("https://host/a") is None
    assert local_path("git@host:a/b.git") is None
    assert UserConfig.note(desk.host.git, str(tmp_path / "none")) is None
    assert UserConfig.note(desk.host.git, str(tmp_path)) is None
