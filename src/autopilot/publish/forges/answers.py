"""What a forge's answers mean for a pull request, beside what any server's do.

Must not put a server's words into an error uncleaned.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import httpx

from autopilot.publish import answers
from autopilot.publish.answers import Words
from autopilot.publish.stops import Stop
from autopilot.schemas.errors import TransientError

if TYPE_CHECKING:
    from collections.abc import Callable

    from autopilot.publish.answers import Lost, Value


def words() -> Words:
    """Say how errors speak of a forge."""
    return Words(
        party="forge",
        needs="read the repository and write pull requests",
        is_signed=True,
        address="`api_url`",
        moved="the repository may have been renamed: correct `project` and `api_url` in the configuration",
    )


class Answer(answers.Answer):
    """One answer; of refusals the caller deals with 404 and 422."""

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
        return self.body(parse)


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
