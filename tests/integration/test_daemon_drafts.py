"""The real daemon at its cap of open drafts: who frees a place, and what does not."""

from __future__ import annotations

import os
import re
import signal
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path

import psutil
import pytest

from autopilot.config import procinfo
from autopilot.schemas.errors import ExitCode
from autopilot.schemas.events import Event
from tests.support import queue
from tests.support.fixtures import MakeForge
from tests.support.forge import faults
from tests.support.forge.server import Forge
from tests.support.forge.state import Pull
from tests.support.gitcmd import git
from tests.support.person import Person
from tests.support.repos import Repo, commit_files
from tests.support.small_project import small_repo
from tests.support.wait import wait_until

PROJECT = "corner/shop"
ASK = r"GET /repos/corner/shop/pulls/1$"
MENDS = [{"append": {"path": "answer.txt", "text": "right\n"}}]
Make = Callable[..., Person]


@pytest.fixture
def make(tmp_path: Path) -> Iterator[Make]:
    people: list[Person] = []

    def one(**configuration: object) -> Person:
        people.append(Person(tmp_path / "person", **configuration))  # type: ignore[arg-type]
        return people[-1]

    yield one
    for person in people:
        person.clean_up()


@pytest.fixture
def repo(tmp_path: Path) -> Repo:
    return small_repo(tmp_path / "repositories")


@pytest.fixture
def forge(make_forge: MakeForge) -> Forge:
    return make_forge(PROJECT)


@pytest.fixture
def shopkeeper(make: Make, forge: Forge) -> Person:
    """One draft at the forge, which is all that may be open, a ticket behind it, and the switch on."""
    table = {
        "url": forge.git_url(PROJECT),
        "base": "main",
        "forge": "github",
        "api_url": forge.api_url,
        "credential": "shop-forge",
    }
    token = {"AUTOPILOT_SECRET_SHOP_FORGE": forge.token}
    person = make(repos={"shop": table}, agents={"good": MENDS}, env=token, max_open_drafts=1)
    person.paths.ensure()
    with closing(queue.new_store(person.paths.state)) as store:
        draft = queue.publish(store, queue.commit(store, queue.add(store, agent="good")))
        queue.add(store, "The next")
    sha = commit_files(forge.repositories.existing(PROJECT), draft.branch, {"x": "x"})
    forge.pulls.put(Pull(PROJECT, 1, "T", "B", head=draft.branch, base="main", draft=True, sha=sha))
    return person


def askers(person: Person) -> dict[int, str]:
    """The children that ask about drafts of this person, and the mark of each."""
    found = {}
    for pid in procinfo.all_pids():
        with_mark = [mark for mark in procinfo.marks_of(pid) or () if mark.startswith("drafts-shop-")]
        if with_mark and any(str(person.paths.state) in word for word in _words(pid)):
            found[pid] = with_mark[0]
    return found


def _words(pid: int) -> list[str]:
    try:
        return psutil.Process(pid).cmdline()
    except psutil.Error:
        return []


def holders(person: Person, token: str) -> list[Path]:
    return [path for path in person.files() if token.encode() in path.read_bytes()]


@pytest.mark.slow
@pytest.mark.field_report("PUB-014")
def test_five_drafts_hold_the_sixth_ticket_until_a_person_merges_one(make: Make, repo: Repo) -> None:
    person = make(repos={"bill": repo}, agents={"good": MENDS}, max_parallel_agents=0, per_repo_parallel=5)
    person.begins()
    names = [person.adds(f"Say it {number}") for number in range(5)]
    tickets = person.waits_for_all(names)
    assert {ticket["state"] for ticket in tickets.values()} == {"published"}
    sixth = person.adds("Say it once more")
    hold = person.waits_for_hold("review-load", "repo:bill")
    assert all(name in hold["cause"] for name in names)
    report = person.paths.state / "drafts" / "bill" / "report.json"
    wait_until(report.exists, 60, "the remote was asked")
    assert '"merged"' not in report.read_text()
    assert person.ticket(sixth)["state"] == "queued"
    # Whichever was delivered first: five runs side by side end in any order.
    assert re.search(r"autopilot review T-[1-5] --merged", person.does("why", sixth))
    person.daemon.kill()
    git(repo.remote, "update-ref", "refs/heads/main", tickets["T-1"]["head"])
    person.daemon.start()
    assert person.waits(sixth)["state"] == "published"
    person.daemon.wait_for_event(Event.HOLD_ENDED, {"hold": "review-load"})
    assert [one["ticket"]["id"] for one in person.asks("review")["drafts"]] == [*names[1:], sixth]
    assert "merged" in person.does("digest")
    person.goes()


def test_a_persons_word_frees_a_place_at_once(make: Make, repo: Repo) -> None:
    person = make(repos={"bill": repo}, agents={"good": MENDS}, max_open_drafts=1)
    person.begins()
    first = person.adds("Say it")
    person.waits(first)
    second = person.adds("Say it again")
    person.waits_for_hold("review-load")
    for words, code in (
        (("--merged",), ExitCode.USAGE),
        ((first, "--merged", "--closed"), ExitCode.USAGE),
        ((second, "--merged"), ExitCode.REFUSED),
        (("T-9", "--closed"), ExitCode.FAILED),
    ):
        assert person.types("review", *words).returncode == code, words
    assert person.ticket(second)["state"] == "queued"
    assert person.does("review", first, "--merged").startswith("T-1 counts as merged: local://bill/pull/1")
    assert person.waits(second)["state"] == "published"
    assert [one["ticket"]["id"] for one in person.asks("review")["drafts"]] == [second]
    assert "nothing: its pull request is merged" in person.does("why", first)
    person.goes()


@pytest.mark.covers("C05")
def test_a_merge_at_the_forge_is_noticed_and_the_token_is_written_nowhere(
    shopkeeper: Person, forge: Forge
) -> None:
    forge.merge(PROJECT, 1)
    shopkeeper.daemon.start()
    shopkeeper.daemon.wait_for_event(Event.DRAFT_SETTLED, {"state": "merged"})
    shopkeeper.daemon.wait_for_event(Event.HOLD_ENDED, {"hold": "review-load"})
    shopkeeper.daemon.wait_for_event(Event.TICKET_CLAIMED, {"ticket": "T-2"})
    assert holders(shopkeeper, forge.token) == []
    assert {seen.method for seen in forge.requests("/repos/")} == {"GET"}


def test_a_child_that_is_killed_changes_nothing_and_the_daemon_goes_on(
    shopkeeper: Person, forge: Forge
) -> None:
    forge.merge(PROJECT, 1)
    forge.fail_next(faults.slow(ASK, delay_s=60))
    shopkeeper.daemon.start()
    wait_until(lambda: forge.arrivals("/pulls/1"), 60, "the forge is asked")
    (pid,) = askers(shopkeeper)
    os.kill(pid, signal.SIGKILL)
    told = shopkeeper.daemon.wait_for_event(Event.DRAFTS_DOUBTED, {"repo": "shop"})
    assert "killed by signal 9" in told["reason"]
    assert shopkeeper.ticket("T-2")["state"] == "queued"
    assert shopkeeper.waits_for_hold("review-load")["scope"] == "repo:shop"
    shopkeeper.goes()


def test_a_refused_token_is_told_and_frees_nothing(shopkeeper: Person, forge: Forge) -> None:
    forge.merge(PROJECT, 1)
    forge.fail_next(faults.bad_credentials(ASK))
    shopkeeper.daemon.start()
    told = shopkeeper.daemon.wait_for_event(Event.DRAFTS_DOUBTED, {"code": "forge-refused-credential"})
    assert told["level"] == "warning"
    assert shopkeeper.ticket("T-2")["state"] == "queued"
    shopkeeper.goes()


def test_a_daemon_that_stops_leaves_no_child_asking(shopkeeper: Person, forge: Forge) -> None:
    forge.fail_next(faults.slow(ASK, delay_s=60))
    shopkeeper.daemon.start()
    wait_until(lambda: forge.arrivals("/pulls/1"), 60, "the forge is asked")
    shopkeeper.goes()
    assert askers(shopkeeper) == {}


def test_what_a_killed_daemon_left_asking_is_ended_by_the_next(shopkeeper: Person, forge: Forge) -> None:
    forge.fail_next(faults.slow(ASK, delay_s=60))
    shopkeeper.daemon.start()
    wait_until(lambda: forge.arrivals("/pulls/1"), 60, "the forge is asked")
    (left,) = askers(shopkeeper)
    shopkeeper.daemon.kill()
    forge.merge(PROJECT, 1)
    shopkeeper.daemon.start()
    shopkeeper.daemon.wait_for_event(Event.DRAFT_SETTLED, {"state": "merged"})
    assert left not in askers(shopkeeper)
