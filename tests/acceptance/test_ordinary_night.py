"""A night as most will be: the defaults, the usual stacks, a slip in the configuration, no room, a digest."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path
from zoneinfo import ZoneInfo

import pytest

from autopilot.schemas.events import Event
from tests.acceptance.conftest import MakePerson
from tests.support import agents
from tests.support.gitcmd import git
from tests.support.person import Person
from tests.support.projects import node_project
from tests.support.repos import make_repo
from tests.support.small_project import small_project, small_repo
from tests.support.wait import wait_until

pytestmark = [pytest.mark.slow, pytest.mark.timeout(300)]


@pytest.fixture
def person(make_person: MakePerson, tmp_path: Path) -> Person:
    mender = agents.mends(tmp_path / "agents", small_project())
    return make_person(
        repos={"shop": small_repo(tmp_path / "shop")}, agents={"mender": mender}, daemon={"poll_s": 0.2}
    )


@pytest.mark.covers("B22")
def test_with_the_defaults_two_tickets_become_two_drafts_and_launches_keep_their_distance(
    make_person: MakePerson, tmp_path: Path
) -> None:
    person = make_person(
        repos={name: small_repo(tmp_path / name) for name in ("shop", "till")},
        agents={"mender": agents.mends(tmp_path / "agents", small_project())},
        below={"min_free_disk_gib": 0, "min_free_memory_gib": 0, "max_load_per_cpu": 0},
        identity={"name": "Pat Doe", "email": "pat@example.org"},
    )
    person.begins()
    names = [person.adds(f"--repo={repo}", "Mend it") for repo in ("shop", "till")]
    ended = person.waits_for_all(names)
    assert {ticket["state"] for ticket in ended.values()} == {"published"}
    starts = sorted(person.asks("show", name)["attempts"][0]["started_ms"] for name in names)
    assert starts[1] - starts[0] >= 2000
    kept = {line["event"] for line in person.daemon.events()} & {Event.AWAKE_HELD, Event.AWAKE_UNAVAILABLE}
    assert kept, "each run either keeps the machine awake or says why it cannot"
    (draft,) = person.drafts("shop")
    form = "--format=%an <%ae> %cn <%ce>"
    written_by = git(Path(person.config["repo"][0]["path"]), "log", "-1", form, draft.head)
    assert written_by == "Pat Doe <pat@example.org> Pat Doe <pat@example.org>"


@pytest.mark.needs(binary="node", apt="nodejs")
def test_a_node_project_goes_from_red_to_a_draft(make_person: MakePerson, tmp_path: Path) -> None:
    repo = make_repo(tmp_path / "shop", project=node_project())
    mender = agents.mends(tmp_path / "agents", repo.project)
    person = make_person(repos={"shop": repo}, agents={"mender": mender})
    person.begins()
    name = person.adds("Lose no cent")
    assert person.waits(name)["state"] == "published", person.does("why", name)
    gates = {(gate["gate"], gate["producer"]): gate for gate in person.asks("show", name)["gates"]}
    for producer in ("run", "publish"):
        assert gates["test-summary", producer]["counts"]["executed"] == 2


def test_a_slip_in_the_configuration_stops_nothing_that_runs_and_is_named(person: Person) -> None:
    person.begins()
    right = person.paths.config_file.read_text()
    person.paths.config_file.write_text(right + "\n[shedule]\nwindow = ''\n")
    told = person.daemon.wait_for_event(Event.CONFIG_REFUSED)
    assert "shedule" in told["error"]
    name = person.adds("Mend it")
    assert person.waits(name)["state"] == "published"
    done = person.types("doctor")
    assert done.returncode == 3
    assert "schedule" in done.stdout, "the nearest key is named"
    person.paths.config_file.write_text(right)
    person.daemon.wait_for_event(Event.CONFIG_RELOADED)
    assert person.waits(person.adds("Mend it again"))["state"] == "published"


@pytest.mark.parametrize("floor", ["disk", "memory"])
def test_a_machine_that_runs_short_holds_the_queue_until_there_is_room(person: Person, floor: str) -> None:
    key = f"min_free_{floor}_gib"
    person.changes(**{key: 90_000})
    person.daemon.start()
    person.daemon.call("POST", "/v1/switch", on=True, ignore_window=True)
    name = person.adds("Mend it")
    assert "are kept" in person.waits_for_hold(f"{floor}-low")["cause"]
    assert f"lower {key}" in person.does("why", name)
    assert person.ticket(name)["sessions"] == 0
    person.changes(**{key: 0})
    assert person.waits(name)["state"] == "published"


@pytest.mark.covers("G04")
def test_the_digest_falls_due_once_a_day_also_for_a_daemon_that_was_not_there(person: Person) -> None:
    now = datetime.now(UTC)
    zone = f"Etc/GMT{now.hour - 12:+d}"  # noon is near, and no midnight between the two times
    now = now.astimezone(ZoneInfo(zone))
    person.changes(schedule={"timezone": zone, "digest_at": f"{now + timedelta(hours=1):%H:%M}"})
    person.begins()
    name = person.adds("Mend it")
    assert person.waits(name)["state"] == "published"
    assert list(person.paths.digests.glob("*.md")) == [], "there was no morning yet"
    assert person.daemon.stop() == 0
    person.changes(schedule={"digest_at": f"{now - timedelta(minutes=1):%H:%M}"})
    person.daemon.start()

    def written() -> list[Path]:
        return list(person.paths.digests.glob("*.md"))

    (digest,) = wait_until(written, 60, "the digest is there")
    assert f"**{name}**" in digest.read_text()
    before = digest.stat().st_mtime_ns
    assert person.daemon.stop() == 0
    person.daemon.start()
    assert person.waits(person.adds("Mend it again"))["state"] == "published"
    assert digest.stat().st_mtime_ns == before
