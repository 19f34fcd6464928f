"""How answers over HTTP are sorted, a forge's and a tracker's alike: usable, lost, wait, or we are refused.

Must not put a server's words into an error uncleaned, nor a request's headers at all.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, Self, TypeVar

import httpx
from pydantic import ValidationError

from autopilot.publish import replies
from autopilot.publish.stops import Stop
from autopilot.schemas.errors import ConfigError, TransientError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from autopilot.config.clock import Clock
    from autopilot.publish.wire import NoAnswerError

Value = TypeVar("Value")
_SHOWN = 5


@dataclass(frozen=True, slots=True, kw_only=True)
class Words:
    """What errors say of whoever answers, and of the way out."""

    party: Literal["forge", "tracker"]
    needs: str
    """What the token must allow, e.g. `read issues`."""
    is_signed: bool
    """Whether a token was sent at all."""
    address: str
    """Where its address stands in the configuration."""
    moved: str
    """What to do about a redirect."""

    def must_act(
        self, code: str, what: str, *, about: Literal["credential", "configuration"], hint: str
    ) -> Stop | ConfigError:
        """Give the error for the operator: a forge's stops a publication, a tracker's is about itself."""
        name = f"{self.party}-{code}"
        if self.party == "forge":
            return Stop(name, what, waiting_for=about, hint=hint)
        return ConfigError(name, what, hint=hint)

    def lost(self, code: str, what: str, *, is_elsewhere: bool = False) -> Lost:
        """Give the error for what is no answer, `is_elsewhere` where somebody else seems to answer."""
        place = f"{self.address} in the configuration"
        hint = f"check {place}: it may be another server, or a sign-in page" if is_elsewhere else ""
        return Lost(f"{self.party}-{code}", what, hint=hint or "try again when it answers")


class Lost(TransientError):
    """No answer, or one that does not tell whether the work was done."""


def no_answer(error: NoAnswerError, request: str, words: Words) -> Lost:
    """Give the error of ours for an answer that could not be had."""
    who = f"the {words.party}"
    match error.fault:
        case "away":
            return words.lost("unavailable", f"{who} gave no usable answer ({request}: {error.what})")
        case "slow":
            return words.lost("too-slow", f"{who} took too long ({request}: {error.what})")
        case "large":
            what = f"the answer of {who} cannot be taken ({request}: {error.what})"
            return words.lost("answer-too-large", what, is_elsewhere=True)
        case "packed":
            what = f"the answer of {who} cannot be read ({request}: {error.what})"
            return words.lost("answer-unreadable", what, is_elsewhere=True)


class Answer:
    """One answer."""

    def __init__(
        self, response: httpx.Response, request: str, words: Words, *, told: Callable[[str], str]
    ) -> None:
        """Take the response, what was asked in our words, how to speak of it, and what cleans a server's."""
        self._response = response
        self._request = request
        self._words = words
        self._told = told
        self.status = response.status_code

    def check(self, clock: Clock) -> Self:
        """Let through what the caller can deal with; the rest is named.

        Raises:
            Lost: a server's failure.
            TransientError: a rate limit, with the time to wait.
            Stop, ConfigError: the token, or the address, is wrong.
        """
        status, words, codes = self.status, self._words, httpx.codes
        if status >= codes.INTERNAL_SERVER_ERROR or status == codes.REQUEST_TIMEOUT:
            what = f"the {words.party} gave no usable answer ({self._request}: {status})"
            raise words.lost("unavailable", what)
        if (wait_s := replies.limit_s(self._response, self._raw_message(), clock)) is not None:
            what = f"the {words.party} asks us to wait {wait_s:.0f} s"
            hint = "try again then"
            raise TransientError(f"{words.party}-rate-limit", what, hint=hint, retry_after_s=wait_s)
        if status in {codes.UNAUTHORIZED, codes.FORBIDDEN} or self._is_stranger():
            stored = f"store a token that may {words.needs}; `autopilot doctor` looks at it"
            named = "name a `credential` for it in the configuration: docs/trackers.md"
            what = f"the {words.party} refused {self._request}: {self.message()}"
            hint = stored if words.is_signed else named
            raise words.must_act("refused-credential", what, about="credential", hint=hint)
        if status in range(300, 400):
            to = self.header("location") or "nowhere"
            what = f"the {words.party} answers {self._request} with a redirect to {to}, which is not followed"
            raise words.must_act("moved", what, about="configuration", hint=words.moved)
        return self

    def body(self, parse: Callable[[bytes], Value]) -> Value:
        """Read the answer as what it should be.

        Raises:
            Lost: it is no such thing, e.g. a proxy's sign-in page.
        """
        try:
            return parse(self._response.content)
        except ValidationError:
            party = self._words.party
            what = f"the {party}'s answer is not what was asked for ({self._request}: {self.status})"
            raise self._words.lost("answer-unreadable", what, is_elsewhere=True) from None

    def header(self, name: str) -> str | None:
        """Give a header, cleaned and bounded; None when there is none."""
        value = self._response.headers.get(name)
        return None if value is None else self._told(value)

    def message(self) -> str:
        """Give the server's own explanation, cleaned and bounded."""
        return self._told(self._raw_message())

    def _raw_message(self) -> str:
        body = replies.explanation(self._response) or {}
        return "; ".join(text for text in _explanations(body) if text) or "no explanation"

    def _is_stranger(self) -> bool:
        """Tell whether a Jira took us for nobody although we said who we are; it answers 404 or 200 then.

        Source: Atlassian, "Basic auth for REST APIs", X-Seraph-LoginReason.
        """
        reason = self._response.headers.get("x-seraph-loginreason", "")
        return any(word in reason for word in ("AUTHENTICATED_FAILED", "AUTHENTICATION_DENIED"))


def _explanations(body: Mapping[str, Any]) -> Iterator[str]:
    """Give what a refusal says, in GitHub's form or in Jira's."""
    yield str(body.get("message") or "")
    for each in _list(body.get("errorMessages")):
        yield str(each)
    for each in _list(body.get("errors")):
        if isinstance(each, dict):
            yield str(each.get("message") or each.get("code") or "")


def _list(value: object) -> list[Any]:
    return value[:_SHOWN] if isinstance(value, list) else []
