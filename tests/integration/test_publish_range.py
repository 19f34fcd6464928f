"""What the commits bring is looked at in every commit of the range, in a bare repository."""

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.support.gitcmd import git
from tests.support.publication import (
    BASE_FILES,
    BRANCH,
    FIX,
    MESSAGE,
    Publication,
    commit,
    local_publication,
    make_publication,
)
from tests.support.publisher import branches, local_pull_requests, look, run_publisher
from tests.support.repos import commit_files, init_bare

SECRET = "ghp" + "_" + "R9dK2mQ7xV4bT8nL1cF6hJ3pZ5wY0sAaGgE4"
LINE = f'TOKEN = "{SECRET}"\n'


@pytest.fixture
def publication(tmp_path: Path) -> Publication:
    return local_publication(tmp_path)


def added_then_removed(made: Publication) -> str:
    first = commit(made, {"a.py": LINE})
    return commit(made, {"a.py": "TOKEN = read()\n"}, onto=first)


def in_the_message(made: Publication) -> str:
    return commit(made, FIX, f"Deploy with {SECRET}\n\nRef: T-3\n")


def in_a_file_name(made: Publication) -> str:
    return commit(made, FIX | {f"{SECRET}.txt": "x\n"})


def without_a_diff(made: Publication) -> str:
    return commit(made, {".gitattributes": "* -diff\n", "a.py": LINE})


def in_a_binary_file(made: Publication) -> str:
    return commit(made, {"a.bin": b"\0\1\2\xff" + LINE.encode() + b"\0"})


def in_utf_16(made: Publication) -> str:
    return commit(made, {"a.ini": LINE.encode("utf-16")})


def in_a_lock_file(made: Publication) -> str:
    return commit(made, {"package-lock.json": LINE})


def with_an_allow_comment(made: Publication) -> str:
    files = {"a.py": LINE.strip() + "  # gitleaks:allow\n", ".gitleaks.toml": "[allowlist]\npaths=['.*']\n"}
    return commit(made, files)


def in_a_merge_only(made: Publication) -> str:
    side = commit_files(made.source, "side", {"b.py": "x\n"}, message=MESSAGE, parentless=True)
    evil = commit(made, {"a.py": LINE})
    tree = git(made.source, "rev-parse", f"{evil}^{{tree}}")
    return git(made.source, "commit-tree", tree, "-p", made.base_sha, "-p", side, "-m", MESSAGE)


@pytest.mark.covers("N10", "T09")
@pytest.mark.parametrize(
    "hide",
    [
        added_then_removed,
        in_the_message,
        in_a_file_name,
        without_a_diff,
        in_a_binary_file,
        in_utf_16,
        in_a_lock_file,
        with_an_allow_comment,
        in_a_merge_only,
    ],
)
def test_a_secret_anywhere_in_the_range_is_found_and_never_shown(
    publication: Publication, hide: Callable[[Publication], str]
) -> None:
    found = look(publication.with_head(hide(publication)), "staging", "secrets")["secrets"]
    assert any("github-token" in reason for reason in found.reasons)
    assert SECRET not in repr(found)


@pytest.mark.covers("N10", "T09")
def test_a_secret_stops_the_publication_and_is_in_no_file_of_ours(publication: Publication) -> None:
    done = run_publisher(publication.with_head(added_then_removed(publication)))
    assert "github-token" in done.reasons("secrets")
    assert SECRET not in publication.verdict_file.read_text()
    assert SECRET not in done.output + str(done.events)
    assert branches(publication.remote).keys() == {"main"}


@pytest.mark.covers("N10")
def test_a_secret_that_the_base_already_holds_does_not_stop_another_change(tmp_path: Path) -> None:
    remote = init_bare(tmp_path / "remote.git")
    commit_files(remote, "main", BASE_FILES | {"old.py": LINE}, message="Initial commit")
    forge = {"kind": "local", "push_url": str(remote), "record_dir": str(tmp_path / "forge")}
    made = make_publication(tmp_path, remote, forge, FIX | {"old.py": LINE + "x = 1\n"})
    assert look(made, "staging", "secrets")["secrets"].passed
    moved = made.with_head(commit(made, {"new.py": LINE}))
    assert not look(moved, "staging", "secrets")["secrets"].passed


@pytest.mark.covers("N10")
@pytest.mark.parametrize("claim", [{"title": LINE}, {"summary": LINE}, {"notes": [LINE]}])
def test_a_secret_in_the_text_of_the_request_is_found(
    publication: Publication, claim: dict[str, object]
) -> None:
    found = look(publication.with_claims(**claim), "staging", "outbound")["outbound"]
    assert any("github-token" in reason for reason in found.reasons)
    assert SECRET not in repr(found)


def with_mode(made: Publication, mode: str, name: str, content: bytes | str) -> str:
    """Commit one entry of an unusual mode; text is an object name."""
    source = made.source
    sha = content if isinstance(content, str) else git(source, "hash-object", "-w", "--stdin", stdin=content)
    index = {"GIT_INDEX_FILE": str(made.root / "index")}
    git(source, "read-tree", made.head, extra_env=index)
    git(source, "update-index", "--add", "--cacheinfo", f"{mode},{sha},{name}", extra_env=index)
    tree = git(source, "write-tree", extra_env=index)
    return git(source, "commit-tree", tree, "-p", made.base_sha, "-m", MESSAGE)


def content_of(publication: Publication, head: str) -> str:
    """What the check of the content has against a commit."""
    return "; ".join(look(publication.with_head(head), "staging", "content")["content"].reasons)


@pytest.mark.parametrize(
    ("target", "why"),
    [
        (b"/etc/passwd", "leads to an absolute path"),
        (b"../../etc/passwd", "leads out of the tree"),
        (b".git/config", "repository's own folder"),
    ],
)
def test_a_symbolic_link_out_of_the_tree_is_refused(
    publication: Publication, target: bytes, why: str
) -> None:
    assert why in content_of(publication, with_mode(publication, "120000", "link", target))


@pytest.mark.field_report("AGT-032")
def test_a_symbolic_link_inside_the_tree_is_published(publication: Publication) -> None:
    assert content_of(publication, with_mode(publication, "120000", "link", b"shares.txt")) == ""


@pytest.mark.field_report("AGT-033")
def test_a_submodule_is_refused(publication: Publication) -> None:
    head = with_mode(publication, "160000", "sub", publication.base_sha)
    assert "a submodule changes: `sub`" in content_of(publication, head)


def test_submodule_settings_are_refused(publication: Publication) -> None:
    head = commit(
        publication, FIX | {".gitmodules": '[submodule "x"]\n\tpath = x\n\turl = https://x.example/y\n'}
    )
    assert "submodule settings change" in content_of(publication, head)


def test_a_file_over_five_mebibytes_is_refused_also_when_it_was_removed_again(
    publication: Publication,
) -> None:
    first = commit(publication, {"big.bin": b"\0" * (5 * 1024 * 1024 + 1)})
    head = commit(publication, FIX | {"big.bin": "small now\n"}, onto=first)
    found = look(publication.with_head(head), "staging", "content", "secrets")
    assert found["content"].reasons == ("larger than 5 MiB (5,242,881 bytes): `big.bin`",)
    assert any("not scanned" in reason for reason in found["secrets"].reasons)


def test_a_file_of_exactly_five_mebibytes_is_published(publication: Publication) -> None:
    head = commit(publication, FIX | {"big.bin": b"\0" * (5 * 1024 * 1024)})
    found = look(publication.with_head(head), "staging", "content", "secrets")
    assert [name for name, findings in found.items() if not findings.passed] == []


def test_a_large_file_pointer_whose_content_nobody_pushes_is_refused(publication: Publication) -> None:
    pointer = f"version https://git-lfs.github.com/spec/v1\noid sha256:{'a' * 64}\nsize 12\n"
    head = commit(publication, FIX | {"model.bin": pointer})
    assert "a Git LFS pointer" in content_of(publication, head)


@pytest.mark.covers("N26")
def test_ci_files_and_manifests_are_published_and_pointed_out(publication: Publication) -> None:
    files = FIX | {".github/workflows/ci.yml": "on: push\n", "pyproject.toml": "[project]\nname = 'x'\n"}
    done = run_publisher(publication.with_head(commit(publication, files)))
    assert done.verdict["outcome"] == "pr-opened"
    assert "a CI file changes: `.github/workflows/ci.yml`" in done.check("content")["reasons"]
    (draft,) = local_pull_requests(publication)
    _, _, risks = draft["body"].partition("## Risk and Security\n")
    assert "\n- a CI file changes: `.github/workflows/ci.yml`\n" in risks.partition("\n## ")[0]
    assert "## Dependencies\n\n- `pyproject.toml` changes" in draft["body"]
    assert BRANCH in branches(publication.remote)
