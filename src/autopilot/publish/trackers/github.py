"""Issues over GitHub's REST interface, and every forge that speaks it: read one, find a comment, add one.

Must not change, close, label or lock an issue. Addresses of pages are put together by us.
Source: https://docs.github.com/en/rest/issues/issues and /issues/comments (2022-11-28).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, TypeAdapter

from autopilot.publish.forges import github_rules
from autopilot.publish.trackers.answers import MAX_BYTES, Answer, no_answer, too_many_comments
from autopilot.publish.wire import NoAnswerError, OverWire, Wire
from autopilot.schemas.errors import TicketError
from autopilot.schemas.tracking import MAX_LABELS, Comment, Issue

if TYPE_CHECKING:
    from collections.abc import Iterator

    from autopilot.config.clock import Clock
    from autopilot.publish.askpass import Access
    from autopilot.schemas.tracking import TrackerSpec

_HEADERS = (("Accept", "application/vnd.github+json"), ("X-GitHub-Api-Version", "2022-11-28"))
_PAGE, _MOST_PAGES = 50, 20


class _Answered(BaseModel):
    model_config = ConfigDict(extra="ignore", frozen=True)


class _User(_Answered):
    id: int = Field(ge=1, lt=1 << 63)


class _Label(_Answered):
    name: str | None = None


class _Issue(_Answered):
    number: int
    title: str
    body: str | None = None
    state: Literal["open", "closed"]
    user: _User | None = None
    author_association: str = Field(default="NONE", pattern=r"^[A-Z_]{1,40}$")
    labels: tuple[_Label | str, ...] = ()
    pull_request: dict[str, Any] | None = None


class _Comment(_Answered):
    id: int = Field(ge=1)
    body: str | None = None


_COMMENTS = TypeAdapter(tuple[_Comment, ...])


class GitHubTracker(OverWire):
    """The issues of one repository. Use as a context: it keeps a connection."""

    def __init__(self, spec: TrackerSpec, access: Access, *, clock: Clock, timeout_s: float) -> None:
        """Take where it is, the credential and how long one answer may take."""
        self._spec = spec
        self._access = access
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
            TicketError: it is a pull request.
        """
        answer = self._ask("GET", f"/issues/{int(reference)}", "reading the issue", needs="read issues")
        told = answer.read(_Issue.model_validate_json)
        name = f"{self._spec.project}#{int(reference)}"
        if told.pull_request is not None:
            raise TicketError("not-an-issue", f"{name} is a pull request", hint="name an issue")
        labels = (label if isinstance(label, str) else label.name for label in told.labels)
        return Issue(
            reference=name,
            url=self._page(reference),
            title=told.title,
            body=told.body or "",
            author=f"{self._spec.name}:{told.user.id}" if told.user else None,
            association=told.author_association,
            labels=tuple(label for label in labels if label)[:MAX_LABELS],
            state=told.state,
        )

    def find(self, reference: str, mark: str) -> Comment | None:
        """Look through the comments, oldest first.

        Raises:
            Stop: there are more than a thousand, and it is not among the first.
        """
        for told in self._comments(reference):
            if mark in (told.body or ""):
                return self._comment(reference, told)
        return None

    def comment(self, reference: str, text: str) -> Comment:
        """Add a comment; it is done once, whatever the answer."""
        path = f"/issues/{int(reference)}/comments"
        answer = self._ask("POST", path, "commenting on the issue", needs="write issues", json={"body": text})
        return self._comment(reference, answer.read(_Comment.model_validate_json))

    def weaknesses(self) -> tuple[str, ...]:
        """Look at the token's reach; what a fine-grained one may, the forge does not tell."""
        answer = self._ask("GET", "", "looking at the repository", needs="read metadata")
        told = answer.read(github_rules.Repository.model_validate_json)
        scopes = answer.header("x-oauth-scopes")
        return tuple(github_rules.of_token(told, None if scopes is None else self._access.told(scopes)))

    def _comments(self, reference: str) -> Iterator[_Comment]:
        for page in range(1, _MOST_PAGES + 1):
            answer = self._ask(
                "GET",
                f"/issues/{int(reference)}/comments",
                "reading comments",
                needs="read issues",
                params={"per_page": str(_PAGE), "page": str(page)},
            )
            found = answer.read(_COMMENTS.validate_json)
            yield from found
            if len(found) < _PAGE:
                return
        raise too_many_comments(f"{self._spec.project}#{int(reference)}")

    def _comment(self, reference: str, told: _Comment) -> Comment:
        url = f"{self._page(reference)}#issuecomment-{told.id}"
        return Comment(id=str(told.id), url=url, body=told.body or "")

    def _page(self, reference: str) -> str:
        return f"{self._spec.site or self._spec.url}/{self._spec.project}/issues/{int(reference)}"

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
        try:
            response = self._wire.ask(method, f"/repos/{self._spec.project}{path}", params=params, json=json)
        except NoAnswerError as error:
            raise no_answer(error, what) from None
        return Answer(response, what, needs=needs).check(self._access.told, self._clock)
