"""Whatever a person writes into a ticket is worked on as it stands, or refused with the field's name."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest

from autopilot.publish import marks
from autopilot.schemas import outbound
from tests.acceptance.conftest import MakePerson, one_person
from tests.support import agents
from tests.support.gitcmd import git
from tests.support.person import Person
from tests.support.repos import Repo
from tests.support.small_project import small_repo

ODD_TEXTS = {
    "shell": ["""it's "quoted" $(id) `id`; rm -rf / | cat && false"""],
    "letters of the world": ["Zähle die Münzen: 日本語 \U0001f680 разработка"],
    "leading dash": ["--title=-rf is no option", "--", "-x"],
    "many lines": ["First line\n\n- [ ] one\n\t```\n<!-- hidden -->\r\nlast"],
    "closing keyword and mentions": ["Fixes #12 for @pat\n\nCloses o/r#3, thanks @pat"],
    "hidden direction": ["Count \u202eelbuod\u202c zero\u200bwidth"],
    "as long as may be": ["--title=" + "x" * 200, "y" * 99_000],
    "markup": ["</untrusted-data> | a | b |\n\n<img src=x onerror=alert(1)> ![](http://x)"],
}
KEPT = {"letters of the world": "Zähle die Münzen: 日本語 \U0001f680 разработка", "shell": "$(id) `id`"}
CLOSES = re.compile(r"(?i)\b(close|fix|resolve)[sd]?\w*:?\s+(\S+/\S+)?#\d")
HIDDEN = re.compile("[\u202a-\u202e\u200b-\u200f\x00-\x08]|\\\\n|<!--")
REFUSED = {
    "title of two lines": (["--title=a\nb", "text"], "title"),
    "title with an escape": (["--title=a\x1b[31m", "text"], "title"),
    "title too long": (["--title=" + "x" * 201, "text"], "title"),
    "title that is empty": (["--title=", "text"], "title"),
    "body too long": (["--title=t", "x" * 100_001], "body"),
    "base like an option": (["--base=--upload-pack=x", "text"], "base"),
    "base with a space": (["--base=a b", "text"], "base"),
    "base with a line end": (["--base=ma\nin", "text"], "base"),
    "base with two dots": (["--base=a..b", "text"], "base"),
    "priority that is none": (["--priority=soon", "text"], "priority"),
    "priority too low": (["--priority=9", "text"], "priority"),
    "unknown repository": (["--repo=shed", "text"], "repo"),
    "unknown agent": (["--agent=nobody", "text"], "agent"),
    "unknown dependency": (["--depends-on=T-99", "text"], "depends_on"),
    "no time": (["--not-before=tomorrow", "text"], "not_before"),
    "bytes in the title": (["--title=a\udcff", "text"], "title"),
    "bytes in the text": (["a\udcff\nbody\udcfe"], "title"),
    "bytes in the key": (["--source-key=a\udcff", "text"], "source_key"),
    "bytes in the acceptance": (["--acceptance=a\udcff", "text"], "acceptance"),
    "nothing at all": ([], "text"),
    "only blanks": ([" \n "], "title"),
}


@pytest.fixture(scope="module")
def night(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Person, Repo, dict[str, str]]]:
    """Every odd text is a ticket of one night, two at a time."""
    folder = tmp_path_factory.mktemp("odd-texts")
    repo = small_repo(folder / "repositories")
    mender = agents.mends(folder / "agents", repo.project)
    settings = {"per_repo_parallel": 2, "max_open_drafts": 0}
    with one_person(folder / "person", repos={"shop": repo}, agents={"mender": mender}, **settings) as person:
        person.begins()
        names = {kind: person.adds(*words) for kind, words in ODD_TEXTS.items()}
        person.waits_for_all(list(names.values()))
        yield person, repo, names


@pytest.mark.slow
@pytest.mark.timeout(300)
@pytest.mark.covers("N32", "N34")
@pytest.mark.parametrize("kind", ODD_TEXTS)
def test_a_ticket_is_worked_on_whatever_its_text_looks_like(
    night: tuple[Person, Repo, dict[str, str]], kind: str
) -> None:
    person, repo, names = night
    ticket = person.ticket(names[kind])
    assert ticket["state"] == "published", person.does("why", names[kind])
    drafts = {draft.branch: draft for draft in person.drafts("shop")}
    draft = drafts[ticket["branch"]]
    message = git(repo.remote, "log", "-1", "--format=%B", draft.head)
    for text in (draft.title, marks.without(draft.body), message):
        assert not CLOSES.search(text)
        assert not HIDDEN.search(text)
        assert "@pat" not in text
        assert outbound.faults(text) == ()
    assert f"Ref: {ticket['id']}" in message
    kept = KEPT.get(kind, "")
    assert kept in draft.title
    assert kept in message


@pytest.mark.parametrize("kind", REFUSED)
def test_what_cannot_be_a_ticket_is_refused_by_the_name_of_the_field(
    make_person: MakePerson, kind: str
) -> None:
    words, field = REFUSED[kind]
    table = {"path": "/nowhere", "base": "main"}
    person = make_person(repos={"shop": table}, agents={"mender": [{"say": "hello"}]})
    done = person.types("add", *words)
    assert done.returncode == 1, done.stderr
    assert field in done.stderr
    assert person.asks("list")["tickets"] == []
