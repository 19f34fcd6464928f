"""How a tracker's answers are sorted: usable, lost, wait, or somebody must act.

Must not put a server's words into an error uncleaned.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

import httpx
from pydantic import ValidationError

from autopilot.publish import replies
from autopilot.publish.stops import Stop
from autopilot.schemas.errors import TicketError, TransientError

if TYPE_CHECKING:
    from collections.abc import Callable

    from autopilot.config.clock import Clock
    from autopilot.publish.wire import NoAnswerError

Value = TypeVar("Value")
MAX_BYTES = 4 << 20
_URL_HINT = "check the tracker's `url` in the configuration: it may be another server, or a sign-in page"


class Lost(TransientError):
    """No answer, or one that does not tell whether the work was done."""


def no_answer(error: NoAnswerError, request: str) -> Lost | Stop:
    """Give the error of ours for an answer that could not be had."""
    match error.fault:
        case "away":
            what = f"the tracker gave no usable answer ({request}: {error.what})"
            return Lost("tracker-unavailable", what, hint="try again when it answers")
        case "slow":
            what = f"the tracker took too long ({request}: {error.what})"
            return Lost("tracker-too-slow", what, hint="try again later")
        case "large":
            return _broken("tracker-answer-too-large", f"the tracker's answer cannot be taken: {error.what}")
        case "packed":
            return _broken("tracker-answer-unreadable", f"the tracker's answer cannot be read: {error.what}")


class Answer:
    """One answer to a request about one issue, or about the credential."""

    def __init__(self, response: httpx.Response, request: str, *, needs: str) -> None:
        """Take the response, what was asked in our words, and which permission it takes."""
        self._response = response
        self._request = request
        self._needs = needs
        self.status = response.status_code

    def check(self, told: Callable[[str], str], clock: Clock) -> Answer:
        """Let through what can be read; every other status is named.

        Args:
            told: makes a server's words fit for an error.
            clock: the time, for limits.

        Raises:
            Lost: a server's failure.
            TransientError: a rate limit.
            Stop: the token, or the tracker's address, is wrong.
            TicketError: the issue is not there (any more).
        """
        status, codes = self.status, httpx.codes
        if status >= codes.INTERNAL_SERVER_ERROR or status == codes.REQUEST_TIMEOUT:
            what = f"the tracker gave no usable answer ({self._request}: {status})"
            raise Lost("tracker-unavailable", what, hint="try again when it answers")
        if (wait_s := replies.limit_s(self._response, self._message(), clock)) is not None:
            what = f"the tracker asks us to wait {wait_s:.0f} s"
            raise TransientError("tracker-rate-limit", what, hint="try again then", retry_after_s=wait_s)
        said = told(self._message())
        if status in {codes.UNAUTHORIZED, codes.FORBIDDEN} or self._is_stranger():
            raise Stop(
                "tracker-refused-credential",
                f"the tracker refused {self._request}: {said}",
                waiting_for="credential",
                hint=f"store a token that may {self._needs}; `autopilot doctor` looks at it",
            )
        if self._response.is_redirect or status in range(300, 400):
            to = told(self._response.headers.get("location", "nowhere"))
            raise Stop(
                "tracker-moved",
                f"the tracker answers {self._request} with a redirect to {to}, which is not followed",
                waiting_for="configuration",
                hint="name the new place: an issue that was transferred by its new number, a repository that "
                "was renamed by `project`, another server by the tracker's `url`",
            )
        if status == codes.NOT_FOUND:
            hint = f"check the number and the project; a token that may not {self._needs} is told the same"
            raise TicketError("issue-not-found", f"the tracker does not know it ({self._request})", hint=hint)
        if status == codes.GONE:
            raise TicketError("issue-gone", f"it was deleted ({self._request})", hint="name another issue")
        if not self._response.is_success:
            what = f"the tracker refused {self._request} ({status}): {said}"
            raise Stop("tracker-refused", what, waiting_for="configuration", hint=_URL_HINT)
        return self

    def read(self, parse: Callable[[bytes], Value]) -> Value:
        """Read the answer as what it should be.

        Raises:
            Stop: it is no such thing, e.g. a proxy's sign-in page.
        """
        try:
            return parse(self._response.content)
        except ValidationError:
            what = f"the tracker's answer is not what was asked for ({self._request})"
            raise _broken("tracker-answer-unreadable", what) from None

    def header(self, name: str) -> str | None:
        """Give a header as it came."""
        value: str | None = self._response.headers.get(name)
        return value

    def _is_stranger(self) -> bool:
        """Tell whether a Jira took us for nobody although we said who we are; it answers 404 or 200 then.

        Source: Atlassian, "Basic auth for REST APIs", X-Seraph-LoginReason.
        """
        reason = self._response.headers.get("x-seraph-loginreason", "")
        return any(word in reason for word in ("AUTHENTICATED_FAILED", "AUTHENTICATION_DENIED"))

    def _message(self) -> str:
        body = replies.explanation(self._response) or {}
        messages = body.get("errorMessages")
        listed = messages if isinstance(messages, list) else [body.get("message")]
        return "; ".join(str(each) for each in listed[:5] if each) or "no explanation"


def too_many_comments(name: str) -> Stop:
    """Say that it cannot be told whether a comment of ours is there already."""
    what = f"{name} has more comments than can be looked through"
    return Stop(
        "comments-not-whole", what, waiting_for="configuration", hint="comment by hand, or on another issue"
    )


def _broken(code: str, what: str) -> Stop:
    return Stop(code, what, waiting_for="configuration", hint=_URL_HINT)
