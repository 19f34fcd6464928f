"""One request over HTTP and its whole answer, bounded in size and in time.

No redirect is followed, so that no credential goes to another host, and no packed answer is taken: a small
one could fill the memory. Must not judge what an answer means.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

import httpx

from autopilot.publish import road
from autopilot.publish.deadline import LateError, within

if TYPE_CHECKING:
    from collections.abc import Mapping
    from types import TracebackType
    from typing import Self

    from autopilot.config.clock import Clock
    from autopilot.publish.deadline import Turn

Fault = Literal["away", "slow", "large", "packed"]


class NoAnswerError(Exception):
    """There was no usable answer; the work may have been done all the same."""

    def __init__(self, fault: Fault, what: str) -> None:
        """Take in which way, and the same in words of ours."""
        super().__init__(what)
        self.fault: Fault = fault
        self.what = what


class Wire:
    """Connections to one server. Use as a context."""

    def __init__(
        self,
        base_url: str,
        headers: Mapping[str, str],
        *,
        clock: Clock,
        timeout_s: float,
        most_bytes: int,
    ) -> None:
        """Take the server's address, what each request carries, and the bounds of one answer.

        Raises:
            ConfigError: there is no way to it (`road.py`).
        """
        self._clock = clock
        self._timeout_s = timeout_s
        self._most_bytes = most_bytes
        self._client = httpx.Client(
            base_url=base_url.rstrip("/"),
            headers={"User-Agent": "autopilot", "Accept-Encoding": "identity", **headers},
            timeout=timeout_s,
            follow_redirects=False,
            transport=road.transport(base_url),
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._client.close()

    def ask(
        self,
        method: str,
        path: str,
        *,
        params: Mapping[str, str] | None = None,
        json: Mapping[str, Any] | None = None,
    ) -> httpx.Response:
        """Ask once and read the whole answer.

        Raises:
            NoAnswerError: there is none, or it is larger or slower than it may be.
            TransientError: `thread-unstarted`: nothing was asked.
        """
        try:
            request = self._client.build_request(method, path, params=params, json=json)
            answer = within(self._timeout_s, lambda turn: self._asked(request, turn))
        except httpx.InvalidURL as exc:
            raise NoAnswerError("away", type(exc).__name__) from None
        except LateError:
            raise self._slow() from None
        if isinstance(answer, NoAnswerError):
            raise answer
        return answer

    def _asked(self, request: httpx.Request, turn: Turn) -> httpx.Response | NoAnswerError:
        request.extensions = {**request.extensions, "trace": turn.trace}
        until_s = self._clock.monotonic_s() + self._timeout_s
        try:
            answer = self._client.send(request, stream=True)
            try:
                content = self._content(answer, until_s)
            finally:
                answer.close()
        except NoAnswerError as exc:
            return exc
        except httpx.TimeoutException as exc:
            return NoAnswerError("slow", type(exc).__name__)
        except httpx.HTTPError as exc:
            return NoAnswerError("away", type(exc).__name__)
        return httpx.Response(answer.status_code, headers=answer.headers, content=content)

    def _slow(self) -> NoAnswerError:
        return NoAnswerError("slow", f"its answer took longer than {self._timeout_s:g} s")

    def _content(self, answer: httpx.Response, until_s: float) -> bytes:
        if answer.headers.get("content-encoding", "identity").strip().lower() != "identity":
            raise NoAnswerError("packed", "its answer is packed, which was not asked for")
        parts: list[bytes] = []
        size = 0
        for part in answer.iter_raw():
            parts.append(part)
            size += len(part)
            if size > self._most_bytes:
                raise NoAnswerError("large", f"its answer is larger than {self._most_bytes:,} bytes")
            if self._clock.monotonic_s() > until_s:
                raise self._slow()  # nobody waits for the rest
        return b"".join(parts)


class OverWire:
    """A client that speaks over one wire, and closes it. Use as a context."""

    _wire: Wire

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._wire.__exit__(kind, error, trace)
