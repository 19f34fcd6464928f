"""A cause is kept with its times in UTC; whoever reads it sees them by the clock on the wall."""

from __future__ import annotations

from dataclasses import replace
from zoneinfo import ZoneInfo

import pytest

from autopilot.daemon.cli import doctor, shape
from autopilot.daemon.delivery import wording
from autopilot.daemon.delivery.catalogue import LANGUAGES, catalogue
from autopilot.daemon.digest import render
from autopilot.schemas.checkup import Check, CheckVerdict
from autopilot.schemas.machine import State
from autopilot.schemas.ticket import Hold
from autopilot.schemas.units import iso_utc
from tests.support.zones import local_zone
from tests.unit.daemon.digest.test_digest_text import QUIET, UNTIL, ticket

CAUSE = f"a run may cost $5.00: nothing starts before {iso_utc(1_767_052_800_000)}"
SHOWN = "nothing starts before 2025-12-30 01:00 CET"
HOLD = Hold(name="budget", scope="host", cause=CAUSE, since_ms=UNTIL, cure="wait", clears_ms=None)


def test_the_digest_shows_them_so() -> None:
    failed = ticket(1, State.FAILED, reason=CAUSE)
    night = replace(QUIET, holds=(HOLD,), failed=(failed,), zone=ZoneInfo("Europe/Berlin"))
    assert render.markdown(night).count(SHOWN) == 2
    assert CAUSE in str(render.as_json(night)["holds"]), "a program is given what is kept"


@pytest.mark.parametrize("language", LANGUAGES)
def test_so_does_what_is_sent(language: str) -> None:
    night = replace(QUIET, holds=(HOLD,), zone=ZoneInfo("Europe/Berlin"))
    assert SHOWN in wording.digest(night, catalogue(language))


def test_so_do_the_commands(capsys: pytest.CaptureFixture[str]) -> None:
    line = Check(name="budget", verdict=CheckVerdict.WARNING, evidence=CAUSE, cure="wait")
    with local_zone("Europe/Berlin"):
        assert SHOWN in next(shape.holds([HOLD.model_dump(mode="json")]))
        assert shape.standing({"reason": CAUSE}).endswith(SHOWN)
        assert shape.standing({"waiting_for": "person", "reason": CAUSE}).endswith(SHOWN)
        doctor.print_checks([line])
    assert SHOWN in capsys.readouterr().out
