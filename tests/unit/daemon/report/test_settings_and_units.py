"""Settings and unit files: what is a choice or a place is shown, what may hold anything is masked."""

from __future__ import annotations

import plistlib
from pathlib import Path

import pytest

from autopilot.config.clock import SystemClock
from autopilot.config.paths import Paths, paths_below
from autopilot.daemon.checkup.probe import Limit
from autopilot.daemon.report import installed, settings
from autopilot.daemon.report.pieces import Facts, Given, Wish

CLOCK = SystemClock()
WORD = "canary-of-the-operator"
CONFIG = f"""
default_agent = "mine"
cost_ceiling_usd = 12.5
[schedule]
window = "21:00-06:00"
[identity]
name = "{WORD}"
email = "{WORD}@example.org"
[agents.mine]
kind = "command"
argv = ["{WORD}", "--token", "{WORD}"]
model = "big-1"
env_pass = ["{WORD.replace("-", "_")}"]
[[repo]]
name = "{WORD}"
url = "https://forge.example/{WORD}.git"
credential = "{WORD}"
"""


def shown(paths: Paths) -> dict[str, object]:
    given = Given(paths, CLOCK, Wish(log_kib=1, with_texts=False))
    pieces = list(settings.settings(given, Limit(CLOCK, CLOCK.monotonic_s() + 10)))
    (facts,) = [piece for piece in pieces if isinstance(piece, Facts)]
    value = facts.value
    assert isinstance(value, dict)
    return value


@pytest.fixture
def paths(tmp_path: Path) -> Paths:
    return paths_below(tmp_path)


def test_numbers_and_choices_are_shown_and_free_texts_are_only_said_to_be_set(paths: Paths) -> None:
    paths.config_file.write_text(CONFIG)
    told = shown(paths)
    found = told["settings"]
    assert isinstance(found, dict)
    values = {key: each["value"] for key, each in found.items()}
    assert values["cost_ceiling_usd"] == "12.5"
    assert values["schedule.window"] == "21:00-06:00"
    assert values["agents.mine.model"] == "big-1"
    assert values["agents.mine.argv"] == "<3 set>"
    assert values["repo.0.url"] == values["repo.0.credential"] == values["identity.name"] == "<set>"
    assert values["network.registry_hosts"] == ["pypi.org", "files.pythonhosted.org"]
    assert found["schedule.window"]["from"] == str(paths.config_file)
    assert WORD not in str(told)


@pytest.mark.parametrize(
    "config",
    [
        f'[identity]\nname = "{WORD}"\nemail = "{WORD}"\npassword = "{WORD}"\n',
        f'[schedule]\nwindow = "{WORD}"\n',
        f'[[repo]]\nname = "a b {WORD}"\nurl = "{WORD}"\n',
        f'default_agent = "{WORD}"\n',
        f'[[repo]]\nname = "x"\nurl = "{WORD}"\nagent = "{WORD}"\n[[repo]]\nname="x"\nurl="{WORD}"\n',
    ],
)
def test_a_configuration_that_is_wrong_is_told_without_what_it_says(paths: Paths, config: str) -> None:
    paths.config_file.write_text(config)
    told = shown(paths)
    assert "error" in told
    assert WORD not in str(told)


def test_a_configuration_that_is_no_toml_is_told_with_the_line(paths: Paths) -> None:
    paths.config_file.write_text(f'name = "{WORD}"\n[schedule\n')
    told = shown(paths)
    assert "line 2" in str(told["error"])
    assert WORD not in str(told)


def test_of_a_unit_only_places_stay() -> None:
    unit = (
        '[Service]\nExecStart=":/usr/bin/python" "-P"\n'
        'Environment="PATH=/usr/bin:/bin"\n'
        f'Environment="API_TOKEN={WORD}"\n'
        f'Environment="HOME=/x" "OTHER={WORD}"\n'
        f"  Environment={WORD}\n"
        f"SetCredential=web:{WORD}\n"
        "TimeoutStopSec=90\n"
    )
    assert installed.bare_unit(unit) == (
        '[Service]\nExecStart=":/usr/bin/python" "-P"\n'
        'Environment="PATH=/usr/bin:/bin"\n'
        "Environment=API_TOKEN=<set>\n"
        "Environment=HOME=<set> OTHER=<set>\n"
        "  Environment=<set>\n"
        "SetCredential=<set>\n"
        "TimeoutStopSec=90\n"
    )


def test_of_a_property_list_only_places_stay() -> None:
    content = {"Label": "dev.autopilot.daemon", "EnvironmentVariables": {"PATH": "/bin", "API_TOKEN": WORD}}
    bare = plistlib.loads(installed.bare_list(plistlib.dumps(content)))
    assert bare == {**content, "EnvironmentVariables": {"PATH": "/bin", "API_TOKEN": "<set>"}}
