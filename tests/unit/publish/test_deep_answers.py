"""What a forge answers is read however deep it is nested."""

from __future__ import annotations

import httpx

from autopilot.config.clock import SystemClock
from autopilot.publish.askpass import NO_ACCESS
from autopilot.publish.forges.answers import Answer


def test_an_answer_that_is_nested_without_end_has_no_explanation() -> None:
    deep = httpx.Response(422, content=b"[" * 200_000)
    assert Answer(deep, NO_ACCESS, SystemClock()).message() == "no explanation"
