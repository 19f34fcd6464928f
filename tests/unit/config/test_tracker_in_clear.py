"""A tracker's token goes nowhere where it can be read on the way."""

from __future__ import annotations

import pytest
from pydantic import ValidationError

from autopilot.config.tracker import Tracker

AWAY = (
    "http://jira.example",
    "http://10.1.2.3:8080/jira",
    "http://localhost.example",
    "http://[2001:db8::1]",
)
HERE = ("https://jira.example", "http://127.0.0.1:8080", "http://localhost:8080", "http://[::1]/jira")


@pytest.mark.parametrize("url", AWAY)
def test_over_http_a_token_leaves_no_machine(url: str) -> None:
    with pytest.raises(ValidationError, match="must be https"):
        Tracker(kind="jira", url=url, credential="jira")
    assert Tracker(kind="jira", url=url).url == url, "nothing of ours can be read without a token"


@pytest.mark.parametrize("url", HERE)
def test_encrypted_or_on_this_machine_it_may_go(url: str) -> None:
    assert Tracker(kind="jira", url=url, credential="jira").url == url
