"""The checks that need nothing but our own records and the request."""

from pathlib import Path
from typing import Any

import pytest

from autopilot.config.git import Git
from autopilot.publish.checks import branch, content, ledger, repository
from autopilot.publish.context import Context
from autopilot.publish.progress import Progress
from autopilot.schemas.publication import ForgeSpec, PublishRequest
from tests.support.clock import FakeClock
from tests.unit.publish.builders import HEAD, OTHER, gate, gates, spec


def context(tmp_path: Path, *, claims: dict[str, object] | None = None, **other: Any) -> Context:  # noqa: ANN401
    wanted = spec(**other)
    request = PublishRequest.model_validate(
        {
            "id": "P-3",
            "ticket": "T-3",
            "run": wanted.run_id,
            "repo_id": "demo",
            "base": "main",
            "branch": "autopilot/t-3-x",
            "head": HEAD,
            "title": "t",
            "summary": "s",
            "created_ms": 1,
            **(claims or {}),
        }
    )
    clock = FakeClock()
    progress = Progress(tmp_path / "events", clock, "P-3")
    return Context(
        spec=wanted,
        request=None if claims == {} else request,
        request_fault="the request cannot be read" if claims == {} else "",
        git=Git(clock, tmp_path),
        clock=clock,
        progress=progress,
        folder=tmp_path,
    )


def github(**other: Any) -> ForgeSpec:  # noqa: ANN401 - any field
    values = {
        "kind": "github",
        "push_url": "https://forge.example/o/r.git",
        "api_url": "https://api.forge.example",
        "project": "o/r",
        "credential": "forge",
    }
    return ForgeSpec.model_validate({**values, **other})


@pytest.mark.covers("N04", "B11")
@pytest.mark.parametrize(
    "push_url",
    [
        "https://forge.example/o/r.git",
        "ssh://git@forge.example/o/r.git",
        "git@forge.example:o/r.git",
        "http://127.0.0.1:8080/o/r.git",
    ],
)
def test_an_address_of_the_configuration_is_accepted(tmp_path: Path, push_url: str) -> None:
    assert repository.check(context(tmp_path, forge=github(push_url=push_url))).passed


@pytest.mark.parametrize(
    "name", ["two words", 'it\'s "so"', "new\nline", "-rf", "$(id);*?[a]\\", "a::b", "ü"]
)
def test_the_local_forge_pushes_to_a_folder_of_any_name(tmp_path: Path, name: str) -> None:
    forge = ForgeSpec(kind="local", push_url=f"/srv/{name}", project="r", record_dir=tmp_path)
    assert repository.check(context(tmp_path, forge=forge)).passed


@pytest.mark.covers("N04")
@pytest.mark.parametrize(
    ("push_url", "why"),
    [
        ("", "empty"),
        ("--upload-pack=x", "starts with '-'"),
        ("https://forge.example/o/r.git\nx", "control character"),
        ("ext::sh -c evil", "blank"),
        ("ext::evil", "transport helper"),
        ("/srv/r.git", "only the local forge"),
        ("file:///srv/r.git", "only the local forge"),
        ("ftp://forge.example/r", "scheme"),
        ("http://forge.example/o/r.git", "not encrypted"),
        ("https://user:word@forge.example/o/r.git", "holds a credential"),
        ("https://token@forge.example/o/r.git", "holds a credential"),
        ("somewhere", "neither"),
    ],
)
def test_an_address_that_git_must_not_push_to_is_refused_without_repeating_it(
    tmp_path: Path, push_url: str, why: str
) -> None:
    found = repository.check(context(tmp_path, forge=github(push_url=push_url)))
    assert not found.passed
    assert any(why in reason for reason in found.reasons)
    assert not any("user:word" in reason or "token@" in reason for reason in found.reasons)


@pytest.mark.parametrize(
    ("field", "value"),
    [("project", "no-owner"), ("api_url", "http://forge.example"), ("credential", ""), ("api_url", "")],
)
def test_a_forge_that_is_not_configured_whole_is_refused(tmp_path: Path, field: str, value: str) -> None:
    assert not repository.check(context(tmp_path, forge=github(**{field: value}))).passed


@pytest.mark.covers("N03")
@pytest.mark.parametrize("claims", [{}, {"ticket": "T-9"}, {"run": "T-3-a2-76543210"}])
def test_a_request_of_another_run_or_none_at_all_is_refused(
    tmp_path: Path, claims: dict[str, object]
) -> None:
    assert not repository.check(context(tmp_path, claims=claims)).passed


def test_a_branch_of_our_own_record_passes(tmp_path: Path) -> None:
    assert branch.check(context(tmp_path)).passed


@pytest.mark.covers("N05", "N38")
@pytest.mark.parametrize(
    ("records", "claims"),
    [
        ({"recorded_branch": "autopilot/t-4-y"}, None),
        ({}, {"branch": "autopilot/other"}),
        ({}, {"head": OTHER}),
        ({}, {"base": "develop"}),
    ],
)
def test_a_branch_commit_or_base_that_the_records_do_not_know_is_refused(
    tmp_path: Path, records: dict[str, object], claims: dict[str, object] | None
) -> None:
    assert not branch.check(context(tmp_path, claims=claims, **records)).passed


@pytest.mark.covers("N06")
@pytest.mark.parametrize("name", ["main", "Master", "develop", "release/1.0", "hotfix/x", "trunk"])
def test_a_protected_branch_or_the_base_itself_is_refused(tmp_path: Path, name: str) -> None:
    found = branch.check(context(tmp_path, branch=name, recorded_branch=name, base="trunk"))
    assert any(name in reason for reason in found.reasons)


@pytest.mark.parametrize("name", ["-delete", "a b", "a..b", "x.lock", "refs/\nheads"])
def test_a_branch_name_that_git_could_misread_is_refused_by_field(tmp_path: Path, name: str) -> None:
    found = branch.check(context(tmp_path, branch=name, recorded_branch=name))
    assert any(reason.startswith("the branch") for reason in found.reasons)


@pytest.mark.covers("N09", "J16")
def test_every_mandatory_gate_must_be_green_for_exactly_this_commit(tmp_path: Path) -> None:
    assert ledger.check(context(tmp_path)).passed


@pytest.mark.covers("N09", "J16")
@pytest.mark.parametrize(
    ("records", "why"),
    [
        ((), "the gate build has no verdict"),
        (gates(head=OTHER), "the gate build has no verdict"),
        (gates(base=OTHER), "the gate build has no verdict"),
        ((*gates(), gate("build", verdict="failed", reason="red")), "the gate build is failed: red"),
        ((*gates(), gate("evidence", verdict="error")), "the gate evidence is error"),
        ((*gates(), gate("evidence", verdict="skipped")), "the gate evidence is skipped"),
        ((*gates(), gate("build", verdict="not-applicable")), "the gate build is not-applicable"),
    ],
)
def test_a_gate_without_a_green_verdict_of_its_own_refuses(
    tmp_path: Path, records: tuple[object, ...], why: str
) -> None:
    found = ledger.check(context(tmp_path, recorded_gates=records))
    assert any(reason.startswith(why) for reason in found.reasons)


@pytest.mark.parametrize(
    ("path", "target"),
    [("a", "b"), ("d/a", "../b"), ("d/e/a", "../../b/c"), ("a", "./b"), ("d/a", "b")],
)
def test_a_link_inside_the_tree_is_allowed(path: str, target: str) -> None:
    assert content.link_fault(path, target) is None


@pytest.mark.parametrize(
    ("path", "target"),
    [
        ("a", "/etc/passwd"),
        ("a", ".."),
        ("a", "../b"),
        ("d/a", "../../b"),
        ("d/a", "s/../../b"),
        ("a", "b/../c"),
        ("a", ".git/config"),
        ("a", ".GIT/hooks"),
        ("d/a", "../git~1"),
    ],
)
def test_a_link_that_may_lead_out_of_the_tree_is_refused(path: str, target: str) -> None:
    assert content.link_fault(path, target)


@pytest.mark.parametrize(
    "path",
    [
        ".github/workflows/ci.yml",
        ".gitlab-ci.yml",
        "sub/Jenkinsfile",
        "package.json",
        "go.mod",
        "a/.gitattributes",
    ],
)
def test_a_file_that_a_reviewer_must_look_at_is_noted(path: str) -> None:
    assert content.notes([path])


def test_ordinary_files_are_not_noted() -> None:
    assert content.notes(["src/package.json.py", "docs/workflows/x.yml", "README.md"]) == ()
