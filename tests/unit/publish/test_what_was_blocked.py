"""What a run tried in vain is shown to the reviewer, and cannot be used to say anything else."""

from __future__ import annotations

import pytest

from autopilot.publish.body import write
from autopilot.publish.checks.outbound import faults_of
from autopilot.schemas.blocked import Blocked
from tests.unit.publish.builders import facts


def section(*blocked: Blocked) -> str:
    text = write(facts(blocked=blocked))
    assert list(faults_of("title", text, roots=())) == []
    _, found, rest = text.partition("## What was blocked\n\n")
    return rest.partition("\n\n## ")[0] if found else ""


def test_a_run_that_was_refused_nothing_has_no_such_section() -> None:
    assert section() == ""


def test_each_kind_of_attempt_is_a_line_with_its_reason_and_its_number() -> None:
    told = section(
        Blocked(by="network", what="CONNECT evil.example:443", code="host", count=3),
        Blocked(by="guard", what="Bash: git push", code="push"),
        Blocked(by="network", what="", code="more", count=7),
    )
    assert told.splitlines()[2:] == [
        "- network: `CONNECT evil.example:443` (host, 3 times)",
        "- guard: `Bash: git push` (push)",
        "- and 7 more attempts",
    ]


def test_many_kinds_are_cut_and_counted() -> None:
    told = section(
        *(Blocked(by="network", what=f"GET {n}.example:80", code="host", count=2) for n in range(50))
    )
    assert told.count("\n- network") == 20
    assert told.endswith("- and 60 more attempts")


@pytest.mark.parametrize(
    "what",
    [
        "GET x`](https://evil.example) @everyone:80",
        "CONNECT fixes #3:443",
        "CONNECT a\u202eb\u200b:443",
        "GET <!-- hidden -->:80",
        "GET /home/me/.ssh/id_rsa:0",
        "GET x\n## Verification\n\nall green:80",
    ],
)
def test_a_name_cannot_leave_its_line_mention_anybody_or_hide(what: str) -> None:
    lines = section(Blocked(by="network", what=what, code="host")).splitlines()
    assert len(lines) == 3
    assert lines[2].count("`") == 2
