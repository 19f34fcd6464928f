"""The digest tells what waits on a person first, never hides a reason, and exists for a quiet night too."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from zoneinfo import ZoneInfo

import pytest

from autopilot.daemon.digest import render
from autopilot.daemon.digest.night import Draft, Money, Night, sort_tickets
from autopilot.daemon.store.nights import LastTime, LockState, Sleep
from autopilot.schemas.blocked import Blocked
from autopilot.schemas.machine import State, WaitingFor
from autopilot.schemas.ticket import Hold, Ticket

SINCE, UNTIL = 1_767_000_000_000, 1_767_040_000_000
QUIET = Night(
    since_ms=SINCE,
    until_ms=UNTIL,
    is_on=True,
    parked=(),
    drafts=(),
    failed=(),
    cancelled=(),
    waiting=(),
    working=(),
    holds=(),
    zone=ZoneInfo("UTC"),
    money=Money(spent_micro_usd=0, reserved_micro_usd=0, ceiling_micro_usd=25_000_000, has_unknown=False),
)


def ticket(number: int = 1, state: State = State.QUEUED, **facts: object) -> Ticket:
    base = {
        "id": f"T-{number}",
        "short_id": number,
        "state": state,
        "title": f"Ticket {number}",
        "body": "",
        "repo": "shop",
        "base": None,
        "priority": 2,
        "agent": None,
        "source_key": None,
        "branch": f"autopilot/t-{number}-ticket",
        "created_ms": SINCE,
        "updated_ms": UNTIL - 1,
    }
    return Ticket.model_validate({**base, **facts})


def test_a_night_without_a_sandbox_says_so_at_once() -> None:
    assert "Sandbox: none" not in render.markdown(QUIET)
    text = render.markdown(replace(QUIET, sandbox="none"))
    assert "**Sandbox: none**" in text.split("\n## ")[0]
    assert render.as_json(replace(QUIET, sandbox="none"))["sandbox"] == "none"


@pytest.mark.covers("G04")
def test_a_night_with_nothing_still_has_a_digest() -> None:
    text = render.markdown(QUIET)
    assert "A quiet night" in text
    assert "$0.00 of $25.00" in text


@pytest.mark.covers("G04", "B09")
def test_what_waits_on_a_person_comes_first_with_its_question_and_its_command() -> None:
    asked = ticket(3, State.PARKED, waiting_for=WaitingFor.QUESTIONS, reason="the agent asks", hint="")
    draft = Draft(ticket=ticket(1, State.PUBLISHED), url="https://forge/1", changed_files=2, tests_executed=7)
    night = replace(QUIET, parked=(asked,), drafts=(draft,), open_questions={"T-3": ("Which currency?",)})
    text = render.markdown(night)
    assert text.index("Waits on you") < text.index("Drafts to review")
    assert "Which currency?" in text
    assert 'autopilot answer T-3 "…"' in text
    assert "https://forge/1 (2 files changed, $0.00, 7 tests ran green)" in text


@pytest.mark.parametrize("waiting_for", WaitingFor)
def test_every_kind_of_waiting_names_a_command(waiting_for: WaitingFor) -> None:
    parked = ticket(2, State.PARKED, waiting_for=waiting_for, reason="because")
    text = render.markdown(replace(QUIET, parked=(parked,)))
    assert re.search(r"→ `autopilot (answer|resume) T-2\b", text)


def test_failures_holds_and_what_did_not_run_name_their_reasons() -> None:
    night = replace(
        QUIET,
        failed=(ticket(4, State.FAILED, reason="three attempts failed", hint="autopilot retry T-4"),),
        waiting=(ticket(5, reason="try again later"), ticket(6)),
        held_by={"T-5": ("cost-ceiling", "dependency")},
        holds=(
            Hold(
                name="cost-ceiling",
                scope="host",
                cause="24 of 25 dollars",
                since_ms=SINCE,
                cure="wait",
                clears_ms=UNTIL,
            ),
        ),
    )
    text = render.markdown(night)
    for told in (
        "three attempts failed → autopilot retry T-4",
        "**T-5** Ticket 5: try again later; cost-ceiling, dependency",
        "**T-6** Ticket 6: nothing held it: it was next",
        "cost-ceiling: 24 of 25 dollars, since 2025-12-29 09:20 UTC, clears 2025-12-29 20:26 UTC → wait",
        "→ `autopilot retry T-4`",
    ):
        assert told in text
    assert text.index("## Failed") < text.index("## Holds") < text.index("## Did not run")


def test_times_are_those_of_the_operators_clock() -> None:
    text = render.markdown(replace(QUIET, zone=ZoneInfo("Pacific/Auckland")))
    assert text.startswith("# Digest of 2025-12-30\n")
    assert "to 2025-12-30 09:26 NZDT." in text


def test_a_long_queue_that_did_not_run_is_cut() -> None:
    waiting = tuple(ticket(number) for number in range(1, 31))
    text = render.markdown(replace(QUIET, waiting=waiting))
    assert "**T-20**" in text
    assert "**T-21**" not in text
    assert "and 10 more: `autopilot list --state queued`" in text


def test_a_switch_that_stands_at_off_is_told() -> None:
    assert "The switch stands at off." in render.markdown(replace(QUIET, is_on=False))
    assert "switch" not in render.markdown(QUIET)


def test_no_text_of_a_ticket_or_an_agent_drives_a_terminal_or_grows_without_end() -> None:
    nasty = ticket(7, State.FAILED, title="a\u202eb", reason="\x1b[2J\x9b31m" + "x" * 5000)
    text = render.markdown(replace(QUIET, failed=(nasty,)))
    assert all(char.isprintable() or char == "\n" for char in text)
    assert len(text) < 2000


def test_unknown_cost_is_said_aloud() -> None:
    money = Money(
        spent_micro_usd=5_000_000, reserved_micro_usd=1, ceiling_micro_usd=25_000_000, has_unknown=True
    )
    assert "whole reservation is counted as spent" in render.markdown(replace(QUIET, money=money))


def test_text_of_a_ticket_cannot_write_markdown_of_its_own() -> None:
    hostile = ticket(
        6, State.FAILED, title="[x](http://evil) <img>", reason="a\n## Drafts to review\n- **T-9** fake"
    )
    text = render.markdown(replace(QUIET, failed=(hostile,)))
    assert "[x](http" not in text
    assert "\n## Drafts to review" not in text


def test_final_tickets_of_earlier_nights_are_left_out_and_parked_ones_are_not() -> None:
    old = {"updated_ms": SINCE - 1}
    tickets = (ticket(1, State.PUBLISHED, **old), ticket(2, State.PARKED, **old), ticket(3, State.PUBLISHED))
    by_state = sort_tickets(tickets, since_ms=SINCE)
    assert [seen.id for seen in by_state[State.PUBLISHED]] == ["T-3"]
    assert [seen.id for seen in by_state[State.PARKED]] == ["T-2"]


def test_the_same_night_is_given_as_json() -> None:
    night = replace(QUIET, failed=(ticket(4, State.FAILED),))
    told = json.loads(json.dumps(render.as_json(night)))
    assert told["failed"][0]["id"] == "T-4"
    assert told["money"]["ceiling_micro_usd"] == 25_000_000


@pytest.mark.field_report("PUB-014")
def test_a_draft_that_was_merged_or_closed_meanwhile_does_not_wait_for_review() -> None:
    first, second, third = (
        Draft(
            ticket=ticket(number, State.PUBLISHED),
            url=f"https://forge/{number}",
            changed_files=1,
            tests_executed=1,
        )
        for number in (1, 2, 3)
    )
    drafts = (first, replace(second, fate="merged"), replace(third, fate="closed"))
    text = render.markdown(replace(QUIET, drafts=drafts))
    waiting, _, settled = text.partition("## Dealt with already")
    assert "1 draft, 1 merged." in waiting
    assert "https://forge/1 (1 files" in waiting
    assert "https://forge/2" not in waiting
    assert "https://forge/3" not in waiting
    assert "**T-2** Ticket 2: merged, https://forge/2" in settled
    assert "**T-3** Ticket 3: closed, https://forge/3" in settled
    assert [draft["fate"] for draft in render.as_json(replace(QUIET, drafts=drafts))["drafts"]] == [
        None,
        "merged",
        "closed",
    ]


def test_a_night_whose_drafts_were_all_merged_lists_none_to_review() -> None:
    merged = Draft(
        ticket=ticket(1, State.PUBLISHED), url=None, changed_files=1, tests_executed=1, fate="merged"
    )
    text = render.markdown(replace(QUIET, drafts=(merged,)))
    assert "Drafts to review" not in text
    assert "open the pull request yourself" not in text


def test_what_runs_tried_in_vain_is_told_and_cannot_be_markup() -> None:
    told = (
        Blocked(by="network", what="CONNECT *evil*.example:443", code="host", count=4),
        Blocked(by="network", what="", code="more", count=2),
    )
    text = render.markdown(replace(QUIET, blocked={"T-3": told}))
    assert "## What was blocked" in text
    assert "- **T-3** network: CONNECT \\*evil\\*.example:443 (host, 4 times)" in text
    assert "- **T-3** network: more of the kind (more, 2 times)" in text
    assert render.as_json(replace(QUIET, blocked={"T-3": told}))["blocked"]["T-3"][0]["count"] == 4


def test_of_many_blocked_attempts_the_digest_names_the_first() -> None:
    many = tuple(Blocked(by="network", what=f"GET {n}.example:80", code="host") for n in range(30))
    text = render.markdown(replace(QUIET, blocked={"T-3": many}))
    assert text.count("network: GET") == render.MAX_BLOCKED
    assert "and 10 more kinds" in text


@pytest.mark.covers("G04")
@pytest.mark.field_report("DMN-035", "DMN-036", "DMN-015")
def test_it_says_when_the_machine_slept_what_that_cost_and_what_is_wrong_with_the_machine() -> None:
    hour = 3_600_000
    night = replace(
        QUIET,
        sleeps=(
            Sleep(started_ms=SINCE, slept_ms=2 * hour, lost_ms=hour, runs=("T-1-a1-0badcafe",)),
            Sleep(started_ms=SINCE + 3 * hour, slept_ms=hour, lost_ms=0, runs=()),
        ),
        locks=(
            LockState(name="run", kind="none", warning="awake-no-bus", detail="no *bus*", since_ms=SINCE),
            LockState(name="night", kind="systemd", warning="", detail="", since_ms=SINCE),
        ),
        troubled=(
            LastTime(name="backup", due_ms=0, ended_ms=SINCE, outcome="failed", detail="no room", next_ms=1),
            LastTime(name="digest", due_ms=SINCE, ended_ms=SINCE, outcome="done", detail="", next_ms=1),
        ),
    )
    _, told = render.markdown(night).split("## This machine\n\n")
    assert told.splitlines() == [
        "- it slept 2 times, 3h 00m in all; 1h 00m of it in hours for tickets",
        "- asleep from 2025-12-29 09:20 UTC for 2h 00m, through T-1-a1-0badcafe",
        "- asleep from 2025-12-29 12:20 UTC for 1h 00m",
        (
            "- no sleep lock beside runs since 2025-12-29 09:20 UTC:"
            " awake-no-bus: no \\*bus\\* → `autopilot doctor`"
        ),
        "- backup failed at 2025-12-29 09:20 UTC: no room",
        "- digest was last for 2025-12-29 09:20 UTC",
    ]
    as_json = render.as_json(night)
    assert [each["lost_ms"] for each in as_json["sleeps"]] == [hour, 0]
    assert as_json["awake_locks"][0]["warning"] == "awake-no-bus"
    assert [each["name"] for each in as_json["troubled_schedules"]] == ["backup", "digest"]
    assert "This machine" not in render.markdown(QUIET)


def test_a_machine_that_never_came_to_rest_is_told_of_in_a_few_lines() -> None:
    sleeps = tuple(Sleep(started_ms=SINCE + n, slept_ms=60_000, lost_ms=0, runs=()) for n in range(500))
    lines = render.markdown(replace(QUIET, sleeps=sleeps)).splitlines()
    assert "- and 490 times more" in lines
    assert len(lines) < 30


def test_that_no_daemon_runs_is_said_where_something_should_move() -> None:
    dead = replace(QUIET, is_served=False, waiting=(ticket(),), held_by={"T-1": ()})
    told = render.markdown(dead)
    assert "**No daemon is running**" in told.split("\n## ")[0]
    assert "`autopilot on`" in told
    assert "it was next" not in told
    assert render.as_json(dead)["is_served"] is False
    assert "No daemon" in render.markdown(replace(QUIET, is_served=False, is_on=False, working=(ticket(),)))
    for idle in (replace(dead, is_served=True), replace(dead, is_on=False)):
        assert "No daemon is" not in render.markdown(idle), "an operator who turned it off knows"


def test_the_headline_says_that_work_is_under_way_only_where_it_is() -> None:
    def headline(**facts: object) -> str:
        night = replace(QUIET, **facts)  # type: ignore[arg-type]
        return render.markdown(night).splitlines()[2].partition(" From")[0]

    ended = ticket(1, State.CANCELLED)
    closed = Draft(ticket(2, State.PUBLISHED), "https://forge.example/2", 1, 1, fate="closed")
    assert headline(cancelled=(ended,)) == "1 cancelled."
    assert headline(drafts=(closed,), cancelled=(ended, ended)) == "1 closed, 2 cancelled."
    assert headline(working=(ticket(3, State.RUNNING),)) == "Work is under way."
