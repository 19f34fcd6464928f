"""Issues and their comments, as the forge's stand-in keeps and tells them.

The form is GitHub's own: `test_support_forge` holds each answer against its description.
"""

import threading
from dataclasses import dataclass, field

from tests.support.forge.spec import Json


@dataclass(slots=True)
class Issue:
    """One issue; `author` is the number of an account."""

    number: int
    title: str
    body: str | None = None
    author: int | None = 583231
    association: str = "MEMBER"
    state: str = "open"
    labels: tuple[str, ...] = ()
    is_pull: bool = False
    comments: list[str] = field(default_factory=list)
    others: dict[str, Json] = field(default_factory=dict)
    """What others said, and who: fields of their account in place of our own's."""


class Issues:
    """All issues of the forge; every method may be called from any thread."""

    def __init__(self) -> None:
        self._issues: dict[tuple[str, int], Issue] = {}
        self._lock = threading.Lock()

    def put(self, full_name: str, issue: Issue) -> Issue:
        """Open an issue, or change one."""
        with self._lock:
            self._issues[full_name, issue.number] = issue
        return issue

    def get(self, full_name: str, number: int) -> Issue | None:
        with self._lock:
            return self._issues.get((full_name, number))

    def comment(self, issue: Issue, body: str) -> int:
        """Add a comment and give its number on the issue, from 1."""
        with self._lock:
            issue.comments.append(body)
            return len(issue.comments)


def shown(issue: Issue, repo: str, user: Json, base_url: str) -> Json:
    """The issue as the REST interface tells it; `user` is an account in its form."""
    place = f"{base_url}/repos/{repo}"
    url = f"{place}/issues/{issue.number}"
    told: Json = {
        "id": 5_000_000_000 + issue.number,
        "node_id": f"I_{issue.number}",
        "number": issue.number,
        "title": issue.title,
        "body": issue.body,
        "state": issue.state,
        "state_reason": "completed" if issue.state == "closed" else None,
        "author_association": issue.association,
        "user": None if issue.author is None else {**user, "id": issue.author},
        "labels": [_label(name, place) for name in issue.labels],
        "comments": len(issue.comments),
        "assignee": None,
        "assignees": [],
        "milestone": None,
        "locked": False,
        "created_at": "2026-01-01T09:00:00Z",
        "updated_at": "2026-01-02T09:00:00Z",
        "closed_at": None if issue.state == "open" else "2026-01-02T09:00:00Z",
        "url": url,
        "html_url": f"{base_url}/{repo}/issues/{issue.number}",
        "repository_url": place,
        "comments_url": f"{url}/comments",
        "events_url": f"{url}/events",
        "labels_url": f"{url}/labels{{/name}}",
    }
    if issue.is_pull:
        pull = f"{place}/pulls/{issue.number}"
        told["pull_request"] = {"url": pull, "html_url": pull, "diff_url": pull, "patch_url": pull}
    return told


def _label(name: str, place: str) -> Json:
    url = f"{place}/labels/{name}"
    return {"id": 1, "node_id": "L", "url": url, "name": name, "color": "f29513", "default": False}


def comment_shown(issue: Issue, repo: str, count: int, *, user: Json, base_url: str) -> Json:
    """The comment of this number, from 1, as the REST interface tells it."""
    ident = 1000 * issue.number + count
    place = f"{base_url}/repos/{repo}/issues"
    return {
        "id": ident,
        "node_id": f"IC_{ident}",
        "body": issue.comments[count - 1],
        "user": {**user, **issue.others.get(issue.comments[count - 1], {})},
        "author_association": "COLLABORATOR",
        "created_at": "2026-01-02T09:00:00Z",
        "updated_at": "2026-01-02T09:00:00Z",
        "url": f"{place}/comments/{ident}",
        "html_url": f"{base_url}/{repo}/issues/{issue.number}#issuecomment-{ident}",
        "issue_url": f"{place}/{issue.number}",
    }
