"""How a forge's answers over HTTP are sorted: usable, lost, wait, or a person must act.

Must not put a server's words into an error uncleaned, nor a request's headers at all.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

import httpx
from pydantic import ValidationError

from autopilot.publish import replies
from autopilot.publish.stops import Stop
from autopilot.schemas.errors import TransientError

if TYPE_CHECKING:
    from collections.abc import Callable

    from autopilot.config.clock import Clock
    from autopilot.publish.askpass import Access

Value = TypeVar("Value")


class Lost(TransientError):
    """No answer, or one that does not tell whether the work was done."""

    def __init__(self, what: str) -> None:
        """Take which request it was and what kind of failure."""
        what = f"the forge gave no usable answer ({what})"
        super().__init__("forge-unavailable", what, hint="nothing to do: it is tried again")


class Answer:
    """One answer."""

    def __init__(self, response: httpx.Response, access: Access, clock: Clock) -> None:
        """Take the response, what must be scrubbed from its words, and the clock for limits."""
        self._response = response
        self._access = access
        self._clock = clock
        self.status = response.status_code

    def check(self, request: str) -> None:
        """Let through what the caller can deal with: 2xx, 404 and 422.

        Raises:
            Lost: a server's failure.
            TransientError: a rate limit.
            Stop: the token or the repository's address is wrong.
        """
        if self.status >= httpx.codes.INTERNAL_SERVER_ERROR or self.status == httpx.codes.REQUEST_TIMEOUT:
            raise Lost(f"{request}: {self.status}")
        if (wait_s := replies.limit_s(self._response, self.message(), self._clock)) is not None:
            raise TransientError(
                "forge-rate-limit", "the forge asks us to wait", hint="nothing to do", retry_after_s=wait_s
            )
        if self.status in {httpx.codes.UNAUTHORIZED, httpx.codes.FORBIDDEN}:
            raise Stop(
                "forge-refused-credential",
                f"the forge refused {request}: {self.message()}",
                waiting_for="credential",
                hint="store a token that may read the repository and write pull requests",
            )
        if self._response.is_redirect:
            raise Stop(
                "forge-moved",
                f"the forge answers {request} with a redirect; the repository may have been renamed",
                waiting_for="configuration",
                hint="correct `project` and `api_url` in the configuration",
            )

    def read(self, parse: Callable[[bytes], Value], expected: int) -> Value:
        """Read the answer as what it should be. An error's body is never taken for a value.

        Raises:
            Stop: the repository or the thing asked for is not there for this token, or was refused.
            Lost: the answer is no such thing, e.g. a proxy's sign-in page.
        """
        if self.status == httpx.codes.NOT_FOUND:
            raise Stop(
                "forge-not-found",
                "the forge does not know the repository, or hides it from this token",
                waiting_for="credential",
                hint="check `project` in the configuration and what the token may see",
            )
        if self.status != expected:
            raise refusal(self)
        try:
            return parse(self._response.content)
        except ValidationError:
            raise Lost(f"{self.status} with another body than expected") from None

    def header(self, name: str) -> str | None:
        """Give a header, cleaned and bounded; None when there is none."""
        value = self._response.headers.get(name)
        return None if value is None else self._access.told(value)

    def message(self) -> str:
        """Give the forge's own explanation, cleaned and bounded."""
        body = replies.explanation(self._response)
        if body is None:
            return "no explanation"
        errors = body.get("errors")
        details = [
            str(each.get("message") or each.get("code") or "")
            for each in (errors if isinstance(errors, list) else [])
            if isinstance(each, dict)
        ]
        return self._access.told("; ".join([str(body.get("message") or ""), *details]).strip("; "))


def refusal(answer: Answer) -> Stop:
    """Turn a refused request into what a person must do."""
    said = answer.message()
    if "draft" in said.casefold() and "not supported" in said.casefold():
        return Stop(
            "draft-unsupported",
            "the forge has no draft pull requests for this repository",
            waiting_for="configuration",
            hint="open the pull request from the pushed branch by hand",
        )
    is_too_long = "too long" in said.casefold()
    return Stop(
        "body-too-long" if is_too_long else "forge-refused",
        f"the forge refused the pull request: {said}",
        waiting_for="configuration",
        hint="the branch is pushed; open the pull request by hand or correct the configuration",
    )


def unavailable(lost: Lost) -> TransientError:
    """Say that the work may or may not have been done, and that looking again found nothing."""
    return TransientError(
        "forge-unavailable", f"{lost.what}; no pull request was found afterwards", hint="it is tried again"
    )
