"""A Jira on loopback: a stand-in that answers the requests that we make, in the form of its REST interface.

The form is that of the published description, version 2 (https://developer.atlassian.com/cloud/jira/platform/
rest/v2/: Issues, Issue comments, Permissions, Myself), and of Data Center's, whose accounts have `key` and
`name` where Cloud's have `accountId`. It was written from those pages; no Jira was at hand to compare
it with. Whatever else is asked, a transition say, is refused and recorded.
"""

import base64
import json
import re
import threading
import urllib.parse
from dataclasses import dataclass, field
from typing import Any, Final

from tests.support.forge.faults import Fault
from tests.support.loopback import LoopbackHandler, LoopbackServer

OWN: Final = "557058:f58131cb-b67d-43c7-b30d-6b58d40bd077"
TOKEN: Final = "dummy-jira-token"
PERMISSIONS: Final = ("BROWSE_PROJECTS", "ADD_COMMENTS")
_MISSING: Final = {
    "errorMessages": ["Issue does not exist or you do not have permission to see it."],
    "errors": {},
}
_KNOWN: Final = frozenset(
    {
        *PERMISSIONS,
        *("TRANSITION_ISSUES", "EDIT_ISSUES", "DELETE_ISSUES", "CREATE_ISSUES", "ASSIGN_ISSUES"),
        *("CLOSE_ISSUES", "RESOLVE_ISSUES", "MOVE_ISSUES", "LINK_ISSUES", "MODIFY_REPORTER"),
        *("EDIT_ALL_COMMENTS", "DELETE_ALL_COMMENTS", "DELETE_ALL_ATTACHMENTS"),
        *("ADMINISTER_PROJECTS", "ADMINISTER", "SYSTEM_ADMIN"),
    }
)


@dataclass(slots=True)
class JiraIssue:
    """One issue; people are known by their account's number, history by who changed which field."""

    key: str
    summary: str
    description: str | None = None
    creator: str | None = "5b10ac8d82e05b22cc7d4ef5"
    category: str = "new"
    labels: tuple[str, ...] = ()
    history: list[tuple[str | None, str]] = field(default_factory=list)
    untold: int = 0
    """Changes that there were and that are not told any more."""
    comments: list[str] = field(default_factory=list)
    others: dict[str, str | None] = field(default_factory=dict)
    """What others said, and who."""


@dataclass(frozen=True, slots=True)
class Seen:
    """One request; the credential itself is never kept."""

    method: str
    path: str
    query: dict[str, str]
    body: Any
    is_authorized: bool


class Jira(LoopbackServer):
    """The stand-in: issues, what the token may, faults to come, requests seen."""

    def __init__(self, *, token: str = TOKEN, account: str = "", is_cloud: bool = True) -> None:
        self.token = token
        self.account = account
        self.is_cloud = is_cloud
        self.may: set[str] = set(PERMISSIONS)
        self.issues: dict[str, JiraIssue] = {}
        self.seen: list[Seen] = []
        self.faults: list[Fault] = []
        self.lock = threading.Lock()
        super().__init__(_Handler)

    def put(self, issue: JiraIssue) -> JiraIssue:
        """Open an issue, or change one."""
        self.issues[issue.key] = issue
        return issue

    def person(self, number: str | None) -> dict[str, Any] | None:
        """An account as this kind of Jira tells it."""
        if number is None:
            return None
        if self.is_cloud:
            return {"accountId": number, "accountType": "atlassian", "active": True, "displayName": "Pat"}
        return {"key": number, "name": "pat", "emailAddress": "pat@example.org", "displayName": "Pat"}

    def shown(self, issue: JiraIssue, wanted: set[str], *, is_expanded: bool) -> dict[str, Any]:
        """An issue with the fields that were asked for."""
        comments = [self.comment(issue, number) for number in range(1, len(issue.comments) + 1)]
        fields = {
            "summary": issue.summary,
            "description": issue.description,
            "creator": self.person(issue.creator),
            "reporter": self.person(issue.creator),
            "labels": list(issue.labels),
            "status": {
                "name": issue.category.title(),
                "statusCategory": {"id": 2, "key": issue.category, "name": issue.category},
            },
            "comment": {
                "comments": comments,
                "maxResults": len(comments),
                "total": len(comments),
                "startAt": 0,
            },
        }
        told: dict[str, Any] = {
            "id": "10002",
            "key": issue.key,
            "self": f"{self.url}/rest/api/2/issue/10002",
            "fields": {name: value for name, value in fields.items() if name in wanted},
        }
        if is_expanded:
            histories = [
                {"id": "1", "author": self.person(who), "items": [{"field": what, "fieldtype": "jira"}]}
                for who, what in issue.history
            ]
            total = len(histories) + issue.untold
            told["changelog"] = {"startAt": 0, "maxResults": total, "total": total, "histories": histories}
        return told

    def comment(self, issue: JiraIssue, number: int) -> dict[str, Any]:
        """The comment of this number, from 1, as it is told."""
        text = issue.comments[number - 1]
        author = self.person(issue.others.get(text, OWN))
        return {"id": str(10_000 + number), "body": text, "author": author, "jsdPublic": True}


class _Handler(LoopbackHandler):
    server: Jira

    def _handle(self) -> None:
        raw = self.read_body()
        url = urllib.parse.urlsplit(self.path)
        seen = Seen(
            self.command,
            url.path,
            dict(urllib.parse.parse_qsl(url.query)),
            json.loads(raw) if raw else None,
            self._is_authorized(),
        )
        with self.server.lock:
            self.server.seen.append(seen)
            fault = next(
                (each for each in self.server.faults if each.fits(f"{seen.method} {seen.path}")), None
            )
            if fault:
                self.server.faults.remove(fault)
        if fault is None or fault.after:
            status, body, headers = self._answer(seen)
        if fault and fault.drop:
            self.cut()
            return
        if fault:
            raw_text = fault.body.get("_raw")
            status, headers = fault.status or 500, fault.headers
            body = raw_text if raw_text is not None else fault.body
        data = body.encode() if isinstance(body, str) else json.dumps(body).encode()
        self.send_bytes(status, {"Content-Type": "application/json;charset=UTF-8", **headers}, data)

    do_GET = do_POST = do_PUT = do_PATCH = do_DELETE = _handle  # noqa: N815 - names of the base

    def _answer(self, seen: Seen) -> tuple[int, Any, dict[str, str]]:
        if not seen.is_authorized:
            return 404, _MISSING, {"X-Seraph-LoginReason": "AUTHENTICATED_FAILED"}
        found = re.fullmatch(r"/rest/api/2/(?:issue/([^/]+)(/comment)?|(mypermissions|myself))", seen.path)
        match (seen.method, found.groups() if found else None):
            case "GET", (None, None, "mypermissions"):
                return self._permissions(seen)
            case "GET", (None, None, "myself"):
                return 200, self.server.person(OWN), {}
            case "GET", (key, None, None) if key in self.server.issues:
                wanted = set(seen.query["fields"].split(","))
                is_expanded = seen.query.get("expand") == "changelog"
                issue = self.server.issues[key]
                return 200, self.server.shown(issue, wanted, is_expanded=is_expanded), {}
            case "POST", (key, "/comment", None) if key in self.server.issues:
                return self._comment(self.server.issues[key], seen.body)
            case _:
                return 404, _MISSING, {}

    def _permissions(self, seen: Seen) -> tuple[int, Any, dict[str, str]]:
        wanted = seen.query.get("permissions", "").split(",")
        unknown = [key for key in wanted if key not in _KNOWN]
        if unknown:
            return 400, {"errorMessages": [f"Unrecognized permission: {unknown[0]}"], "errors": {}}, {}
        told = {
            key: {"id": "10", "key": key, "name": key.title(), "havePermission": key in self.server.may}
            for key in wanted
        }
        return 200, {"permissions": told}, {}

    def _comment(self, issue: JiraIssue, body: object) -> tuple[int, Any, dict[str, str]]:
        if not isinstance(body, dict) or set(body) != {"body"} or not isinstance(body["body"], str):
            return 400, {"errorMessages": [], "errors": {"comment": "Comment body can not be empty!"}}, {}
        with self.server.lock:
            issue.comments.append(body["body"])
            number = len(issue.comments)
        return 201, self.server.comment(issue, number), {}

    def _is_authorized(self) -> bool:
        given = self.headers.get("Authorization") or ""
        pair = f"{self.server.account}:{self.server.token}".encode()
        basic = f"Basic {base64.b64encode(pair).decode()}"
        return given == (basic if self.server.account else f"Bearer {self.server.token}")
