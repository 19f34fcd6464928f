"""`doctor --send-test` sends a line through each channel, and says what became of it."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from autopilot.config.secrets import variable_for
from autopilot.schemas.errors import ExitCode
from tests.support.cli import Cli
from tests.support.receiver import PATH, Receiver

TEAM = '[channels.team]\nkind = "webhook"\ncredential = "team-hook"\nformat = "plain"\n'


@pytest.fixture
def receiver() -> Iterator[Receiver]:
    with Receiver() as receiver:
        yield receiver


def lines(cli: Cli) -> dict[str, tuple[str, str]]:
    said = cli.run("doctor", "--send-test", "--json")
    assert PATH not in said.out + said.err
    return {line["name"]: (line["verdict"], line["evidence"]) for line in said.json()["checks"]}


def test_each_channel_in_use_is_tried_and_nothing_else_is_looked_at(
    tmp_path: Path, receiver: Receiver
) -> None:
    out = tmp_path / "out"
    copy = f"import sys; open({str(out)!r}, 'w').write(sys.stdin.read())"
    desk = f'[channels.desk]\nkind = "command"\nargv = ["{sys.executable}", "-c", "{copy}"]\n'
    unused = '[channels.unused]\nkind = "command"\nargv = ["no-such-program"]\n'
    cli = Cli(tmp_path / "home", config=f'report_channels = ["team", "desk"]\n{TEAM}{desk}{unused}')
    cli.env[variable_for("team-hook")] = receiver.address
    assert lines(cli) == {
        "channel team": ("go", "a test was sent"),
        "channel desk": ("go", "a test was sent"),
    }
    assert [call.text for call in receiver.calls] == ["autopilot: a test of the channel team"]
    assert out.read_text() == "autopilot: a test of the channel desk"


def test_one_that_is_rejected_or_not_there_blocks(tmp_path: Path, receiver: Receiver) -> None:
    cli = Cli(tmp_path / "home", config=f'report_channels = ["team"]\n{TEAM}')
    cli.env[variable_for("team-hook")] = receiver.address
    receiver.answers.append(404)
    assert lines(cli)["channel team"][0] == "no-go"
    del cli.env[variable_for("team-hook")]
    said = cli.run("doctor", "--send-test")
    assert said.code == ExitCode.REFUSED
    assert "is not readable" in said.out


def test_without_a_channel_there_is_nothing_to_try(tmp_path: Path) -> None:
    cli = Cli(tmp_path / "home", config="")
    assert lines(cli) == {"channels": ("go", "none: the digest stays on this machine")}
