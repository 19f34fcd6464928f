"""Issues over GitHub's REST interface, and every forge that speaks it: read one, find a comment, add one.

Must not change, close, label or lock an issue.
Source: https://docs.github.com/en/rest/issues/issues and /issues/comments (2022-11-28); /users/users, whose
"Get the authenticated user" is refused to an app's token. What an app writes is by an account of type `Bot`.
"""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, TypeAdapter

from autopilot.publish.answers import no_answer
from autopilot.publish.forges import github_rules
from autopilot.publish.trackers.answers import MAX_BYTES, Answer, is_said, too_many_comments, words
from autopilot.publish.wire import NoAnswerError, OverWire, Wire
from autopilot.schemas.errors import ConfigError, TicketError
from autopilot.schemas.tracking import Issue

if TYPE_CHECKING:
    from collections.abc import Iterator

    from autopilot.config.clock import Clock
    from autopilot.publish.askpass import Access
    from autopilot.publish.trackers.tracker import Ours
    from autopilot.schemas.tracking import TrackerSpec

_HEADERS = (("Accept", "application/vnd.github+json"), ("X-GitHub-Api-Version", "2022-11-28"))
_PAGE, _MOST_PAGES = 50, 20


class _Answered(BaseModel):
    model_config = ConfigDict(extra="ignore", frozen=True)


class _User(_Answered):
    id: int = Field(ge=1, lt=1 << 63)


class _Issue(_Answered):
    number: int
    title: str
    body: str | None = None
    state: Literal["open", "closed"]
    user: _User | None = None
    author_association: str = Field(default="NONE", pattern=r"^[A-Z_]{1,40}$")
    pull_request: dict[str, Any] | None = None


class _Account(_Answered):
    id: int
    type: str = ""


class _Comment(_Answered):
    body: str | None = None
    user: _Account | None = None


_COMMENTS = TypeAdapter(tuple[_Comment, ...])


class GitHubTracker(OverWire):
    """The issues of one repository. Use as a context: it keeps a connection."""

    def __init__(self, spec: TrackerSpec, access: Access, *, clock: Clock, timeout_s: float) -> None:
        """Take where it is, the credential and how long one answer may take."""
        self._spec = spec
        self._access = access
        self._place = f"/repos/{spec.project}"
        self._clock = clock
        signed = {"Authorization": f"Bearer {access.token}"} if access.token else {}
        self._wire = Wire(
            spec.url,
            {**dict(_HEADERS), **signed},
            clock=clock,
            timeout_s=timeout_s,
            most_bytes=MAX_BYTES,
        )

    def read(self, reference: str) -> Issue:
        """Ask for one issue. Who edited it is not told; only who may write to the repository can.

        Raises:
            TicketError: it is a pull request, or another issue is told.
        """
        answer = self._ask(
            "GET", f"{self._place}/issues/{int(reference)}", "reading the issue", needs="read issues"
        )
        told = answer.read(_Issue.model_validate_json)
        name = f"{self._spec.project}#{int(reference)}"
        if told.pull_request is not None:
            raise TicketError("not-an-issue", f"{name} is a pull request", hint="name an issue")
        if told.number != int(reference):
            what = f"{name} is called {self._spec.project}#{told.number} now"
            raise TicketError("issue-moved", what, hint="name it so, if it is the one that you mean")
        return Issue(
            title=told.title,
            body=told.body or "",
            author=f"{self._spec.name}:{told.user.id}" if told.user else None,
            association=told.author_association,
            state=told.state,
        )

    def find(self, reference: str, ours: Ours) -> bool:
        """Look through the comments, oldest first.

        Raises:
            ConfigError: there are more than a thousand, and it is not among the first.
        """
        comments = self._comments(reference)
        return any(is_said(ours.mark, told.body) and self._is_ours(told, ours.opening) for told in comments)

    def comment(self, reference: str, text: str) -> None:
        """Add a comment; it is done once, whatever the answer says beside its number."""
        path = f"{self._place}/issues/{int(reference)}/comments"
        self._ask("POST", path, "commenting on the issue", needs="write issues", json={"body": text})

    def weaknesses(self) -> tuple[str, ...]:
        """Look at the token's reach; what a fine-grained one may, the forge does not tell."""
        answer = self._ask("GET", self._place, "looking at the repository", needs="read metadata")
        told = answer.read(github_rules.Repository.model_validate_json)
        return tuple(github_rules.of_token(told, answer.header("x-oauth-scopes")))

    def _is_ours(self, told: _Comment, opening: str) -> bool:
        """Tell whether we wrote it; where that is not told, whether no person did and it begins as ours does.

        Another app that only names the draft (a link's preview, a board) is told apart by that.
        """
        own = self._own
        if own is None:
            is_a_persons = told.user is not None and told.user.type == "User"
            return not is_a_persons and (told.body or "").lstrip().startswith(opening)
        return told.user is not None and told.user.id == own

    @cached_property
    def _own(self) -> int | None:
        """Ask once who we are; None where it is not told although the comments were: we are an app."""
        try:
            answer = self._ask("GET", "/user", "asking for its account", needs="read issues")
        except (ConfigError, TicketError):
            return None
        return answer.read(_Account.model_validate_json).id

    def _comments(self, reference: str) -> Iterator[_Comment]:
        for page in range(1, _MOST_PAGES + 1):
            answer = self._ask(
                "GET",
                f"{self._place}/issues/{int(reference)}/comments",
                "reading comments",
                needs="read issues",
                params={"per_page": str(_PAGE), "page": str(page)},
            )
            found = answer.read(_COMMENTS.validate_json)
            yield from found
            if len(found) < _PAGE:
                return
        raise too_many_comments(f"{self._spec.project}#{int(reference)}")

    def _ask(
        self,
        method: str,
        path: str,
        what: str,
        *,
        needs: str,
        params: dict[str, str] | None = None,
        json: dict[str, Any] | None = None,
    ) -> Answer:
        how = words(needs, is_signed=bool(self._access.token))
        try:
            response = self._wire.ask(method, path, params=params, json=json)
        except NoAnswerError as error:
            raise no_answer(error, what, how) from None
        return Answer(response, what, how, told=self._access.told).check(
            self._clock, is_writing=json is not None
        )
