"""Queueing, listing, explaining and acting on tickets, without a daemon; each verb also as a real process."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from autopilot.schemas.errors import ExitCode
from tests.support import in_order
from tests.support.cli import Cli, fill
from tests.support.shop import CONFIG


@pytest.fixture
def cli(tmp_path: Path) -> Iterator[Cli]:
    """An empty queue; it must be in order at the end."""
    made = Cli(tmp_path / "my home", config=CONFIG)
    yield made
    store = made.store()
    in_order.assert_in_order(store)
    store.close()


@pytest.fixture(scope="module")
def filled(tmp_path_factory: pytest.TempPathFactory) -> Cli:
    """A queue with a ticket in every resting state; for reading only."""
    made = Cli(tmp_path_factory.mktemp("filled"), config=CONFIG)
    fill(made)
    return made


def test_a_quoted_text_a_file_and_standard_input_become_tickets(cli: Cli, tmp_path: Path) -> None:
    ticket = tmp_path / "-a 'quoted' Ünïcode ticket.md"
    ticket.write_text("---\ntitle: Mend it\nrepo: till\npriority: urgent\n---\nBody — é\n")
    assert cli.ok("add", "--repo", "shop", "Mend the login") == "queued T-1: Mend the login (repo shop)\n"
    assert cli.ok("add", "--file", str(ticket)) == "queued T-2: Mend it (repo till)\n"
    made = json.loads(cli.ok("add", "--repo", "shop", "--json", "-", stdin="Third\n\nby pipe"))
    assert (made["is_new"], made["ticket"]["id"], made["ticket"]["body"]) == (True, "T-3", "by pipe")
    listed = json.loads(cli.ok("list", "--json"))["tickets"]
    assert [(each["id"], each["priority"]) for each in listed] == [("T-1", 2), ("T-2", 0), ("T-3", 2)]


def test_the_same_source_key_twice_is_one_ticket(cli: Cli) -> None:
    cli.told("add", "--repo", "shop", "--source-key", "o/r#12", "Mend the login")
    again = cli.told("add", "--repo", "shop", "--source-key", "o/r#12", "Mend the login, please")
    assert again == "was queued already as T-1: Mend the login (repo shop)\n"


@pytest.mark.parametrize(
    ("words", "code", "named", "cure"),
    [
        (["x"], "repo-needed", "repo", "say which: shop, till"),
        (["x", "--repo", "shpo"], "repo-unknown", "repo", "did you mean shop?"),
        (["x", "--repo", "zzz"], "repo-unknown", "repo", "known are shop, till"),
        (["x", "--repo", "shop", "--agent", "scriptd"], "agent-unknown", "agent", "did you mean scripted?"),
        (["x", "--repo", "shop", "--base=-rf"], "ticket-invalid", "base", ""),
        (["x", "--repo", "shop", "--base", "a b"], "ticket-invalid", "base", ""),
        (["x", "--repo", "shop", "--priority", "now"], "ticket-invalid", "priority", ""),
        (["x", "--repo", "shop", "--depends-on", "T-9"], "dependency-unknown", "T-9", ""),
        (["x", "--repo", "shop", "--not-before", "22:00"], "ticket-invalid", "not_before", ""),
        (["--title", "a\x1b[2Jb", "--repo", "shop"], "ticket-invalid", "title", ""),
        (["--file", "nowhere.md"], "file-unreadable", "nowhere.md", "check the path"),
        ([], "no-text", "no text", 'autopilot add "what to do"'),
        (["list"], "not-a-ticket", "'list' is a command", "did you mean: autopilot list?"),
        ([" Status "], "not-a-ticket", "'Status' is a command", "did you mean: autopilot status?"),
        (["#12"], "repo-needed", "more than one repository", "say which: shop#N, till#N"),
        (["shop#12"], "tracker-unknown", "its forge is local", "[tracker.github]"),
        (["x", "--source-key", " "], "ticket-invalid", "source_key", ""),
        (["x", "--source-key", ""], "empty-word", "--source-key", "not set?"),
        (["PROJ-7"], "tracker-unknown", "the project PROJ of PROJ-7", "[tracker.jira]"),
        (["#7", "#8"], "references-joined", "several issues", "autopilot add '#7'"),
        (["on now"], "not-a-ticket", "'on now' is a command", "did you mean: autopilot on --now?"),
    ],
)
def test_a_ticket_that_cannot_be_worked_on_is_refused_by_the_name_of_its_field(
    cli: Cli, words: list[str], code: str, named: str, cure: str
) -> None:
    said = cli.call("add", *words)
    assert (said.code, said.out) == (ExitCode.FAILED, "")
    assert named in said.err
    assert cure in said.err
    assert "\x1b" not in said.err
    assert "→" in said.err
    as_json = cli.call("add", "--json", *words)
    assert (as_json.code, as_json.error["code"]) == (ExitCode.FAILED, code)
    assert named in as_json.error["what"]


def test_without_a_repository_the_way_to_one_is_named(tmp_path: Path) -> None:
    said = Cli(tmp_path).run("add", "Mend the login")
    assert said.code == ExitCode.FAILED
    assert said.err == "autopilot: repo: no repository is configured\n  → run autopilot init inside one\n"


def test_bytes_that_are_no_text_are_refused_and_not_half_stored(cli: Cli) -> None:
    said = cli.run("add", "--repo", "shop", "--json", b"Mend \xff\xfe")
    assert said.code == ExitCode.FAILED
    assert said.error["code"] == "ticket-invalid"
    assert json.loads(cli.ok("list", "--json")) == {"tickets": []}


@pytest.mark.parametrize("verb", ["show", "why", "logs", "review", "cancel", "retry", "resume"])
@pytest.mark.parametrize("ticket", ["T-99", "t-0", "Mend", "../T-1"])
def test_a_ticket_that_does_not_exist_is_named(filled: Cli, verb: str, ticket: str) -> None:
    said = filled.call(verb, ticket)
    assert (said.code, said.out) == (ExitCode.FAILED, "")
    assert ticket.upper() in said.err.upper()
    assert "autopilot list" in said.err


def test_every_form_of_a_ticket_number_is_understood(filled: Cli) -> None:
    shown = {filled.told("show", form) for form in ("T-5", "t-5", "5")}
    assert len(shown) == 1


def test_the_list_filters_by_state_repository_and_number(filled: Cli) -> None:
    def listed(*words: str) -> list[str]:
        return [each["id"] for each in json.loads(filled.told("list", "--json", *words))["tickets"]]

    assert listed() == ["T-1", "T-2", "T-3", "T-4", "T-5", "T-6"]
    assert listed("--open") == ["T-2", "T-5", "T-6"]
    assert listed("--state", "failed", "--state", "cancelled") == ["T-3", "T-4"]
    assert listed("--limit", "2") == ["T-5", "T-6"]
    assert listed("--repo", "till") == []
    said = filled.call("list", "--repo", "tlil")
    assert (said.code, "did you mean till?" in said.err) == (ExitCode.FAILED, True)


def test_the_list_says_where_each_ticket_stands(filled: Cli) -> None:
    rows = filled.told("list").splitlines()
    assert rows[0].split() == ["ticket", "state", "priority", "repo", "title", "where", "it", "stands"]
    assert "https://forge.test/pr/1" in rows[1]
    assert "waits for questions" in rows[2]
    assert "urgent" in rows[6]


@pytest.mark.covers("B09")
def test_a_parked_ticket_is_in_the_list_the_status_and_the_digest_with_the_command_that_ends_it(
    filled: Cli,
) -> None:
    for words in (["status"], ["digest"], ["why", "T-2"]):
        told = filled.told(*words)
        assert "T-2" in told
        assert "autopilot answer T-2" in told
    assert "parked" in filled.told("list", "--state", "parked")


def test_why_names_every_hold_with_its_start_and_its_cure(filled: Cli) -> None:
    told = filled.told("why", "T-5")
    for name in ("switch-off", "dependency (ticket:T-5)", "breaker-open (agent:scripted)"):
        assert f"  {name}: " in told
    assert told.count(", since 20") == 3
    assert told.count("      → ") == 4
    assert "no daemon is running, so nothing moves" in told
    assert "next: it starts when no hold is left" in told
    holds = json.loads(filled.told("why", "--json", "T-5"))["holds"]
    assert [hold["name"] for hold in holds] == ["switch-off", "dependency", "breaker-open"]


@pytest.mark.parametrize(
    ("ticket", "told"),
    [
        ("T-1", "→ autopilot review T-1"),
        ("T-2", "next: autopilot answer T-2"),
        ("T-3", "next: autopilot logs T-3 shows its last words; then autopilot retry T-3"),
        ("T-4", "next: autopilot retry T-4"),
    ],
)
def test_why_names_the_command_that_moves_a_resting_ticket_on(filled: Cli, ticket: str, told: str) -> None:
    assert told in filled.told("why", ticket)


def test_show_tells_the_whole_story_of_a_ticket(filled: Cli) -> None:
    told = filled.told("show", "T-2")
    assert "question: Which currency" in told
    assert "(none yet)" in told
    assert [line.split()[3] for line in told.splitlines() if line.startswith("20")] == [
        "enqueue",
        "claim",
        "park",
    ]


@pytest.mark.covers("B10")
def test_an_answer_continues_a_parked_ticket_and_resume_retry_and_cancel_do_what_they_say(cli: Cli) -> None:
    fill(cli)
    assert cli.told("answer", "T-2", "EUR") == "T-2 is queued\n"
    shown = json.loads(cli.told("show", "T-2", "--json"))
    assert [each["answer"] for each in shown["exchanges"]] == ["EUR"]
    assert cli.told("retry", "T-3", "T-4") == "T-3 is queued\nT-4 is queued\n"
    assert cli.told("cancel", "3") == "T-3 is cancelled\n"
    moved = json.loads(cli.told("cancel", "--json", "T-5", "T-6"))
    assert [each["state"] for each in moved["tickets"]] == ["cancelled", "cancelled"]
    assert moved["refused"] == []


def test_an_answer_can_be_piped_in(cli: Cli) -> None:
    fill(cli)
    assert cli.told("answer", "T-2", "-", stdin="EUR,\nwith two decimals\n") == "T-2 is queued\n"
    shown = json.loads(cli.told("show", "T-2", "--json"))
    assert [each["answer"] for each in shown["exchanges"]] == ["EUR,\nwith two decimals"]


@pytest.mark.parametrize(
    ("words", "code"),
    [
        (["answer", "T-1", "yes"], "nothing-asked"),
        (["answer", "T-2", "one", "two"], "answers-missing"),
        (["review", "T-5"], "nothing-to-review"),
        (["logs", "T-5"], "no-run-yet"),
        (["logs", "T-1", "--run", ".."], "run-unknown"),
        (["logs", "T-1"], "run-gone"),
    ],
)
def test_what_a_tickets_state_does_not_allow_is_refused_with_the_way_on(
    filled: Cli, words: list[str], code: str
) -> None:
    said = filled.call(*words)
    assert (said.code, said.out) == (ExitCode.REFUSED, "")
    assert words[1] in said.err or "T-1-a1" in said.err
    assert "→" in said.err
    assert filled.call(*words, "--json").error["code"] == code


def test_one_refusal_does_not_hide_the_other_tickets(cli: Cli) -> None:
    fill(cli)
    said = cli.run("resume", "T-1", "T-2", "T-99")
    assert said.out == "T-2 is queued\n"
    assert said.code == ExitCode.FAILED
    assert "T-1 is published" in said.err
    assert "T-99" in said.err
    told = cli.run("retry", "--json", "T-1", "T-3").json()
    assert [each["id"] for each in told["tickets"]] == ["T-3"]
    assert [(each["ticket"], each["code"]) for each in told["refused"]] == [("T-1", "not-retryable")]


@pytest.mark.covers("E04")
def test_the_launch_breaker_is_shown_by_scope_and_closed_by_hand(cli: Cli) -> None:
    fill(cli)
    assert "agent:scripted  open   3" in cli.told("breaker")
    assert "agent:scripted  closed  0" in cli.told("breaker", "reset", "agent:scripted")
    assert cli.told("breaker", "reset") == "no breaker is open\n"
    unknown = cli.call("breaker", "reset", "agent:scripte", "--json")
    assert (unknown.code, unknown.error["hint"]) == (ExitCode.REFUSED, "did you mean agent:scripted?")


def test_the_budget_names_ceiling_spend_and_reservations(filled: Cli) -> None:
    told = filled.told("budget", "show")
    assert "$25.00 in any 24 hours" in told
    assert "$5.00" in told
    money = json.loads(filled.told("budget", "--json"))["money"]
    assert (money["settled_micro_usd"], money["ceiling_micro_usd"]) == (5_000_000, 25_000_000)


def test_the_drafts_that_wait_for_review_are_listed_and_one_is_shown_whole(filled: Cli) -> None:
    assert "T-1     shop  Mend the login  https://forge.test/pr/1" in filled.told("review")
    told = filled.told("review", "T-1")
    assert "gate    test-summary passed by run" in told
    assert "try it  git fetch https://forge.example/o/shop.git autopilot/t-1-mend-the-login" in told


def untimed(told: str) -> str:
    """The text without its minutes: one may go by between two commands."""
    return re.sub(r"\b\d\d:\d\d\b", "hh:mm", told)


@pytest.mark.parametrize(
    ("words", "code"),
    [
        (["list"], 0),
        (["show", "T-2"], 0),
        (["why", "T-5"], 0),
        (["status"], 0),
        (["digest"], 0),
        (["review", "T-1"], 0),
        (["budget"], 0),
        (["breaker"], 0),
        (["config"], 0),
        (["logs", "T-5"], 3),
        (["cancel", "T-1"], 3),
        (["retry", "T-1"], 3),
        (["resume", "T-1"], 3),
        (["answer", "T-1", "EUR"], 3),
        (["breaker", "reset", "host"], 3),
        (["completion", "bash"], 0),
    ],
)
def test_each_verb_as_a_process_of_its_own_says_the_same(filled: Cli, words: list[str], code: int) -> None:
    alone, here = filled.run(*words), filled.call(*words)
    assert (alone.code, alone.err) == (code, here.err)
    assert untimed(alone.out) == untimed(here.out)
    assert (alone.out == "") == (code != 0)
