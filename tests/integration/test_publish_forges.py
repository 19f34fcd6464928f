"""What both forges promise, asked of each directly."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from autopilot.publish.askpass import Access
from autopilot.publish.forges.forge import Forge as Asked
from autopilot.publish.forges.forge import Wanted
from autopilot.publish.forges.github import GitHubForge
from autopilot.publish.forges.local import LocalForge, read_records, record_path
from autopilot.publish.stops import Stop
from autopilot.schemas.errors import TransientError
from tests.support.clock import FakeClock
from tests.support.fixtures import MakeForge
from tests.support.forge import faults
from tests.support.forge.faults import CREATE_PULL
from tests.support.forge.server import Forge
from tests.support.publication import BASE_FILES, BRANCH
from tests.support.repos import commit_files

OTHER = "autopilot/t-4-other"


@dataclass(frozen=True, slots=True)
class Remote:
    """What a remote shows: one commit in one base, or a branch that is gone."""

    held: tuple[str, str] = ("", "")
    gone: str = ""

    def holds(self, base: str, sha: str) -> bool:
        return (base, sha) == self.held

    def is_gone(self, branch: str) -> bool:
        return branch == self.gone


@pytest.fixture
def server(make_forge: MakeForge) -> Forge:
    made = make_forge()
    made.repositories.add("o/r", BASE_FILES)
    return made


def push(server: Forge, branch: str = BRANCH) -> str:
    return commit_files(server.repositories.existing("o/r"), branch, {"x": branch})


def github(server: Forge, *, timeout_s: float = 20.0) -> GitHubForge:
    access = Access({}, server.token)
    return GitHubForge(server.api_url, "o/r", access, clock=FakeClock(), timeout_s=timeout_s)


@pytest.fixture(params=["local", "github"])
def forge(request: pytest.FixtureRequest, server: Forge, tmp_path: Path) -> Iterator[Asked]:
    if request.param == "local":
        yield LocalForge(tmp_path / "records", "o/r", clock=FakeClock(), remote=Remote())
        return
    with github(server) as made:
        yield made


def wanted(head: str, branch: str = BRANCH, **other: str) -> Wanted:
    return Wanted(**{"branch": branch, "base": "main", "head": head, "title": "T", "body": "B ñ\n", **other})


def test_a_branch_without_a_pull_request_has_none_and_is_not_protected(forge: Asked) -> None:
    assert forge.find(BRANCH) is None
    assert forge.protection(BRANCH) is None


@pytest.mark.covers("N17")
def test_what_is_opened_is_a_draft_and_is_found_by_its_head(forge: Asked, server: Forge) -> None:
    head = push(server)
    opened = forge.create(wanted(head))
    known = forge.find(BRANCH)
    assert known is not None
    assert (opened.draft, opened.state) == (True, "open")
    assert (known.pr, known.head, known.base) == (opened, head, "main")
    assert known.body.strip() == "B ñ"


@pytest.mark.field_report("PUB-001")
def test_opening_a_second_one_for_the_same_head_gives_the_first(forge: Asked, server: Forge) -> None:
    head = push(server)
    assert forge.create(wanted(head)) == forge.create(wanted(head, title="other"))


def test_branches_do_not_share_a_pull_request(forge: Asked, server: Forge) -> None:
    first, second = push(server), push(server, OTHER)
    one, two = forge.create(wanted(first)), forge.create(wanted(second, OTHER))
    assert (one.number, two.number) == (1, 2)
    found = forge.find(OTHER)
    assert found is not None
    assert found.pr == two


def test_one_is_given_by_its_number_with_its_branch(forge: Asked, server: Forge) -> None:
    first, second = push(server), push(server, OTHER)
    forge.create(wanted(first))
    opened = forge.create(wanted(second, OTHER))
    known = forge.get(2)
    assert (known.pr, known.branch, known.head, known.base) == (opened, OTHER, second, "main")


def test_a_number_that_nobody_knows_is_no_answer(forge: Asked) -> None:
    with pytest.raises(Stop):
        forge.get(7)


def test_a_text_is_replaced_and_everything_else_stays(forge: Asked, server: Forge) -> None:
    head = push(server)
    forge.create(wanted(head))
    known = forge.find(BRANCH)
    assert known is not None
    forge.update(known, body="new\n", head=head)
    again = forge.find(BRANCH)
    assert again is not None
    assert (again.body.strip(), again.pr) == ("new", known.pr)


def test_an_answer_that_takes_too_long_is_looked_up(server: Forge) -> None:
    head = push(server)
    server.fail_next(faults.slow(CREATE_PULL, delay_s=5))
    with github(server, timeout_s=1.0) as forge:
        with pytest.raises(TransientError) as caught:
            forge.create(wanted(head))
        assert caught.value.code == "forge-unavailable"
        assert server.token not in repr(caught.value) + str(caught.value.__cause__)


def test_a_server_that_is_not_there_is_named_without_the_token(server: Forge) -> None:
    server.close()
    with github(server) as forge, pytest.raises(TransientError) as caught:
        forge.find(BRANCH)
    assert caught.value.code == "forge-unavailable"
    assert server.token not in f"{caught.value!r}{caught.value.__cause__!r}{caught.value.__context__!r}"


@pytest.mark.parametrize(
    "ask",
    [lambda forge: forge.find(BRANCH), lambda forge: forge.protection(BRANCH)],
)
def test_a_server_that_repeats_the_token_does_not_get_it_into_an_error(
    server: Forge, ask: Callable[[GitHubForge], object]
) -> None:
    server.fail_next(faults.Fault(status=403, body={"message": f"not with {server.token}"}))
    with github(server) as forge, pytest.raises(Stop) as caught:
        ask(forge)
    assert "[token]" in str(caught.value)
    assert server.token not in f"{caught.value!r}{caught.value.what}"


def test_a_closed_one_is_found_when_no_open_one_is_there(server: Forge) -> None:
    head = push(server)
    with github(server) as forge:
        forge.create(wanted(head))
        server.close_pull("o/r", 1)
        closed = forge.find(BRANCH)
        forge_again = forge.create(wanted(head))
        opened = forge.find(BRANCH)
    assert closed is not None
    assert opened is not None
    assert (closed.pr.state, opened.pr.state, opened.pr.number) == ("closed", "open", forge_again.number)


@pytest.mark.parametrize("cut", [0, 1, 100])
def test_a_record_that_cannot_be_read_is_not_taken_for_none_and_no_second_one_is_made(
    tmp_path: Path, cut: int
) -> None:
    folder = tmp_path / "records"
    forge = LocalForge(folder, "o/r", clock=FakeClock(), remote=Remote())
    assert forge.create(wanted("a" * 40)).number == 1
    whole = record_path(folder, 1).read_bytes()
    record_path(folder, 1).write_bytes(whole[:cut])
    for ask in (lambda: forge.create(wanted("a" * 40)), lambda: forge.find(BRANCH)):
        with pytest.raises(Stop) as caught:
            ask()
        assert caught.value.code == "record-unreadable"
        assert str(record_path(folder, 1)) in caught.value.hint
    assert record_path(folder, 1).read_bytes() == whole[:cut]
    assert not read_records(folder)
    record_path(folder, 1).write_bytes(whole)
    assert forge.create(wanted("a" * 40)).number == 1


def test_a_branch_whose_open_record_can_be_read_is_not_held_up_by_another_record(tmp_path: Path) -> None:
    folder = tmp_path / "records"
    forge = LocalForge(folder, "o/r", clock=FakeClock(), remote=Remote())
    forge.create(wanted("a" * 40))
    record_path(folder, 7).write_text("{")
    known = forge.find(BRANCH)
    assert known is not None
    assert known.pr.number == 1


def test_a_local_pull_request_whose_commit_reached_the_base_counts_as_merged(tmp_path: Path) -> None:
    forge = LocalForge(tmp_path, "o/r", clock=FakeClock(), remote=Remote(held=("main", "a" * 40)))
    forge.create(wanted("a" * 40))
    known = forge.find(BRANCH)
    assert known is not None
    assert known.pr.state == "merged"


@pytest.mark.parametrize(
    ("remote", "state"),
    [
        (Remote(), "open"),
        (Remote(gone=BRANCH), "closed"),
        (Remote(held=("main", "a" * 40), gone=BRANCH), "merged"),
        (Remote(held=("other", "a" * 40)), "open"),
    ],
)
def test_what_became_of_a_local_pull_request_is_seen_in_the_remote(
    tmp_path: Path, remote: Remote, state: str
) -> None:
    LocalForge(tmp_path, "o/r", clock=FakeClock(), remote=Remote()).create(wanted("a" * 40))
    assert LocalForge(tmp_path, "o/r", clock=FakeClock(), remote=remote).get(1).pr.state == state


def test_a_record_that_says_closed_needs_no_remote(tmp_path: Path) -> None:
    forge = LocalForge(tmp_path, "o/r", clock=FakeClock(), remote=Remote(held=("main", "a" * 40)))
    LocalForge(tmp_path, "o/r", clock=FakeClock(), remote=Remote()).create(wanted("a" * 40))
    record = read_records(tmp_path)[0].model_copy(update={"state": "closed"})
    record_path(tmp_path, 1).write_text(record.model_dump_json())
    assert forge.get(1).pr.state == "closed"
