"""An agent's account is asked before the night, by its own program; only a good answer is remembered."""

from __future__ import annotations

import dataclasses
import shlex
from collections.abc import Mapping
from functools import partial
from pathlib import Path

import pytest

from autopilot.config.clock import Clock, SystemClock
from autopilot.daemon.checkup import alive, side_by_side
from autopilot.daemon.checkup.probe import Probe, Takes
from autopilot.daemon.checkup.scene import Scene
from autopilot.schemas.checkup import Area, Check
from tests.support import captures
from tests.support.clock import FakeClock
from tests.support.fixtures import MakeModel
from tests.support.programs import write_named
from tests.support.repo_traps import write_script
from tests.support.scenarios import library
from tests.support.scenes import limit, scene
from tests.support.small_net import Pages

KEY = "made-up-key-of-the-model"
HOUR_S = 3600.0


class Machine:
    """A client that plays a recorded stream, and notes each of its starts."""

    def __init__(self, folder: Path, body: str = "") -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self.folder = folder
        self.starts = folder / "starts"
        self.starts.touch()
        self.client = folder / "claude"
        self.plays(body)
        self.clock: Clock = FakeClock()

    def plays(self, body: str) -> None:
        note = f"echo started >> {shlex.quote(str(self.starts))}\n"
        write_script(self.client, f"#!/bin/sh\n{note}cat > /dev/null\n{body}\n")

    def replays(self, name: str) -> None:
        capture = captures.capture("claude", name)
        stream = self.folder / "stream"
        stream.write_bytes(capture.stdout)
        self.plays(f"cat {shlex.quote(str(stream))}\nexit {max(capture.exit_code, 0)}")

    @property
    def count(self) -> int:
        return len(self.starts.read_text().splitlines())

    def scene(self, environment: Mapping[str, str] | None = None, *, is_fresh: bool = False) -> Scene:
        given = {"PATH": "/usr/bin:/bin", "ANTHROPIC_API_KEY": KEY} if environment is None else environment
        config = f'[agents.claude]\nkind = "claude"\nargv = ["{self.client}"]\n'
        return scene(self.folder / "home", config, clock=self.clock, environment=given, is_fresh=is_fresh)

    def asks(self, where: Scene | None = None, *, within_s: float = 60.0) -> Check:
        looked = where or self.scene()
        (line,) = alive.alive(looked.settings.agent("claude"), looked, limit(within_s))
        return line


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    return Machine(tmp_path / "machine")


@pytest.fixture
def clock(machine: Machine) -> FakeClock:
    """The clock that the machine goes by."""
    machine.clock = FakeClock()
    return machine.clock


@pytest.mark.parametrize(
    ("stream", "verdict", "told"),
    [
        ("success", "go", "it answers, for"),
        ("error-401", "no-go", "agent-not-authenticated"),
        ("error-403", "no-go", "agent-not-authenticated"),
        ("credit", "no-go", "agent-billing"),
        ("error-404-model", "no-go", "agent-model-unknown"),
        ("usage-limit", "warning", "its usage window is used up until"),
        ("error-429", "warning", "agent-rate-limited"),
        ("error-529", "no-go", "agent-service-down"),
        ("refused-connection", "no-go", "agent-unreachable"),
    ],
)
def test_what_its_program_says_is_judged_as_in_a_run(
    machine: Machine, stream: str, verdict: str, told: str
) -> None:
    machine.replays(stream)
    line = machine.asks()
    assert (line.name, line.verdict) == ("account of claude", verdict), line
    assert told in line.evidence
    assert bool(line.cure) is (verdict != "go")
    assert KEY not in line.model_dump_json()


@pytest.mark.field_report("DMN-001")
@pytest.mark.parametrize("code", [0, 1])
def test_a_client_that_is_not_logged_in_where_the_service_starts_it_blocks(
    machine: Machine, code: int
) -> None:
    machine.plays(f"echo 'Not logged in · Please run /login'\nexit {code}")
    line = machine.asks()
    assert line.blocks
    assert "Not logged in" in line.evidence


def test_a_good_answer_is_remembered_with_its_age_and_asked_anew_after_its_hours(
    machine: Machine, clock: FakeClock
) -> None:
    machine.replays("success")
    machine.asks()
    clock.advance(2 * HOUR_S)
    assert "(found 2h 00m ago)" in machine.asks().evidence
    assert machine.count == 1
    machine.asks(machine.scene(is_fresh=True))
    assert machine.count == 2
    clock.advance(21 * HOUR_S)
    machine.asks()
    assert machine.count == 3


def test_another_key_or_a_clock_set_back_is_asked_anew(machine: Machine, clock: FakeClock) -> None:
    machine.replays("success")
    machine.asks()
    machine.asks(machine.scene({"PATH": "/usr/bin:/bin", "ANTHROPIC_API_KEY": "another"}))
    assert machine.count == 2
    clock.jump_wall(-30 * 24 * HOUR_S)
    machine.asks(machine.scene({"PATH": "/usr/bin:/bin", "ANTHROPIC_API_KEY": "another"}))
    assert machine.count == 3


def test_a_refusal_is_asked_again_each_time_for_it_may_have_been_mended(machine: Machine) -> None:
    machine.replays("error-401")
    assert machine.asks().blocks
    machine.replays("success")
    assert not machine.asks().blocks
    assert machine.count == 2


def test_what_was_remembered_and_cannot_be_read_is_asked_anew(machine: Machine) -> None:
    machine.replays("success")
    machine.asks()
    (kept,) = (machine.folder / "home" / "state" / "checkup").glob("account*.json")
    for raw in (b"", b"{", b"\xff", b'{"remembered_version": 9}'):
        kept.write_bytes(raw)
        assert not machine.asks().blocks
    assert machine.count == 5


def test_a_client_that_hangs_is_told_and_ended(machine: Machine) -> None:
    machine.plays("exec sleep 600")
    machine.clock = SystemClock()
    line = machine.asks(within_s=1.0)
    assert line.blocks
    assert "did not answer in time" in line.evidence


ENVIRONMENT = {
    "PATH": "/usr/bin:/bin",
    "HOME": "/home/person",
    "ANTHROPIC_API_KEY": KEY,
    "GITHUB_TOKEN": "of-the-person",
    "AUTOPILOT_SECRET_GH": "of-the-forge",
    "OPENAI_API_KEY": "of-another",
}


def test_it_is_started_as_a_run_starts_it_with_nothing_of_the_person_and_without_the_key(
    machine: Machine,
) -> None:
    seen = machine.folder / "seen"
    machine.plays(f"env > {shlex.quote(str(seen))}; ls -A >> {shlex.quote(str(seen))}; exit 1")
    machine.asks(machine.scene(ENVIRONMENT))
    told = seen.read_text()
    assert "HOME=/home/person" not in told
    assert "ANTHROPIC_API_KEY=autopilot-" in told
    assert "ANTHROPIC_BASE_URL=http://127.0.0.1:" in told
    assert not any(word in told for word in (KEY, "of-the-person", "of-the-forge", "of-another"))
    assert "AUTOPILOT_UNATTENDED=1" in told


@pytest.mark.parametrize("settings", ['[sandbox]\nkind = "none"\n', 'broker = "off"\n'])
def test_where_a_run_has_no_broker_the_question_has_none_either(machine: Machine, settings: str) -> None:
    seen = machine.folder / "seen"
    machine.plays(f"env > {shlex.quote(str(seen))}; exit 1")
    looked = machine.scene(ENVIRONMENT)
    config = looked.paths.config_file.read_text(encoding="utf-8")
    again = scene(machine.folder / "home", config + settings, clock=machine.clock, environment=ENVIRONMENT)
    machine.asks(again)
    assert f"ANTHROPIC_API_KEY={KEY}" in seen.read_text()


def test_the_question_reaches_the_service_through_the_broker_which_signs_it(machine: Machine) -> None:
    said = machine.folder / "said"
    write_named(
        machine.client,
        "import os, urllib.request as web\n"
        "url = os.environ['ANTHROPIC_BASE_URL'] + '/v1/messages'\n"
        "asked = web.Request(url, b'{}', {'x-api-key': os.environ['ANTHROPIC_API_KEY']})\n"
        f"open({str(said)!r}, 'w').write(str(web.urlopen(asked, timeout=20).status))\n",
    )
    machine.clock = SystemClock()
    with Pages() as service:
        machine.asks(machine.scene({**ENVIRONMENT, "ANTHROPIC_BASE_URL": service.url}))
        assert [headers["x-api-key"] for _, _, headers, _ in service.asked] == [KEY]
    assert said.read_text() == "200"


@pytest.mark.field_report("DMN-003")
def test_two_accounts_are_never_asked_at_the_same_time(machine: Machine, tmp_path: Path) -> None:
    busy, twice = tmp_path / "busy", tmp_path / "twice"
    machine.plays(f"mkdir {busy} || touch {twice}\nsleep 0.3\nrmdir {busy}\nexit 1")
    looked = dataclasses.replace(machine.scene(), clock=SystemClock())
    spec = looked.settings.agent("claude")
    probes = [
        Probe(
            name=f"account {model}",
            takes=Takes.ACCOUNT,
            area=Area.AGENTS,
            look=partial(alive.alive, asked, looked),
        )
        for model in ("one", "two")
        for asked in [spec.model_copy(update={"model": model})]
    ]
    side_by_side.look(probes, SystemClock())
    assert machine.count == 2
    assert not twice.exists()


def test_an_agent_of_which_we_do_not_know_how_to_ask_says_nothing(tmp_path: Path) -> None:
    looked = scene(tmp_path, '[agents.mine]\nkind = "command"\nargv = ["true"]\n')
    assert not list(alive.alive(looked.settings.agent("mine"), looked, limit()))


@pytest.mark.slow
@pytest.mark.timeout(300)
@pytest.mark.parametrize("is_accepted", [True, False])
def test_the_real_client_is_asked_over_a_model_on_loopback(
    tmp_path: Path, make_model: MakeModel, claude_binary: Path, is_accepted: bool
) -> None:
    model = make_model(library.say("OK") if is_accepted else library.unauthorized())
    environment = {
        "PATH": "/usr/bin:/bin",
        "ANTHROPIC_API_KEY": KEY,
        "ANTHROPIC_BASE_URL": model.url,
    }
    looked = scene(
        tmp_path / "home",
        f'[agents.claude]\nkind = "claude"\nargv = ["{claude_binary}"]\n',
        clock=SystemClock(),
        environment=environment,
    )
    (line,) = alive.alive(looked.settings.agent("claude"), looked, limit(120))
    assert line.verdict == ("go" if is_accepted else "no-go"), line
