"""What a tracker's answers mean for an issue, beside what any server's do.

Must not put a server's words into an error uncleaned.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Self

import httpx

from autopilot.publish import answers
from autopilot.publish.answers import Words
from autopilot.schemas.errors import ConfigError, TicketError

if TYPE_CHECKING:
    from collections.abc import Callable

    from autopilot.config.clock import Clock
    from autopilot.publish.answers import Value

MAX_BYTES = 4 << 20


def words(needs: str, *, is_signed: bool) -> Words:
    """Say how errors speak of a tracker.

    Args:
        needs: what the token must allow.
        is_signed: whether one was sent.
    """
    return Words(
        party="tracker",
        needs=needs,
        is_signed=is_signed,
        address="the tracker's `url`",
        moved="name the new place: an issue that was transferred by its new number, a repository that was "
        "renamed by `project`, another server by the tracker's `url`",
    )


class Answer(answers.Answer):
    """One answer to a request about one issue, or about the credential."""

    def check(self, clock: Clock, *, is_writing: bool = False) -> Self:
        """Let through what can be read; every other status is named.

        Args:
            clock: the time.
            is_writing: whether a good status says that it was done, whatever else the answer says.

        Raises:
            Lost: a server's failure.
            TransientError: a rate limit.
            ConfigError: the token, or the tracker's address, is wrong.
            TicketError: the issue is not there (any more).
        """
        if is_writing and self._response.is_success:
            return self
        super().check(clock)
        words, codes = self._words, httpx.codes
        if self.status == codes.NOT_FOUND:
            what = f"the tracker does not know it ({self._request})"
            hint = f"check the number and the project; a token that may not {words.needs} is told the same"
            raise TicketError("issue-not-found", what, hint=hint)
        if self.status == codes.GONE:
            raise TicketError("issue-gone", f"it was deleted ({self._request})", hint="name another issue")
        if not self._response.is_success:
            what = f"the tracker refused {self._request} ({self.status}): {self.message()}"
            hint = f"check {words.address} in the configuration: it may be another server"
            raise words.must_act("refused", what, about="configuration", hint=hint)
        return self

    def read(self, parse: Callable[[bytes], Value]) -> Value:
        """Read the answer as what it should be; raises as `body`."""
        return self.body(parse)


def is_said(mark: str, text: str | None) -> bool:
    """Tell whether a comment holds this mark, not just one that begins like it (`/pull/1`, `/pull/12`)."""
    return re.search(rf"{re.escape(mark)}(?!\.?[\w/?#%=&-])", text or "") is not None


def too_many_comments(name: str) -> ConfigError:
    """Say that it cannot be told whether a comment of ours is there already."""
    what = f"{name} has more comments than can be looked through"
    return ConfigError("comments-not-whole", what, hint="comment by hand, or on another issue")
