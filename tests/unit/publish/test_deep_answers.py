"""What a forge answers is read however deep it is nested."""

from __future__ import annotations

import httpx

from autopilot.publish.askpass import NO_ACCESS
from autopilot.publish.forges.answers import Answer, words


def test_an_answer_that_is_nested_without_end_has_no_explanation() -> None:
    deep = httpx.Response(422, content=b"[" * 200_000)
    assert Answer(deep, "GET pulls", words(), told=NO_ACCESS.told).message() == "no explanation"
