"""What was handed to a service is read for each child that it may be lent to: it may be another by then."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

from autopilot.config import handed
from autopilot.daemon import inquiry
from autopilot.daemon.loop import Loop
from autopilot.daemon.store import queries_runs
from autopilot.schemas.machine import State
from autopilot.schemas.publication import ForgeSpec, PublishOutcome, PullStateSpec
from tests.support import queue
from tests.support.couriers import Errands
from tests.support.shop import Stage

FORGE, HOOK, KEY = "AUTOPILOT_SECRET_FORGE", "AUTOPILOT_SECRET_TEAM_HOOK", "SCRIPTED_KEY"


@pytest.fixture(autouse=True)
def service(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in (FORGE, HOOK, KEY, "AUTOPILOT_HANDED"):
        monkeypatch.setenv(name, "")
        monkeypatch.delenv(name)
    monkeypatch.setenv("AUTOPILOT_SERVICE", "systemd")


def hand(config_file: Path, value: str) -> None:
    handed.write(handed.file_beside(config_file), dict.fromkeys((FORGE, HOOK, KEY), value))


def last(place: Stage | Errands) -> Mapping[str, str]:
    return place.supervisor.launches[-1].env


@pytest.fixture
def loop(stage: Stage) -> Loop:
    """A service that took in what it was handed at its start; its forge wants a token."""
    forge = 'base = "main"\nforge = "github"\nproject = "o/shop"\ncredential = "forge"'
    text = stage.paths.config_file.read_text().replace('base = "main"', forge, 1)
    agent = '[agents.scripted]\nkind = "scripted"\n'
    stage.paths.config_file.write_text(text.replace(agent, f'{agent}env_pass = ["{KEY}"]\n'))
    assert stage.current.refresh() is True
    hand(stage.paths.config_file, "of the evening")
    handed.take_in(handed.file_beside(stage.paths.config_file))
    hand(stage.paths.config_file, "of the night")
    return Loop(stage.shop)


@pytest.mark.field_report("DMN-003")
def test_a_run_has_the_key_of_now(stage: Stage, loop: Loop) -> None:
    queue.add(stage.store)
    loop.tick()
    assert last(stage)[KEY] == "of the night"


@pytest.mark.field_report("DMN-003")
def test_a_publication_whose_token_was_refused_tries_the_one_that_was_handed_since(
    stage: Stage, loop: Loop
) -> None:
    """It read the old one again and waited for a person, and did the same after `resume`."""
    queue.add(stage.store)
    loop.tick()
    stage.commit()
    loop.tick()
    assert last(stage)[FORGE] == "of the night"
    with stage.store.read() as conn:
        live = queries_runs.publishing(conn)[0]
    code = "forge-refused-credential"
    stage.judge(queue.verdict(live, PublishOutcome.VERIFICATION_FAILED, code=code, waiting_for="credential"))
    loop.tick()
    assert stage.state() is State.COMMITTED
    hand(stage.paths.config_file, "of the morning")
    stage.clock.advance(3600)
    loop.tick()
    assert stage.state() is State.PUBLISHING
    assert last(stage)[FORGE] == "of the morning"


def test_a_question_about_drafts_has_the_token_of_now(stage: Stage, loop: Loop, tmp_path: Path) -> None:
    del loop
    forge = ForgeSpec(kind="github", push_url="git@forge.example:a/b", credential="forge")
    report = tmp_path / "told.json"
    question = PullStateSpec(
        id="q", pulls=(), report=report, workdir=tmp_path, forge=forge, wall_s=9, created_ms=1
    )
    assert inquiry.launch(stage.shop, "a", "q", question).env[FORGE] == "of the night"


def test_a_digest_goes_out_by_the_address_of_now(make_errands: Callable[..., Errands]) -> None:
    errands = make_errands()
    file = errands.stage.paths.config_file
    hand(file, "https://hooks.example/old")
    handed.take_in(handed.file_beside(file))
    hand(file, "https://hooks.example/new")
    errands.morning()
    assert last(errands)[HOOK] == "https://hooks.example/new"
