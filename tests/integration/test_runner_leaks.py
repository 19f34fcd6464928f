"""A credential of the agent's own does not get into a commit, however it is written."""

from __future__ import annotations

import base64
import textwrap
from pathlib import Path
from urllib.parse import quote

import pytest

from autopilot.config.clock import SystemClock
from autopilot.config.git import Git
from autopilot.runner.leaks import leaks
from autopilot.schemas.run import Outcome
from tests.support.gitcmd import git
from tests.support.repos import Repo, commit_files, init_bare
from tests.support.runs import Host, run_here
from tests.support.small_project import small_repo

OWN = "plain+words/of the agent 4711"
WAYS = {
    "as it is": f"key = {OWN}\n",
    "in an address": f"https://x.example/?k={quote(OWN, '')}\n",
    "in base64": base64.b64encode(f"k={OWN}".encode()).decode(),
    "in base64, one further": base64.b64encode(f"ab{OWN}c".encode()).decode(),
    "in base64 for addresses": base64.urlsafe_b64encode(f"abc{OWN}".encode()).decode(),
    "in hexadecimal": OWN.encode().hex(),
    "in hexadecimal, upper case": OWN.encode().hex().upper(),
    "in base64, by lines": "\n  ".join(textwrap.wrap(base64.b64encode(OWN.encode()).decode(), 20)),
    "in hexadecimal, by lines": "\r\n".join(textwrap.wrap(OWN.encode().hex(), 30)),
}


@pytest.fixture
def small(tmp_path: Path) -> Repo:
    return small_repo(tmp_path / "theirs")


def writes(path: str, text: str) -> list[dict[str, object]]:
    return [
        {"write": {"path": "answer.txt", "text": "right\n"}},
        {"write": {"path": path, "text": text}},
        {"say": "Mended."},
    ]


@pytest.mark.field_report("SEC-006")
@pytest.mark.parametrize("way", WAYS)
def test_no_commit_is_made_of_it_and_the_agent_is_told_where_it_stands(
    host: Host, small: Repo, monkeypatch: pytest.MonkeyPatch, way: str
) -> None:
    monkeypatch.setenv("MODEL_SIGN_IN", OWN)
    steps = writes("notes/env.md", WAYS[way])
    agent = host.agent(steps, steps, steps).model_copy(update={"env_pass": ("MODEL_SIGN_IN",)})
    spec = host.spec(small, agent)
    result = run_here(spec)
    assert (result.outcome, result.code) == (Outcome.AGENT_FAILED, "not-committable")
    assert "notes/env.md" in result.message
    assert OWN not in result.model_dump_json()
    assert not spec.pr_request.exists()
    assert "notes/env.md" in (spec.run_dir / "prompt-2.md").read_text(encoding="utf-8")


def test_a_name_that_holds_it_is_found_and_not_said_again(
    host: Host, small: Repo, monkeypatch: pytest.MonkeyPatch
) -> None:
    own = "named-like-a-key-4711"
    monkeypatch.setenv("MODEL_SIGN_IN", own)
    steps = writes(f"{own}.txt", "x\n")
    agent = host.agent(steps, steps, steps).model_copy(update={"env_pass": ("MODEL_SIGN_IN",)})
    result = run_here(host.spec(small, agent))
    assert result.code == "not-committable"
    assert own not in result.model_dump_json()


def test_an_agent_that_takes_it_out_goes_on(host: Host, small: Repo, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MODEL_SIGN_IN", OWN)
    agent = host.agent(writes("env.md", OWN), writes("env.md", "none\n"))
    agent = agent.model_copy(update={"env_pass": ("MODEL_SIGN_IN",)})
    assert run_here(host.spec(small, agent)).outcome is Outcome.COMMITTED


def test_a_link_that_leads_to_it_holds_it(tmp_path: Path) -> None:
    """What a link holds is where it leads: no file was there to be looked into, and it was committed."""
    repository = init_bare(tmp_path / "r.git")
    base = commit_files(repository, "main", {"a.txt": "x"})
    blob = git(repository, "hash-object", "-w", "--stdin", stdin=OWN.encode())
    tree = git(repository, "mktree", stdin=f"120000 blob {blob}\tnotes\n".encode())
    ours = Git(SystemClock(), scratch=tmp_path / "scratch")
    assert "notes" in "".join(leaks(ours, repository, base=base, tree=tree, secrets=(OWN,)))
    assert leaks(ours, repository, base=base, tree=tree, secrets=("another value 4711",)) == ()
