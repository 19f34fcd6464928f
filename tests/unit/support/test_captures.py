import re

import pytest

from tests.support.captures import capture, names


@pytest.mark.parametrize(("name", "version"), names("claude"))
def test_a_recorded_stream_names_its_client_and_no_private_place(name: str, version: str) -> None:
    recorded = capture("claude", name, version)
    assert recorded.stdout or recorded.stderr
    starts = [
        event["claude_code_version"]
        for event in recorded.events()
        if isinstance(event, dict) and event.get("subtype") == "init"
    ]
    assert set(starts) <= {version} or version == "made"
    text = recorded.stdout.decode() + recorded.stderr
    places = set(
        re.findall(r'(?<![\w.~*-])/(?:root|home|Users|work|lab|opt|usr|var|private)/[^\s"\\]*', text)
    )
    assert places == set()
    hosts = set(re.findall(r"https?://([^/\s\"\\:]+)", text))
    assert hosts <= {"127.0.0.1"}


def test_the_streams_hold_the_cases_that_the_two_versions_disagree_on() -> None:
    costs = {
        version: capture("claude", "resume", version).events()[-1]["total_cost_usd"]
        for version in ("2.1.197", "2.1.332")
    }
    assert costs == {"2.1.197": 0.018, "2.1.332": 0.036}
    results = {
        version: sum(event["type"] == "result" for event in capture("claude", "background", version).events())
        for version in ("2.1.197", "2.1.332")
    }
    assert results == {"2.1.197": 1, "2.1.332": 2}


def test_the_limit_of_a_subscription_carries_its_reset_time() -> None:
    events = capture("claude", "usage-limit").events()
    limit = next(event for event in events if event["type"] == "rate_limit_event")
    assert limit["rate_limit_info"]["resetsAt"] == 1_800_000_000
    plain = capture("claude", "plain-429-oauth").events()
    other = next(event for event in plain if event["type"] == "rate_limit_event")
    assert "resetsAt" not in other["rate_limit_info"]
