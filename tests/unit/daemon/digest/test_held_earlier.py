"""What held the night and ended before morning is told as well: why, how long, and what would clear it."""

from __future__ import annotations

from dataclasses import replace

import pytest

from autopilot.daemon.digest import held, render
from autopilot.daemon.store.past_holds import PastHold
from tests.unit.daemon.digest.test_digest_text import QUIET, SINCE

HOUR = 3_600_000


def past(name: str, scope: str = "host", *, at_h: float = 0, hours: float = 1, **facts: object) -> PastHold:
    since_ms = SINCE + round(at_h * HOUR)
    base = {"cause": f"*{name}* broke", "cure": "mend it", "times": 1, "held_ms": round(hours * HOUR)}
    base |= {"since_ms": since_ms, "until_ms": since_ms + round(hours * HOUR)}
    return PastHold(name=name, scope=scope, **(base | facts))  # type: ignore[arg-type]


@pytest.mark.covers("G04")
class TestHeldEarlier:
    """What held the night and ended before morning is told as well."""

    def told(self, *found: PastHold) -> list[str]:
        text = render.markdown(replace(QUIET, past_holds=held.merged(found, SINCE)))
        return text.partition("## Held earlier\n\n")[2].partition("\n\n")[0].splitlines()

    def test_each_with_its_cause_how_long_from_when_to_when_and_its_cure(self) -> None:
        assert self.told(past("credential", "repo:shop", hours=7), past("disk-low", at_h=8, times=3)) == [
            (
                "- credential (repo:shop): \\*credential\\* broke, for 7h 00m,"
                " 2025-12-29 09:20 UTC to 2025-12-29 16:20 UTC → mend it"
            ),
            (
                "- disk-low: \\*disk-low\\* broke, for 1h 00m, 3 times,"
                " 2025-12-29 17:20 UTC to 2025-12-29 18:20 UTC → mend it"
            ),
        ]

    def test_what_one_hold_left_is_one_line_that_counts_from_the_nights_begin(self) -> None:
        found = (past("disk-low", at_h=-2, hours=3), past("disk-low", at_h=5, cause="again"))
        (line,) = self.told(*found)
        assert line.startswith("- disk-low: again, for 2h 00m, 2 times, 2025-12-29 09:20 UTC to ")

    def test_what_every_night_has_is_named_in_one_sentence(self) -> None:
        found = (past("slots-full"), past("repo-busy", "repo:a"), past("repo-busy", "repo:b"))
        text = render.markdown(replace(QUIET, past_holds=held.merged(found, SINCE)))
        assert " Held as on any night: repo-busy, slots-full.\n" in text
        assert self.told(*found) == []

    def test_of_many_the_longest_are_told_and_the_rest_is_counted(self) -> None:
        lines = self.told(*(past("agent-sign-in", f"agent:{number}") for number in range(30)))
        assert (len(lines), lines[-1]) == (21, "- and 10 more: `autopilot digest --json`")

    def test_all_of_them_are_values_the_longest_first(self) -> None:
        found = held.merged((past("slots-full"), past("disk-low", hours=2)), SINCE)
        told = render.as_json(replace(QUIET, past_holds=found))["past_holds"]
        assert [one["name"] for one in told] == ["disk-low", "slots-full"]
        assert told[0]["held_ms"] == told[0]["until_ms"] - told[0]["since_ms"] == 2 * HOUR

    def test_a_night_without_any_has_no_such_section(self) -> None:
        assert "Held earlier" not in render.markdown(QUIET)
