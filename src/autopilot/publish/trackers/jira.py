"""Issues over Jira's REST interface, Cloud and Data Center: read one, find a comment, add one.

These are the only four requests that this module can send; it has no words for a transition, an edit or a
deletion, and a test holds that. Version 2 of the interface, where texts are texts.
Source: https://developer.atlassian.com/cloud/jira/platform/rest/v2/ (Issues, Issue comments, Permissions,
Myself); https://developer.atlassian.com/server/jira/platform/rest/ for Data Center, whose accounts have a
`key`.
"""

from __future__ import annotations

import base64
import re
from enum import Enum
from functools import cached_property
from typing import TYPE_CHECKING, Any

from pydantic import BaseModel, ConfigDict, Field

from autopilot.publish.answers import no_answer
from autopilot.publish.trackers.answers import MAX_BYTES, Answer, is_said, too_many_comments, words
from autopilot.publish.wire import NoAnswerError, OverWire, Wire
from autopilot.schemas.errors import ConfigError, TicketError
from autopilot.schemas.origin import is_account
from autopilot.schemas.tracking import Issue

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from autopilot.config.clock import Clock
    from autopilot.publish.askpass import Access
    from autopilot.publish.trackers.tracker import Ours
    from autopilot.schemas.tracking import TrackerSpec

_KEY = re.compile(r"[A-Z][A-Z0-9_]+-[1-9][0-9]*")
_FIELDS = "summary,description,creator,status"
_TEXTS = frozenset({"summary", "description"})
_NEEDED: Mapping[str, str] = {
    "BROWSE_PROJECTS": "it may not read issues",
    "ADD_COMMENTS": "it may not comment",
}
_TOO_MUCH: Mapping[str, str] = {
    "TRANSITION_ISSUES": "it may move issues to another status",
    "EDIT_ISSUES": "it may edit issues",
    "DELETE_ISSUES": "it may delete issues",
    "CREATE_ISSUES": "it may create issues",
    "ASSIGN_ISSUES": "it may assign issues",
    "CLOSE_ISSUES": "it may close issues",
    "RESOLVE_ISSUES": "it may resolve issues",
    "MOVE_ISSUES": "it may move issues to other projects",
    "LINK_ISSUES": "it may link issues",
    "MODIFY_REPORTER": "it may change who reported an issue",
    "EDIT_ALL_COMMENTS": "it may edit comments of others",
    "DELETE_ALL_COMMENTS": "it may delete comments of others",
    "DELETE_ALL_ATTACHMENTS": "it may delete attachments of others",
    "ADMINISTER_PROJECTS": "it may administer projects",
    "ADMINISTER": "it may administer Jira",
    "SYSTEM_ADMIN": "it may administer the whole system",
}


class Request(Enum):
    """All that can be asked of a Jira: the method, and the path below its interface."""

    READ = ("GET", "/issue/{}")
    COMMENT = ("POST", "/issue/{}/comment")
    MYSELF = ("GET", "/myself")
    PERMISSIONS = ("GET", "/mypermissions")


class _Answered(BaseModel):
    model_config = ConfigDict(extra="ignore", frozen=True)


class _Person(_Answered):
    """An account: Cloud tells `accountId`, Data Center `key`; neither ever changes hands."""

    account_id: str | None = Field(default=None, alias="accountId")
    key: str | None = None

    @property
    def number(self) -> str | None:
        """Who it is for ever; None where Jira does not tell."""
        return self.account_id or self.key


class _Category(_Answered):
    key: str


class _Status(_Answered):
    category: _Category = Field(alias="statusCategory")


class _Comment(_Answered):
    body: str | None = None
    author: _Person | None = None


class _Comments(_Answered):
    comments: tuple[_Comment, ...]
    total: int


class _Fields(_Answered):
    summary: str
    description: str | None = None
    creator: _Person | None = None
    status: _Status


class _Commented(_Answered):
    comment: _Comments


class _Item(_Answered):
    field: str


class _Change(_Answered):
    author: _Person | None = None
    items: tuple[_Item, ...] = ()


class _Changelog(_Answered):
    total: int
    histories: tuple[_Change, ...]


class _Issue(_Answered):
    key: str
    fields: _Fields
    changelog: _Changelog


class _CommentedIssue(_Answered):
    fields: _Commented


class _Permission(_Answered):
    has: bool = Field(alias="havePermission")


class _Permissions(_Answered):
    permissions: dict[str, _Permission]


class JiraTracker(OverWire):
    """One Jira. Use as a context: it keeps a connection."""

    def __init__(self, spec: TrackerSpec, access: Access, *, clock: Clock, timeout_s: float) -> None:
        """Take where it is, the credential and how long one answer may take."""
        self._spec = spec
        self._access = access
        self._clock = clock
        self._signature = _signature(spec.account, access.token)
        signed = {"Authorization": self._signature} if self._signature else {}
        self._wire = Wire(
            spec.url,
            {"Accept": "application/json", **signed},
            clock=clock,
            timeout_s=timeout_s,
            most_bytes=MAX_BYTES,
        )

    def read(self, reference: str) -> Issue:
        """Ask for one issue and for who changed its text.

        Raises:
            TicketError: it has another key by now, or Jira does not tell all of its history.
        """
        params = {"fields": _FIELDS, "expand": "changelog"}
        answer = self._ask(Request.READ, "reading the issue", reference, params=params)
        told = answer.read(_Issue.model_validate_json)
        if told.key != reference:
            now = self._told(told.key)
            raise TicketError("issue-moved", f"{reference} is called {now} now", hint=f"autopilot add {now}")
        if told.changelog.total > len(told.changelog.histories):
            what = f"Jira tells only a part of the history of {reference}: who changed its text is not known"
            raise TicketError("issue-history-cut", what, hint='write: autopilot add "what to do"')
        return Issue(
            title=told.fields.summary,
            body=told.fields.description or "",
            author=self._named(told.fields.creator),
            editors=tuple(dict.fromkeys(self._editors(reference, told.changelog))),
            state="closed" if told.fields.status.category.key == "done" else "open",
        )

    def find(self, reference: str, ours: Ours) -> bool:
        """Look through the comments.

        Raises:
            ConfigError: Jira does not tell all of them, and it is not among those that it tells.
        """
        answer = self._ask(Request.READ, "reading comments", reference, params={"fields": "comment"})
        told = answer.read(_CommentedIssue.model_validate_json).fields.comment
        is_there = any(is_said(ours.mark, each.body) and self._is_ours(each) for each in told.comments)
        if not is_there and told.total > len(told.comments):
            raise too_many_comments(reference)
        return is_there

    def comment(self, reference: str, text: str) -> None:
        """Add a comment; it is done once, whatever the answer says beside its number."""
        self._ask(Request.COMMENT, "commenting on the issue", reference, json={"body": text})

    def weaknesses(self) -> tuple[str, ...]:
        """Ask what its account may in any project: a token of Jira can never do more than that."""
        wanted = {**_NEEDED, **_TOO_MUCH}
        params = {"permissions": ",".join(wanted)}
        answer = self._ask(Request.PERMISSIONS, "asking for its permissions", params=params)
        told = answer.read(_Permissions.model_validate_json).permissions
        held = {key for key, permission in told.items() if permission.has}
        wanting = [text for key, text in _NEEDED.items() if key not in held]
        return (*wanting, *(text for key, text in _TOO_MUCH.items() if key in held))

    def _is_ours(self, told: _Comment) -> bool:
        """Tell whether we wrote it; where that is not told, we may have."""
        own = self._own
        return own is None or (told.author is not None and told.author.number == own)

    @cached_property
    def _own(self) -> str | None:
        """Ask once who we are; None where it is not told although the comments were."""
        try:
            answer = self._ask(Request.MYSELF, "asking for its account")
        except (ConfigError, TicketError):
            return None
        return answer.read(_Person.model_validate_json).number

    def _editors(self, reference: str, changelog: _Changelog) -> Iterator[str]:
        """Give who changed title or text.

        Raises:
            TicketError: somebody did of whom Jira does not tell who it is.
        """
        for change in changelog.histories:
            if not _TEXTS & {item.field.casefold() for item in change.items}:
                continue
            editor = self._named(change.author)
            if editor is None:
                what = f"somebody without an account changed the text of {reference}"
                raise TicketError("author-unknown", what, hint='write: autopilot add "what to do"')
            yield editor

    def _named(self, person: _Person | None) -> str | None:
        """Give who it is for ever; None where that is not told.

        Raises:
            TicketError: Jira tells a number that none of ours can be: an old Data Center made keys of names.
        """
        if person is None or not person.number:
            return None
        name = f"{self._spec.name}:{person.number}"
        if not is_account(name):
            what = f"the account {self._told(person.number)!r} cannot be named in `trusted_authors`"
            raise TicketError("author-unknown", what, hint='read the issue; then: autopilot add "what to do"')
        return name

    def _told(self, text: str) -> str:
        """Make a server's words fit for an error; it may send back how we signed."""
        code = self._signature.rpartition(" ")[2]
        return self._access.told(text.replace(code, "[token]") if code else text)

    def _ask(
        self,
        request: Request,
        what: str,
        reference: str | None = None,
        *,
        params: dict[str, str] | None = None,
        json: dict[str, Any] | None = None,
    ) -> Answer:
        if reference is not None and not _KEY.fullmatch(reference):
            raise TicketError(
                "reference-unknown", f"{reference[:40]!r} is no key of Jira", hint="PROJ-7 is one"
            )
        method, path = request.value
        how = words("browse projects and add comments", is_signed=bool(self._signature))
        try:
            response = self._wire.ask(
                method, f"/rest/api/2{path.format(reference)}", params=params, json=json
            )
        except NoAnswerError as error:
            raise no_answer(error, what, how) from None
        return Answer(response, what, how, told=self._told).check(self._clock, is_writing=json is not None)


def _signature(account: str, token: str) -> str:
    """Sign as Cloud wants it, by mail and token, or with Data Center's personal access token.

    Source: Atlassian, "Basic auth for REST APIs"; "Using personal access tokens".
    """
    if not token:
        return ""
    if not account:
        return f"Bearer {token}"
    return f"Basic {base64.b64encode(f'{account}:{token}'.encode()).decode()}"
