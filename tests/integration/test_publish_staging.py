"""The staging repository takes one exact commit from a repository that may be hostile, and nothing else."""

import os
from pathlib import Path

import pytest

from autopilot.publish.staging import source_faults
from tests.support.gitcmd import git
from tests.support.publication import BRANCH, FIX, MESSAGE, Publication, commit, local_publication
from tests.support.publisher import branches, local_pull_requests, look, run_publisher
from tests.support.repo_traps import write_script
from tests.support.repos import commit_files, init_bare

pytestmark = pytest.mark.covers("N12")


@pytest.fixture
def publication(tmp_path: Path) -> Publication:
    return local_publication(tmp_path)


def test_no_configuration_hook_or_redirect_of_the_run_takes_part(
    publication: Publication, tmp_path: Path
) -> None:
    mark, elsewhere = tmp_path / "mark", init_bare(tmp_path / "elsewhere.git")
    trap = write_script(tmp_path / "trap", f'echo "$0 $*" >> {mark}\nexit 1')
    source = publication.source
    for name in ("pre-push", "reference-transaction", "post-index-change", "pre-receive", "update"):
        write_script(source / "hooks" / name, f"echo {name} >> {mark}\nexit 1")
    for key, value in {
        "core.hooksPath": str(source / "hooks"),
        "core.fsmonitor": str(trap),
        "core.sshCommand": str(trap),
        "core.gitProxy": str(trap),
        "core.askPass": str(trap),
        "core.pager": str(trap),
        "core.alternateRefsCommand": str(trap),
        "credential.helper": str(trap),
        "diff.external": str(trap),
        "diff.evil.textconv": str(trap),
        "filter.evil.smudge": str(trap),
        "uploadpack.packObjectsHook": str(trap),
        "remote.origin.uploadpack": str(trap),
        "remote.origin.receivepack": str(trap),
        f"url.{elsewhere}.insteadOf": str(publication.remote),
        f"url.{elsewhere}.pushInsteadOf": str(publication.remote),
    }.items():
        git(source, "config", key, value)
    (source / "info").mkdir(exist_ok=True)
    (source / "info" / "attributes").write_text("* diff=evil filter=evil\n")
    done = run_publisher(publication)
    assert done.verdict["outcome"] == "pr-opened"
    assert not mark.exists()
    assert branches(elsewhere) == {}
    assert branches(publication.remote)[BRANCH] == publication.head


def test_no_git_variable_or_configuration_of_the_operator_takes_part(
    publication: Publication, tmp_path: Path
) -> None:
    mark, elsewhere = tmp_path / "mark", init_bare(tmp_path / "elsewhere.git")
    template = tmp_path / "template"
    for name in ("pre-push", "reference-transaction"):
        write_script(template / "hooks" / name, f"echo {name} >> {mark}\nexit 1")
    home = tmp_path / "home"
    home.mkdir()
    (home / ".gitconfig").write_text(
        f'[url "{elsewhere}"]\n  insteadOf = {publication.remote}\n'
        f"[core]\n  hooksPath = {template / 'hooks'}\n[push]\n  followTags = true\n"
    )
    done = run_publisher(
        publication,
        HOME=str(home),
        GIT_TEMPLATE_DIR=str(template),
        GIT_DIR=str(elsewhere),
        GIT_WORK_TREE=str(tmp_path),
        GIT_CONFIG_COUNT="1",
        GIT_CONFIG_KEY_0="core.hooksPath",
        GIT_CONFIG_VALUE_0=str(template / "hooks"),
        GIT_TRACE=str(tmp_path / "trace"),
    )
    assert done.verdict["outcome"] == "pr-opened"
    assert not mark.exists()
    assert not (tmp_path / "trace").exists()
    assert branches(elsewhere) == {}


def staged(publication: Publication) -> tuple[str, ...]:
    """What the staging has against the run's repository."""
    return look(publication, "staging")["staging"].reasons


def hide_behind_replacement(publication: Publication) -> None:
    good = commit(publication, FIX)
    bad = commit(publication, {"shares.txt": "0\n"})
    git(publication.source, "replace", good, bad)


def hide_behind_packed_replacement(publication: Publication) -> None:
    hide_behind_replacement(publication)
    git(publication.source, "pack-refs", "--all")


def graft_history(publication: Publication) -> None:
    (publication.source / "info").mkdir(exist_ok=True)
    (publication.source / "info" / "grafts").write_text(f"{publication.head}\n")


def pretend_to_be_shallow(publication: Publication) -> None:
    (publication.source / "shallow").write_text(f"{publication.head}\n")


def borrow_from_a_stranger(publication: Publication) -> None:
    stranger = init_bare(publication.root / "stranger.git")
    alternates = publication.source / "objects" / "info" / "alternates"
    alternates.write_text(f"{publication.mirror / 'objects'}\n{stranger / 'objects'}\n")


def borrow_over_http(publication: Publication) -> None:
    (publication.source / "objects" / "info" / "http-alternates").write_text("http://127.0.0.1:1/x\n")


def link_the_objects(publication: Publication) -> None:
    objects = publication.source / "objects"
    objects.rename(publication.source / "real")
    objects.symlink_to("real")


def point_at_another_repository(publication: Publication) -> None:
    (publication.source / "commondir").write_text(str(publication.mirror))


def be_a_worktree(publication: Publication) -> None:
    git_dir = publication.source.with_name("moved.git")
    publication.source.rename(git_dir)
    publication.source.mkdir()
    (publication.source / ".git").write_text(f"gitdir: {git_dir}\n")


@pytest.mark.parametrize(
    "tamper",
    [
        hide_behind_replacement,
        hide_behind_packed_replacement,
        graft_history,
        pretend_to_be_shallow,
        borrow_from_a_stranger,
        borrow_over_http,
        link_the_objects,
        point_at_another_repository,
        be_a_worktree,
    ],
)
def test_a_repository_that_shows_other_objects_than_its_own_is_refused(
    publication: Publication, tamper: object
) -> None:
    assert list(source_faults(publication.source, publication.mirror)) == []
    assert callable(tamper)
    tamper(publication)
    assert any("the run's repository" in reason for reason in staged(publication))


def tree_entry(source: Path, mode: str, kind: str, sha: str, name: str) -> str:
    return git(source, "mktree", stdin=f"{mode} {kind} {sha}\t{name}\n".encode())


@pytest.mark.parametrize("name", [".git", ".GIT", "git~1", "..", "."])
def test_a_tree_with_the_name_of_a_repository_folder_is_refused(publication: Publication, name: str) -> None:
    source = publication.source
    blob = git(source, "hash-object", "-w", "--stdin", stdin=b"[core]\n")
    inner = tree_entry(source, "100644", "blob", blob, "config")
    raw = b"40000 " + name.encode() + b"\0" + bytes.fromhex(inner)
    tree = git(source, "hash-object", "-t", "tree", "-w", "--literally", "--stdin", stdin=raw)
    head = git(source, "commit-tree", tree, "-p", publication.base_sha, "-m", MESSAGE)
    assert staged(publication.with_head(head))


def test_a_commit_with_missing_objects_is_refused(publication: Publication) -> None:
    blob = git(publication.source, "rev-parse", f"{publication.head}:shares.txt")
    (publication.source / "objects" / blob[:2] / blob[2:]).unlink()
    done = run_publisher(publication)
    assert done.reasons("staging")
    assert "not run: it needs staging" in done.reasons("secrets")
    assert branches(publication.remote).keys() == {"main"}


def test_a_commit_that_is_not_there_is_refused(publication: Publication) -> None:
    (reason,) = staged(publication.with_head("e" * 40))
    assert "could not be fetched whole" in reason


@pytest.mark.parametrize("kind", ["missing", "empty folder", "file"])
def test_a_repository_that_is_none_is_refused(publication: Publication, kind: str) -> None:
    publication.source.rename(publication.source.with_name("gone"))
    if kind == "empty folder":
        publication.source.mkdir()
    elif kind == "file":
        publication.source.write_text("x")
    (reason,) = staged(publication)
    assert "is missing or is not a bare repository" in reason


def test_a_commit_that_does_not_descend_from_the_base_is_refused(publication: Publication) -> None:
    head = commit_files(publication.source, "orphan", FIX, message=MESSAGE, parentless=True)
    (reason,) = look(publication.with_head(head), "staging", "ancestry")["ancestry"].reasons
    assert "does not descend from the recorded base" in reason


def test_an_empty_range_publishes_nothing(publication: Publication) -> None:
    done = run_publisher(publication.with_head(publication.base_sha))
    assert "no commit on top of the base" in done.reasons("ancestry")
    assert "the range is empty" in done.reasons("secrets")


def test_a_merge_is_not_published(publication: Publication) -> None:
    source = publication.source
    side = commit_files(source, "side", {"side.txt": "x\n"}, message=MESSAGE, parentless=True)
    tree = git(source, "rev-parse", f"{publication.head}^{{tree}}")
    head = git(source, "commit-tree", tree, "-p", publication.head, "-p", side, "-m", MESSAGE)
    found = look(publication.with_head(head), "staging", "ancestry")["ancestry"]
    assert any("has 2 parents" in reason for reason in found.reasons)


def test_several_commits_of_the_recorded_identity_are_published(publication: Publication) -> None:
    second = commit(publication, {"more.txt": "x\n"}, onto=publication.head)
    done = run_publisher(publication.with_head(second))
    assert done.verdict["outcome"] == "pr-opened"
    assert len(local_pull_requests(publication)) == 1


def test_modules_in_the_folder_it_starts_in_do_not_run(publication: Publication, tmp_path: Path) -> None:
    trap = tmp_path / "hostile"
    trap.mkdir()
    for name in ("httpx", "pydantic", "signal", "autopilot", "config"):
        (trap / f"{name}.py").write_text(f"open({str(tmp_path / 'mark')!r}, 'w').close()\n")
    done = run_publisher(publication, cwd=trap)
    assert done.verdict["outcome"] == "pr-opened"
    assert not (tmp_path / "mark").exists()


def test_files_of_the_publisher_are_private(publication: Publication) -> None:
    os.umask(0o022)
    run_publisher(publication)
    for path in (publication.verdict_file, publication.folder / "publish-events.jsonl"):
        assert path.stat().st_mode & 0o077 == 0
    assert (publication.folder / "work").stat().st_mode & 0o077 == 0
