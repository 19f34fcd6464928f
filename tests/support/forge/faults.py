"""The ways in which a forge lets its client down, on demand.

A fault is matched against "METHOD /path" and used up after so many times.
"""

import re
from dataclasses import dataclass, field
from typing import Any, Final

CREATE_PULL: Final = r"POST /repos/.+/pulls$"
PUSH: Final = r"POST /.+\.git/git-receive-pack$"
ANYTHING: Final = r".*"


@dataclass(frozen=True, slots=True)
class Fault:
    """What to answer instead.

    `after` does the real work first; `drop` closes the connection without an answer;
    `delay_s` waits before anything else; without `status` and `drop` the request is
    then served as usual.
    """

    match: str = ANYTHING
    status: int | None = None
    body: dict[str, Any] = field(default_factory=dict)
    headers: dict[str, str] = field(default_factory=dict)
    after: bool = False
    drop: bool = False
    delay_s: float = 0.0
    times: int = 1

    def fits(self, request: str) -> bool:
        """Whether this fault is for a request written as "METHOD /path"."""
        return re.search(self.match, request) is not None


def bad_credentials(match: str = ANYTHING, *, times: int = 1) -> Fault:
    return Fault(match, 401, {"message": "Bad credentials", "status": "401"}, times=times)


def rate_limited(match: str = ANYTHING, *, reset_epoch_s: int = 1_800_000_000, times: int = 1) -> Fault:
    """The hourly limit is used up: 403, no retry-after, the reset in a header."""
    return Fault(
        match,
        403,
        {"message": "API rate limit exceeded for user ID 1."},
        {
            "x-ratelimit-limit": "5000",
            "x-ratelimit-remaining": "0",
            "x-ratelimit-reset": str(reset_epoch_s),
            "x-ratelimit-resource": "core",
        },
        times=times,
    )


def secondary_rate_limited(
    match: str = ANYTHING, *, retry_after_s: int = 60, status: int = 403, times: int = 1
) -> Fault:
    """Too much at once: 403 or 429 with retry-after while requests remain."""
    return Fault(
        match,
        status,
        {"message": "You have exceeded a secondary rate limit. Please wait a few minutes."},
        {"retry-after": str(retry_after_s), "x-ratelimit-remaining": "4999"},
        times=times,
    )


def forbidden(match: str = ANYTHING, *, times: int = 1) -> Fault:
    """The token may not do this; waiting does not help."""
    body = {"message": "Resource not accessible by personal access token", "status": "403"}
    return Fault(match, 403, body, times=times)


def already_exists(match: str = CREATE_PULL, *, times: int = 1) -> Fault:
    text = "A pull request already exists for o:x."
    return Fault(match, 422, pull_problem("custom", text), times=times)


def body_too_long(match: str = CREATE_PULL, *, times: int = 1) -> Fault:
    text = "body is too long (maximum is 65536 characters)"
    return Fault(match, 422, pull_problem("custom", text, field_name="body"), times=times)


def server_error(match: str = ANYTHING, *, status: int = 500, times: int = 1) -> Fault:
    return Fault(match, status, {"message": "Server Error"}, times=times)


def lost_answer(match: str = CREATE_PULL, *, times: int = 1) -> Fault:
    """The work is done, then the connection closes without a word."""
    return Fault(match, after=True, drop=True, times=times)


def late_error(match: str = CREATE_PULL, *, status: int = 502, times: int = 1) -> Fault:
    """The work is done, but a gateway says that it was not."""
    return Fault(match, status, {"message": "Bad Gateway"}, after=True, times=times)


def dropped(match: str = ANYTHING, *, times: int = 1) -> Fault:
    """The connection closes before anything was done."""
    return Fault(match, drop=True, times=times)


def slow(match: str = ANYTHING, *, delay_s: float = 30.0, times: int = 1) -> Fault:
    """The answer is right but late; the wait ends early when the forge is closed."""
    return Fault(match, delay_s=delay_s, times=times)


def not_json(match: str = ANYTHING, *, status: int = 200, times: int = 1) -> Fault:
    """A proxy's page in place of the answer."""
    headers = {"Content-Type": "text/html"}
    return Fault(match, status, {"_raw": "<html>sign in</html>"}, headers, times=times)


def pull_problem(code: str, text: str, *, field_name: str = "head") -> dict[str, Any]:
    """GitHub's 422 body for one field of a pull request."""
    return {
        "message": "Validation Failed",
        "errors": [{"resource": "PullRequest", "field": field_name, "code": code, "message": text}],
        "documentation_url": "https://docs.github.com/rest/pulls/pulls#create-a-pull-request",
        "status": "422",
    }
