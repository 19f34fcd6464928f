"""What is delivered is short, says the urgent first, and says the same in every language."""

from __future__ import annotations

import re
from dataclasses import replace
from importlib import resources
from typing import get_args
from zoneinfo import ZoneInfo

import pytest

from autopilot.daemon.delivery import wording
from autopilot.daemon.delivery.catalogue import LANGUAGES, Catalogue, catalogue, is_spoken
from autopilot.daemon.digest.night import Draft, Money, Night
from autopilot.daemon.store.deliveries import DeliveryState
from autopilot.daemon.store.past_holds import PastHold
from autopilot.publish.delivery import MAX_TEXT_BYTES
from autopilot.schemas import outbound
from autopilot.schemas.gate import Verdict
from autopilot.schemas.machine import State, WaitingFor
from autopilot.schemas.ticket import Hold, Ticket

UNTIL = 1_767_040_000_000
QUIET = Night(
    since_ms=UNTIL - 24 * 3_600_000,
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
    money=Money(
        spent_micro_usd=1_234_500_000, reserved_micro_usd=0, ceiling_micro_usd=25_000_000, has_unknown=False
    ),
)
PLACE = re.compile(r"\{(\w+)\}")


def ticket(number: int, state: State, **facts: object) -> Ticket:
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
        "branch": f"autopilot/t-{number}",
        "created_ms": 1,
        "updated_ms": 2,
        "spent_micro_usd": 1_500_000,
    }
    return Ticket.model_validate({**base, **facts})


def busy(number: int = 3, reason: str = "a reason") -> Night:
    waiting = {"waiting_for": "questions", "reason": reason}
    return replace(
        QUIET,
        parked=tuple(ticket(each, State.PARKED, **waiting) for each in range(number)),
        drafts=tuple(
            Draft(ticket(100 + each, State.PUBLISHED), f"https://forge.example/o/r/pull/{each}", 1, 2)
            for each in range(number)
        ),
        failed=tuple(ticket(200 + each, State.FAILED, reason=reason) for each in range(number)),
        waiting=tuple(ticket(300 + each, State.QUEUED) for each in range(number)),
        working=(ticket(400, State.RUNNING),),
        holds=(Hold(name="budget", scope="host", cause=reason, since_ms=1, cure="wait", clears_ms=None),),
    )


def past(name: str) -> PastHold:
    since_ms = QUIET.since_ms
    return PastHold(
        name=name, scope="host", cause="\u00fc broke", cure="mend it", since_ms=since_ms,
        until_ms=since_ms + 3_600_000, held_ms=3_600_000, times=1,
    )  # fmt: skip


@pytest.mark.covers("G10")
class TestCatalogue:
    def test_the_files_are_the_languages(self) -> None:
        folder = resources.files("autopilot.daemon.delivery").joinpath("texts")
        assert {each.name for each in folder.iterdir()} == {f"{each}.toml" for each in LANGUAGES}

    @pytest.mark.parametrize("language", LANGUAGES[1:])
    def test_every_language_says_the_same_with_the_same_places(self, language: str) -> None:
        ours, theirs = catalogue("en").texts, catalogue(language).texts
        assert theirs.keys() == ours.keys()
        for key, text in ours.items():
            assert set(PLACE.findall(theirs[key])) == set(PLACE.findall(text)), key

    @pytest.mark.parametrize("language", LANGUAGES)
    def test_every_word_of_ours_is_in_it(self, language: str) -> None:
        texts = catalogue(language).texts
        words = {
            "waiting_for": [*WaitingFor],
            "gate": [*Verdict],
            "kind": ["digest", "draft"],
            "delivery": [state for part in get_args(DeliveryState) for state in (get_args(part) or (part,))],
            "ticket": [State.RUNNING, State.COMMITTED, State.PUBLISHING],
            "fate": ["merged", "closed"],
        }
        for table, names in words.items():
            assert {key.partition(".")[2] for key in texts if key.startswith(f"{table}.")} == set(names)

    @pytest.mark.parametrize(
        ("language", "money", "small", "number"),
        [
            ("en", "$1,234.50", "<$0.0001", "12,345"),
            ("de", "1.234,50 $", "<0,0001 $", "12.345"),
            ("tr", "1.234,50 $", "<0,0001 $", "12.345"),
        ],
    )
    def test_money_and_numbers_are_written_as_the_language_writes_them(
        self, language: str, money: str, small: str, number: str
    ) -> None:
        said = catalogue(language)
        assert (said.usd(1_234_500_000), said.usd(1), said.number(12_345)) == (money, small, number)
        assert [said.number(each) for each in (0, 7, 999)] == ["0", "7", "999"]

    def test_a_language_that_is_not_known_gets_english_and_a_country_changes_nothing(self) -> None:
        assert (catalogue("fi").language, catalogue("de-AT").language) == ("en", "de")
        assert [is_spoken(each) for each in ("tr", "tr-TR", "fi")] == [True, True, False]


@pytest.mark.parametrize("language", LANGUAGES)
class TestDigest:
    def test_a_quiet_night_says_so(self, language: str) -> None:
        said = catalogue(language)
        text = wording.digest(QUIET, said)
        assert said.say("digest.quiet") in text
        assert said.usd(1_234_500_000) in text
        assert "autopilot digest" in text

    def test_what_waits_on_a_person_comes_before_all_else(self, language: str) -> None:
        said = catalogue(language)
        text = wording.digest(busy(), said)
        titles = ("waits", "drafts", "failed", "holds", "idle", "working")
        places = [text.index(f"\n{said.say(f'digest.{each}')} (") for each in titles]
        assert places == sorted(places)
        assert f"- T-1 Ticket 1: {said.word('waiting_for', 'questions')}: a reason\n" in text
        assert f"https://forge.example/o/r/pull/1 ({said.usd(1_500_000)})" in text

    @pytest.mark.parametrize("number", [9, 60])
    def test_it_fits_into_any_channel_and_counts_what_it_leaves_out(self, language: str, number: int) -> None:
        said = catalogue(language)
        text = wording.digest(busy(number, "ü " * 300), said)
        assert len(text.encode()) <= wording.MAX_BYTES < MAX_TEXT_BYTES
        assert said.say("digest.rest") in text
        assert said.say("digest.more", count=str(number - wording.MAX_LINES)) in text

    def test_the_gate_finds_nothing_to_change_in_words_of_ours(self, language: str) -> None:
        text = wording.digest(busy(), catalogue(language))
        assert outbound.clean(text).notes == ()

    def test_what_held_the_night_for_a_while_is_said_and_what_every_night_has_is_not(
        self, language: str
    ) -> None:
        said = catalogue(language)
        night = replace(QUIET, past_holds=(past("disk-low"), past("slots-full")))
        text = wording.digest(night, said)
        assert f"{said.say('digest.held')} (1)\n- disk-low (host), 2025-12-28 20:26 " in text
        assert "2025-12-28 21:26: \u00fc broke\n" in text
        assert "slots-full" not in text

    def test_what_an_agent_wrote_is_one_line_without_power_over_a_terminal(self, language: str) -> None:
        said = catalogue(language)
        night = replace(QUIET, failed=(ticket(1, State.FAILED, title="a\nb\x1b[2J", reason="\u202ex\ny"),))
        assert "- T-1 a b: x y\n" in wording.digest(night, said)


def test_a_text_is_never_read_as_a_template_again() -> None:
    said = Catalogue("en", {**catalogue("en").texts})
    night = replace(QUIET, failed=(ticket(1, State.FAILED, title="{ticket} {0} {", reason="{reason}"),))
    assert "T-1 {ticket} {0} {: {reason}" in wording.digest(night, said)


def test_a_commit_that_is_not_published_yet_is_told_with_its_reason() -> None:
    waits = ticket(1, State.COMMITTED, reason="the remote did not answer")
    told = wording.digest(replace(QUIET, working=(waits, ticket(2, State.RUNNING))), catalogue("en"))
    assert "the remote did not answer" in told
