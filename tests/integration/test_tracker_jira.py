"""Issues over Jira's protocol, Cloud and Data Center, and the four requests that there are."""

import ast
import inspect
from collections.abc import Iterator

import pytest

from autopilot.publish.answers import Lost
from autopilot.publish.trackers import jira as module
from autopilot.publish.trackers.tracker import Ours
from autopilot.schemas.errors import AutopilotError, ConfigError, TicketError, TransientError
from tests.support.forge.faults import Fault
from tests.support.jira import Jira, JiraIssue
from tests.support.trackers import jira

READ = r"GET /rest/api/2/issue/ABC-7$"
AUTHOR = "5b10ac8d82e05b22cc7d4ef5"


@pytest.fixture(params=["cloud", "data-center"])
def server(request: pytest.FixtureRequest) -> Iterator[Jira]:
    is_cloud = request.param == "cloud"
    with Jira(account="night@example.org" if is_cloud else "", is_cloud=is_cloud) as made:
        made.put(JiraIssue("ABC-7", "Größe is wrong", "h1. Why\r\n\r\ntext", labels=("night",)))
        yield made


@pytest.fixture
def cloud() -> Iterator[Jira]:
    with Jira(account="night@example.org") as made:
        made.put(JiraIssue("ABC-7", "x", "y"))
        yield made


def test_an_issue_is_told_with_its_creator_by_a_number_that_never_changes_hands(server: Jira) -> None:
    with jira(server) as tracker:
        told = tracker.read("ABC-7")
    assert (told.title, told.body) == ("Größe is wrong", "h1. Why\r\n\r\ntext")
    assert (told.author, told.editors) == (f"jira:{AUTHOR}", ())
    assert (told.association, told.state) == ("NONE", "open")


@pytest.mark.parametrize("number", ["557058:f58131cb-b67d-43c7-b30d-6b58d40bd077", "JIRAUSER10100", "a.b@c"])
def test_every_form_of_an_accounts_number_is_taken(cloud: Jira, number: str) -> None:
    cloud.put(JiraIssue("ABC-7", "x", creator=number))
    with jira(cloud) as tracker:
        assert tracker.read("ABC-7").author == f"jira:{number}"


@pytest.mark.parametrize("number", ["john doe", "jürgen", "x" * 129])
@pytest.mark.parametrize("is_editor", [False, True])
def test_an_account_that_none_of_our_lists_could_name_is_not_taken(
    cloud: Jira, number: str, is_editor: bool
) -> None:
    history: list[tuple[str | None, str]] = [(number, "summary")] if is_editor else []
    cloud.put(JiraIssue("ABC-7", "x", creator=AUTHOR if is_editor else number, history=history))
    with jira(cloud) as tracker, pytest.raises(TicketError, match=f"{number[:9]}.*author-unknown") as raised:
        tracker.read("ABC-7")
    assert raised.value.hint


@pytest.mark.parametrize(
    ("category", "state"), [("new", "open"), ("indeterminate", "open"), ("done", "closed")]
)
def test_a_status_of_the_category_done_is_closed(cloud: Jira, category: str, state: str) -> None:
    cloud.put(JiraIssue("ABC-7", "x", category=category))
    with jira(cloud) as tracker:
        assert tracker.read("ABC-7").state == state


def test_who_changed_the_text_since_is_told_and_other_changes_are_not(server: Jira) -> None:
    history: list[tuple[str | None, str]] = [
        *[("2", "status"), ("3", "description"), ("4", "summary"), ("3", "description"), (None, "labels")]
    ]
    server.put(JiraIssue("ABC-7", "x", history=history))
    with jira(server) as tracker:
        assert tracker.read("ABC-7").editors == ("jira:3", "jira:4")


@pytest.mark.parametrize(
    ("issue", "code"),
    [
        (JiraIssue("ABC-7", "x", history=[(AUTHOR, "summary")], untold=1), "issue-history-cut"),
        (JiraIssue("ABC-7", "x", history=[(None, "description")]), "author-unknown"),
    ],
)
def test_a_text_that_somebody_unknown_may_have_changed_is_not_taken(
    cloud: Jira, issue: JiraIssue, code: str
) -> None:
    cloud.put(issue)
    with jira(cloud) as tracker, pytest.raises(TicketError, match=code):
        tracker.read("ABC-7")


def test_an_issue_that_was_moved_to_another_project_is_named_by_its_new_key(cloud: Jira) -> None:
    cloud.issues["ABC-7"] = JiraIssue("OPS-3", "x")
    with jira(cloud) as tracker, pytest.raises(TicketError, match="OPS-3") as raised:
        tracker.read("ABC-7")
    assert raised.value.code == "issue-moved"


def test_a_comment_is_added_and_found_again_by_a_mark_in_it(server: Jira) -> None:
    with jira(server) as tracker:
        assert not tracker.find("ABC-7", Ours("mark-1", "done"))
        tracker.comment("ABC-7", "A draft is open.\nmark-1 ✓")
        assert tracker.find("ABC-7", Ours("mark-1", "done"))
    assert server.issues["ABC-7"].comments == ["A draft is open.\nmark-1 ✓"]


def test_comments_that_jira_does_not_tell_are_no_proof_of_absence(cloud: Jira) -> None:
    told = {"key": "ABC-7", "fields": {"comment": {"comments": [], "total": 3}}}
    cloud.faults.append(Fault(READ, 200, told))
    with jira(cloud) as tracker, pytest.raises(ConfigError, match="comments-not-whole"):
        tracker.find("ABC-7", Ours("mark-1", "done"))


def test_a_comment_whose_answer_is_lost_can_be_looked_for(cloud: Jira) -> None:
    cloud.faults.append(Fault(r"POST .*/comment$", after=True, drop=True))
    with jira(cloud) as tracker:
        with pytest.raises(Lost):
            tracker.comment("ABC-7", "mark-1")
        assert tracker.find("ABC-7", Ours("mark-1", "done"))


@pytest.mark.covers("H15", "I16")
def test_exactly_four_requests_exist(server: Jira) -> None:
    with jira(server) as tracker:
        tracker.read("ABC-7")
        tracker.comment("ABC-7", "x")
        assert tracker.find("ABC-7", Ours("x", "done"))
        tracker.weaknesses()
    assert sorted({f"{seen.method} {seen.path}" for seen in server.seen}) == [
        "GET /rest/api/2/issue/ABC-7",
        "GET /rest/api/2/mypermissions",
        "GET /rest/api/2/myself",
        "POST /rest/api/2/issue/ABC-7/comment",
    ]
    assert sorted(request.value for request in module.Request) == [
        ("GET", "/issue/{}"),
        ("GET", "/mypermissions"),
        ("GET", "/myself"),
        ("POST", "/issue/{}/comment"),
    ]
    calls = [
        node
        for node in ast.walk(ast.parse(inspect.getsource(module)))
        if isinstance(node, ast.Call)
        and isinstance(node.func, ast.Attribute)
        and node.func.attr in {"ask", "request", "get", "post", "put", "patch", "delete", "send", "stream"}
    ]
    assert len(calls) == 1, "one place speaks, and it takes its method and path from Request"


@pytest.mark.covers("I16")
def test_a_token_that_reads_and_comments_is_narrow_and_each_right_beyond_is_named(server: Jira) -> None:
    with jira(server) as tracker:
        assert tracker.weaknesses() == ()
        server.may |= {"TRANSITION_ISSUES", "EDIT_ISSUES", "DELETE_ISSUES", "ADMINISTER"}
        told = "\n".join(tracker.weaknesses())
        server.may = {"BROWSE_PROJECTS"}
        assert tracker.weaknesses() == ("it may not comment",)
    for right in ("move issues to another status", "edit issues", "delete issues", "administer Jira"):
        assert right in told


@pytest.mark.parametrize("key", ["ABC-7/transitions", "../mypermissions", "abc-7", "ABC-07", "ABC-7?x", ""])
def test_nothing_but_a_key_gets_into_a_path(cloud: Jira, key: str) -> None:
    with jira(cloud) as tracker:
        for ask in (
            tracker.read,
            lambda key: tracker.comment(key, "x"),
            lambda key: tracker.find(key, Ours("x", "done")),
        ):
            with pytest.raises(TicketError, match="reference-unknown"):
                ask(key)
    assert cloud.seen == []


@pytest.mark.parametrize(
    ("fault", "kind", "code"),
    [
        (Fault(READ, 401, {"_raw": "<html>sign in</html>"}), ConfigError, "tracker-refused-credential"),
        (Fault(READ, 403, {"errorMessages": ["captcha"]}), ConfigError, "tracker-refused-credential"),
        (Fault(READ, 404, {"errorMessages": ["no"]}), TicketError, "issue-not-found"),
        (Fault(READ, 302, {}, {"Location": "https://id.example.org/login"}), ConfigError, "tracker-moved"),
        (Fault(READ, 429, {}, {"Retry-After": "7"}), TransientError, "tracker-rate-limit"),
        (Fault(READ, 503, {}), TransientError, "tracker-unavailable"),
        (Fault(READ, 200, {"_raw": "<html></html>"}), Lost, "tracker-answer-unreadable"),
        (Fault(READ, 200, {"key": "ABC-7", "fields": {}}), Lost, "tracker-answer-unreadable"),
        (Fault(READ, 400, {"errorMessages": ["what?"]}), ConfigError, "tracker-refused"),
    ],
)
def test_each_way_of_not_answering_has_a_name_and_a_cure(
    cloud: Jira, fault: Fault, kind: type[AutopilotError], code: str
) -> None:
    cloud.faults.append(fault)
    with jira(cloud) as tracker, pytest.raises(kind) as raised:
        tracker.read("ABC-7")
    assert raised.value.code == code
    assert raised.value.hint


def test_a_wrong_token_is_named_although_jira_answers_as_to_a_stranger(server: Jira) -> None:
    with jira(server, token="another") as tracker, pytest.raises(ConfigError) as raised:
        tracker.read("ABC-7")
    assert raised.value.code == "tracker-refused-credential"
    assert "browse projects and add comments" in raised.value.hint


def test_a_server_that_sends_back_how_we_signed_is_not_quoted(cloud: Jira) -> None:
    import base64

    code = base64.b64encode(f"{cloud.account}:{cloud.token}".encode()).decode()
    cloud.faults.append(Fault(READ, 403, {"errorMessages": [f"no: Basic {code} {cloud.token}"]}))
    with jira(cloud) as tracker, pytest.raises(ConfigError) as raised:
        tracker.read("ABC-7")
    assert code not in str(raised.value)
    assert cloud.token not in str(raised.value)
