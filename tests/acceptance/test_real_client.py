"""Real Claude Code, a scripted model on loopback, and the whole path from the queue to the draft."""

from __future__ import annotations

import json
import os
import shlex
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from autopilot.config.clock import SystemClock
from tests.acceptance.conftest import MakePerson
from tests.support.claude_cli import client_environment
from tests.support.fixtures import MakeModel
from tests.support.gitcmd import git
from tests.support.person import Person
from tests.support.processes import of_home
from tests.support.repos import Repo, make_repo
from tests.support.scenarios import library
from tests.support.scenarios.steps import Scenario
from tests.support.wait import wait_until

pytestmark = [pytest.mark.slow, pytest.mark.timeout(300)]

KEY = "made-up-key-of-the-model"
FOREIGN = {
    "AUTOPILOT_SECRET_FORGE": "made-up-forge-token",
    "GITHUB_TOKEN": "made-up-github-token",
    "OPENAI_API_KEY": "made-up-key-of-another",
    "CLAUDE_CODE_SESSION_ID": "of-the-person",
    "GIT_DIR": "/nowhere/.git",
}
Night = Callable[..., Person]


@pytest.fixture
def repo(tmp_path: Path) -> Repo:
    return make_repo(tmp_path / "repositories")


@pytest.fixture
def night(
    tmp_path: Path, repo: Repo, make_person: MakePerson, make_model: MakeModel, claude_binary: Path
) -> Night:
    """A person who has the client installed, a key in the shell, and a model that plays these scenarios."""

    def make(*scenarios: Scenario, auth: dict[str, str] | None = None, **settings: Any) -> Person:  # noqa: ANN401
        model = make_model(*scenarios)
        program = tmp_path / "claude"
        seen = '[ -z "$TMPDIR" ] || env -0 > "$TMPDIR/environment"'
        program.write_text(f'#!/bin/sh\n{seen}\nexec {shlex.quote(str(claude_binary))} "$@"\n')
        program.chmod(0o755)
        sandbox = {"readable": [str(claude_binary.parent)]}  # beside the program that is configured
        shell = {
            "PATH": client_environment(model.url, tmp_path / "unused")["PATH"],
            "ANTHROPIC_BASE_URL": model.url,
            **(auth or {"ANTHROPIC_API_KEY": KEY}),
            **FOREIGN,
        }
        claude = {"kind": "claude", "argv": [str(program)], **settings.pop("agent", {})}
        return make_person(
            repos={"bill": repo}, agents={"claude": claude}, env=shell, sandbox=sandbox, **settings
        )

    return make


def environment_of_the_client(person: Person, name: str) -> dict[str, str]:
    (folder,) = person.run_folders(name)
    entries = os.fsdecode((folder / "tmp" / "environment").read_bytes()).split("\0")
    return dict(entry.split("=", 1) for entry in entries if entry)


def result_event(person: Person, name: str) -> dict[str, Any]:
    """The last result event of the client's own stream, as it was stored."""
    (folder,) = person.run_folders(name)
    lines = (folder / "agent-1.log").read_text(encoding="utf-8").splitlines()
    found: dict[str, Any] = [json.loads(line) for line in lines if '"type":"result"' in line][-1]
    return found


@pytest.mark.covers("B04", "B05", "G04", "N17")
def test_the_real_client_mends_a_red_test_and_the_morning_finds_a_draft_with_its_cost(
    night: Night, repo: Repo
) -> None:
    person = night(library.read_edit_test_finish(repo.project))
    person.begins()
    name = person.adds("Lose no cent when a bill is split")
    ticket = person.waits(name)
    assert ticket["state"] == "published", person.does("why", name)
    (draft,) = person.drafts("bill")
    assert (draft.draft, draft.head, draft.base) == (True, ticket["head"], "main")
    assert git(repo.remote, "show", f"{draft.head}:{repo.project.broken_path}") == (
        repo.project.fixed_file().rstrip("\n")
    )
    cost_usd = result_event(person, name)["total_cost_usd"]
    assert cost_usd > 0
    assert ticket["spent_micro_usd"] == round(cost_usd * 1_000_000)
    digest = person.does("digest")
    assert f"${cost_usd:.2f}" in digest
    assert ticket["pr_url"] in digest
    assert person.asks("budget")["money"]["settled_micro_usd"] == ticket["spent_micro_usd"]
    environment = environment_of_the_client(person, name)
    assert environment["ANTHROPIC_API_KEY"]
    assert KEY not in environment.values(), "what signs it in stays outside"
    assert (environment["AUTOPILOT_UNATTENDED"], environment["MULTI_AGENT_UNATTENDED"]) == ("1", "1")
    assert not FOREIGN.keys() & environment.keys()


@pytest.mark.covers("B09")
def test_a_key_that_is_not_accepted_parks_the_ticket_for_a_credential(night: Night) -> None:
    person = night(library.unauthorized())
    person.begins()
    ticket = person.waits(person.adds("Lose no cent"))
    assert (ticket["state"], ticket["waiting_for"]) == ("parked", "credential")
    told = person.does("why", ticket["id"])
    assert "not accepted" in told
    assert "ANTHROPIC_API_KEY" in told
    assert not person.drafts("bill")


def test_a_used_up_window_gives_the_ticket_back_and_holds_the_agent_until_it_opens(night: Night) -> None:
    resets_s = SystemClock().now_ms() // 1000 + 7200
    auth = {"CLAUDE_CODE_OAUTH_TOKEN": "made-up-login"}
    person = night(library.usage_limit(resets_s), auth=auth, agent={"billing": "subscription"})
    person.begins()
    first, second = person.adds("Lose no cent"), person.adds("Round no cent up")
    hold = person.waits_for_hold("agent-limited", "agent:claude")
    assert 0 <= hold["clears_ms"] - resets_s * 1000 <= 60_000
    ticket = person.ticket(first)
    assert (ticket["state"], ticket["attempts"], ticket["releases"]) == ("queued", 0, 1)
    assert {one["name"] for one in person.asks("why", second)["holds"]} == {"agent-limited"}
    assert person.ticket(second)["sessions"] == 0
    assert [window["agent"] for window in person.asks("status")["agent_windows"]] == ["claude"]


@pytest.mark.covers("F06")
def test_a_run_that_reaches_its_ceiling_is_parked_for_a_person_with_what_it_cost(night: Night) -> None:
    person = night(library.spend(output_tokens=4000), run_ceiling_usd=0.2)
    person.begins()
    ticket = person.waits(person.adds("Lose no cent"))
    assert (ticket["state"], ticket["waiting_for"]) == ("parked", "budget"), ticket
    assert 200_000 <= ticket["spent_micro_usd"] < 600_000
    assert "run_ceiling_usd" in person.does("why", ticket["id"])


@pytest.mark.field_report("AGT-020")
def test_a_tool_that_was_refused_is_named_and_not_tried_again_unchanged(night: Night) -> None:
    person = night(library.run_shell("curl --silent https://example.invalid/"))
    person.begins()
    ticket = person.waits(person.adds("Lose no cent"))
    assert (ticket["state"], ticket["waiting_for"], ticket["sessions"]) == ("parked", "no-changes", 1)
    assert "Bash(curl" in person.does("why", ticket["id"])


@pytest.mark.covers("B09", "B10")
def test_a_question_of_the_model_is_answered_by_a_person_and_the_work_goes_on(
    night: Night, repo: Repo
) -> None:
    asking = library.say("AUTOPILOT-QUESTION: Who gets the odd cent?")
    mending = library.read_edit_test_finish(repo.project, when="The first ones do.")
    person = night(mending, asking)
    person.begins()
    name = person.adds("Lose no cent")
    assert person.waits(name)["waiting_for"] == "questions"
    assert "Who gets the odd cent?" in person.does("digest")
    person.does("answer", name, "The first ones do.")
    assert person.waits(name, "published", "failed")["state"] == "published"
    assert len(person.drafts("bill")) == 1


@pytest.mark.field_report("AGT-010")
def test_cancelling_ends_the_real_client_and_everything_it_started(
    tmp_path: Path, night: Night, repo: Repo, claude_binary: Path
) -> None:
    def clients() -> list[str]:
        words = ((one.info["exe"], *(one.info["cmdline"] or ())) for one in of_home(tmp_path))
        return [said[0] for said in words if str(claude_binary) in said]

    person = night(library.edit_then_hang(repo.project))
    person.begins()
    name = person.adds("Lose no cent")
    worktree = person.paths.worktree(name)
    broken = worktree / repo.project.broken_path
    wait_until(
        lambda: broken.exists() and broken.read_text() == repo.project.fixed_file(),
        60,
        "the client has edited",
    )
    assert str(claude_binary) in clients()
    person.does("cancel", name)
    assert person.waits(name)["state"] == "cancelled"
    assert clients() == []
    assert not person.drafts("bill")


def test_a_daemon_that_is_killed_finds_the_real_client_at_work_and_pays_for_it_once(
    night: Night, repo: Repo
) -> None:
    steps = library.read_edit_test_finish(repo.project).steps
    slow = replace(steps[-1], hang_s=4.0)
    person = night(Scenario((*steps[:-1], slow)))
    person.begins()
    name = person.adds("Lose no cent")
    broken = person.paths.worktree(name) / repo.project.broken_path
    wait_until(
        lambda: broken.exists() and broken.read_text() == repo.project.fixed_file(),
        60,
        "the client has edited",
    )
    person.daemon.kill()
    person.daemon.start()
    ticket = person.waits(name)
    assert (ticket["state"], ticket["sessions"]) == ("published", 1), person.does("why", name)
    assert ticket["spent_micro_usd"] == round(result_event(person, name)["total_cost_usd"] * 1_000_000)
