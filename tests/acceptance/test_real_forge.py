"""The `github` forge over HTTP: real pushes to `git http-backend`, requests held against GitHub's schema."""

from __future__ import annotations

import os
import shlex
from collections.abc import Callable, Iterator
from pathlib import Path

import psutil
import pytest

from tests.acceptance.conftest import MakePerson
from tests.support import agents
from tests.support.fixtures import MakeForge
from tests.support.forge import faults
from tests.support.forge.faults import CREATE_PULL, PUSH, Fault
from tests.support.forge.server import Forge
from tests.support.forge.state import Pull
from tests.support.person import Person
from tests.support.reach import OPEN
from tests.support.small_project import small_project
from tests.support.wait import wait_until

pytestmark = [pytest.mark.slow, pytest.mark.timeout(300)]

PROJECT = "corner/shop"
TITLE = "Say what is right"
BRANCH = "autopilot/t-1-say-what-is-right"
NAMED_LIKE_SECRETS = {"SHOP_API_KEY": "made-up-shop-key", "GITHUB_TOKEN": "made-up-github-token"}


@pytest.fixture
def forge(make_forge: MakeForge) -> Forge:
    forge = make_forge()
    forge.repositories.add(PROJECT, small_project().files)
    return forge


@pytest.fixture
def make_shopkeeper(tmp_path: Path, make_person: MakePerson, forge: Forge) -> Callable[..., Person]:
    """A person whose git may read the repository, and whose key ring holds the forge's token."""

    def make(*, has_token: bool = True) -> Person:
        env = {"AUTOPILOT_SECRET_SHOP_FORGE": forge.token} if has_token else {}
        person = make_person(
            repos={
                "shop": {
                    "url": forge.git_url(PROJECT),
                    "base": "main",
                    "forge": "github",
                    "api_url": forge.api_url,
                    "credential": "shop-forge",
                    "env_pass": ["SHOP_COLOUR", *NAMED_LIKE_SECRETS],
                }
            },
            agents={"mender": agents.mends(tmp_path / "agents", small_project())},
            env={**env, **NAMED_LIKE_SECRETS, "SHOP_COLOUR": "green"},
        )
        person.forges.append(forge)
        lend_to_git(person, forge, tmp_path / "keys")
        return person

    return make


def lend_to_git(person: Person, forge: Forge, folder: Path) -> None:
    """The person's own git asks a helper for the password, as with any private repository."""
    folder.mkdir()
    (folder / "password").write_text(f"username=pat\npassword={forge.token}\n")
    helper = f"!cat {shlex.quote(str(folder / 'password'))}; :"
    (person.daemon.home / ".gitconfig").write_text(f'[credential]\n\thelper = "{helper}"\n')


def the_draft(forge: Forge) -> Pull:
    (pull,) = forge.pulls.all(PROJECT)
    return pull


def runs(person: Person, name: str) -> int:
    sessions: int = person.ticket(name)["sessions"]
    return sessions


def holders(person: Person, token: str) -> Iterator[str]:
    """Whatever of ours shows the token: files below the home, command lines of any process."""
    for path in person.files():
        if token.encode() in path.read_bytes():
            yield str(path)
    for process in psutil.process_iter(["cmdline"]):
        if any(token in word for word in process.info["cmdline"] or ()):
            yield f"process {process.pid}"


@pytest.mark.covers("N01", "N02", "N13", "N16", "N17")
def test_a_ticket_becomes_a_draft_over_http_and_the_token_shows_up_nowhere(
    make_shopkeeper: Callable[..., Person], forge: Forge
) -> None:
    person = make_shopkeeper()
    person.begins()
    forge.fail_next(faults.slow(PUSH, delay_s=1.5))
    name = person.adds(TITLE)
    wait_until(lambda: forge.arrivals("git-receive-pack"), 60, "the push is under way")
    assert list(holders(person, forge.token)) == []
    ticket = person.waits(name)
    assert ticket["state"] == "published", person.does("why", name)
    pull = the_draft(forge)
    assert (pull.draft, pull.sha, pull.base, pull.head) == (True, ticket["head"], "main", BRANCH)
    assert ticket["pr_url"] in person.does("review")
    assert pull.title == TITLE
    assert f"Ref: {name}" in (pull.body or "")
    assert list(holders(person, forge.token)) == []
    assert all(request.is_authorized for request in forge.requests("POST /repos"))
    requests = person.paths.pr_requests
    assert {path.name for path in requests.iterdir()} == {
        f"{ticket['run_id']}.json",
        f"{ticket['run_id']}.verdict.json",
    }
    shown = person.asks("show", name)
    assert shown["attempts"][0]["pid"] != shown["publications"][0]["pid"]


@pytest.mark.covers("B18", "I20", "N07", "N08")
def test_neither_agent_nor_tests_see_the_forges_token_nor_what_is_named_like_one(
    make_shopkeeper: Callable[..., Person], forge: Forge, tmp_path: Path
) -> None:
    seen = tmp_path / "seen"
    seen.mkdir()
    told = f'env > "{seen}/$$"\n'
    project = small_project()
    forge.repositories.add("corner/teller", {**project.files, "check.sh": told + project.files["check.sh"]})
    person = make_shopkeeper()
    # What they tell lies where no sandbox shows it; what they are given is the same in each.
    repo = {**person.config["repo"][0], "url": forge.git_url("corner/teller")}
    person.changes(repo=[repo], sandbox=OPEN)
    person.begins()
    name = person.adds(TITLE)
    assert person.waits(name)["state"] == "published", person.does("why", name)
    environments = [path.read_text() for path in seen.iterdir()]
    assert len(environments) == 3, "baseline, gates, and again before the push"
    for environment in environments:
        assert "SHOP_COLOUR=green" in environment
        assert not any(value in environment for value in (forge.token, *NAMED_LIKE_SECRETS.values()))


@pytest.mark.parametrize(
    "fault",
    [faults.lost_answer(CREATE_PULL), faults.late_error(CREATE_PULL), faults.lost_answer(PUSH)],
    ids=["no answer to create", "gateway error to create", "no answer to push"],
)
def test_an_answer_that_got_lost_leaves_exactly_one_draft(
    make_shopkeeper: Callable[..., Person], forge: Forge, fault: Fault
) -> None:
    person = make_shopkeeper()
    person.begins()
    forge.fail_next(fault)
    ticket = person.waits(person.adds(TITLE))
    assert ticket["state"] == "published"
    assert the_draft(forge).sha == ticket["head"]


@pytest.mark.parametrize(
    "fault",
    [
        faults.server_error(CREATE_PULL, status=503, times=2),
        faults.dropped(PUSH, times=2),
        faults.secondary_rate_limited(CREATE_PULL, retry_after_s=1),
        faults.not_json(r"GET /repos/.+/pulls"),
    ],
    ids=["503 to create", "push cut off", "rate limit", "a proxy's page"],
)
def test_a_forge_that_is_away_for_a_while_gets_the_commit_later_and_no_agent_is_paid_twice(
    make_shopkeeper: Callable[..., Person], forge: Forge, fault: Fault
) -> None:
    person = make_shopkeeper()
    person.begins()
    forge.fail_next(fault)
    name = person.adds(TITLE)
    assert person.waits(name)["state"] == "published", person.does("why", name)
    assert runs(person, name) == 1
    tries = [row["tries"] for row in person.asks("show", name)["publications"]]
    assert [number > 1 for number in tries] == [True]
    assert the_draft(forge).draft


def test_while_the_forge_is_away_the_ticket_rests_with_its_commit_and_says_so(
    make_shopkeeper: Callable[..., Person], forge: Forge
) -> None:
    person = make_shopkeeper()
    person.changes(backoff_s=600, backoff_cap_s=600)
    person.begins()
    forge.fail_next(faults.server_error(CREATE_PULL, status=502))
    name = person.adds(TITLE)
    person.waits(name, "publishing", "parked", "failed")
    ticket = person.waits(name, "committed", "parked", "published")
    assert ticket["state"] == "committed"
    told = person.does("why", name)
    assert "no usable answer" in told
    assert forge.repositories.tip(PROJECT, BRANCH) == ticket["head"]


@pytest.mark.covers("N15")
def test_a_branch_that_the_forge_protects_waits_for_a_person_and_is_then_published(
    make_shopkeeper: Callable[..., Person], forge: Forge
) -> None:
    forge.repositories.protect(PROJECT, BRANCH)
    person = make_shopkeeper()
    person.begins()
    name = person.adds(TITLE)
    ticket = person.waits(name)
    assert (ticket["state"], ticket["waiting_for"]) == ("parked", "configuration")
    assert "GH006" in person.does("why", name)
    assert forge.repositories.tip(PROJECT, BRANCH) is None
    (forge.repositories.existing(PROJECT) / "protected-branches").write_text("")
    person.does("resume", name)
    assert person.waits(name, "published", "failed")["state"] == "published"
    assert runs(person, name) == 1


@pytest.mark.covers("B10")
def test_without_a_token_the_commit_waits_and_goes_out_once_there_is_one(
    make_shopkeeper: Callable[..., Person], forge: Forge
) -> None:
    person = make_shopkeeper(has_token=False)
    person.daemon.start()
    assert person.types("on", "--now").returncode == 3
    person.daemon.call("POST", "/v1/switch", on=True, ignore_window=True)
    name = person.adds(TITLE)
    ticket = person.waits(name)
    assert (ticket["state"], ticket["waiting_for"]) == ("parked", "credential")
    assert "shop-forge" in person.does("why", name)
    assert person.daemon.stop() == 0
    person.daemon.env |= {"AUTOPILOT_SECRET_SHOP_FORGE": forge.token}
    person.daemon.start()
    person.does("resume", name)
    assert person.waits(name, "published", "failed")["state"] == "published"
    assert runs(person, name) == 1


def test_a_token_that_is_refused_once_is_read_anew_and_nobody_is_asked(
    make_shopkeeper: Callable[..., Person], forge: Forge
) -> None:
    person = make_shopkeeper()
    person.begins()
    forge.fail_next(faults.bad_credentials(r"/repos/"))
    name = person.adds(TITLE)
    assert person.waits(name, "published", "failed", "parked")["state"] == "published", person.does(
        "why", name
    )
    assert the_draft(forge).draft


def test_a_token_that_the_forge_refuses_again_parks_the_commit_for_a_credential(
    make_shopkeeper: Callable[..., Person], forge: Forge
) -> None:
    person = make_shopkeeper()
    person.begins()
    forge.fail_next(faults.bad_credentials(r"/repos/", times=2))
    name = person.adds(TITLE)
    ticket = person.waits(name)
    assert (ticket["state"], ticket["waiting_for"]) == ("parked", "credential")
    assert "Bad credentials" in person.does("why", name)
    person.does("resume", name)
    assert person.waits(name, "published", "failed")["state"] == "published"
    assert os.fspath(person.folder) not in (the_draft(forge).body or "")


def test_cancelling_during_the_push_leaves_one_draft_at_most_and_a_ticket_that_says_how_it_ended(
    make_shopkeeper: Callable[..., Person], forge: Forge
) -> None:
    person = make_shopkeeper()
    person.begins()
    forge.fail_next(faults.slow(PUSH, delay_s=1.5))
    name = person.adds(TITLE)
    wait_until(lambda: forge.arrivals("git-receive-pack"), 60, "the push is under way")
    person.does("cancel", name)
    ticket = person.waits(name)
    drafts = forge.pulls.all(PROJECT)
    assert (ticket["state"], len(drafts)) in {("cancelled", 0), ("published", 1)}
    person.types("retry", name)
    ended = person.waits(name, "published", "failed", "parked")
    assert ended["state"] == "published", person.does("why", name)
    assert the_draft(forge).sha == ended["head"]
