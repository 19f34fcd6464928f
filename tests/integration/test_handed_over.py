"""What was handed to the service, as a look over the machine sees it while that service's daemon runs."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from autopilot.config import handed
from autopilot.config.clock import SystemClock
from autopilot.config.load import load
from autopilot.daemon.checkup import configured, who
from autopilot.schemas.checkup import CheckVerdict
from tests.support.house import House

KEY, TOKEN = "ANTHROPIC_API_KEY", "AUTOPILOT_SECRET_GITHUB"
AGENT = '[agents.claude]\nkind = "claude"\nargv = ["/bin/true"]\nbilling = "metered"\n'


@pytest.fixture
def house(tmp_path: Path) -> Iterator[House]:
    house = House(tmp_path)
    with house.paths.config_file.open("a") as file:
        file.write(AGENT)
    handed.write(handed.file_beside(house.paths.config_file), {KEY: "of the file", TOKEN: "of the file"})
    yield house
    house.clean_up()


def verdicts(house: House) -> tuple[CheckVerdict, CheckVerdict]:
    """Whether the agent can sign in, and the publisher."""
    runner = who.find(house.paths, SystemClock())
    assert runner.who.startswith("the daemon (pid ")
    agent = configured.agent("claude", load(house.paths), runner)
    return agent.verdict, configured.credential("github", runner).verdict


@pytest.mark.field_report("DMN-010")
def test_a_service_that_runs_signs_in_by_what_it_was_handed(house: House) -> None:
    """A table of processes shows how it was started: nights were NO-GO, and the daemon held its own runs."""
    house.daemon.env["AUTOPILOT_SERVICE"] = "systemd"
    house.daemon.env[KEY] = "of the manager"
    house.daemon.start()
    assert verdicts(house) == (CheckVerdict.GO, CheckVerdict.GO)
    seen = who.find(house.paths, SystemClock()).environment
    assert (seen[KEY], seen[TOKEN]) == ("of the manager", "of the file")
    handed.file_beside(house.paths.config_file).chmod(0o644)
    assert TOKEN not in who.find(house.paths, SystemClock()).environment


def test_a_daemon_of_a_terminal_was_handed_nothing(house: House) -> None:
    house.daemon.start()
    assert verdicts(house) == (CheckVerdict.NO_GO, CheckVerdict.NO_GO)
