"""The account that autopilot runs in is looked at, and never changed."""

from __future__ import annotations

import pytest

from autopilot.daemon.checkup.account import account, own_account
from tests.support.tree import ROOT


@pytest.mark.covers("I14", "I18")
@pytest.mark.parametrize(
    ("uid", "groups", "named"),
    [
        (0, ["root"], "root"),
        (1000, ["people", "sudo"], "sudo"),
        (1000, ["docker"], "docker"),
        (501, ["staff", "admin"], "admin"),
    ],
)
def test_an_account_that_may_administer_the_machine_is_warned_of(
    uid: int, groups: list[str], named: str
) -> None:
    check = account(uid, groups)
    assert check.verdict == "warning"
    assert not check.blocks
    assert named in check.evidence
    (page,) = [word for word in check.cure.split() if word.startswith("docs/")]
    text = (ROOT / page).read_text(encoding="utf-8")
    for told in ("useradd", "sysadminctl", "contents and pull requests", "ruleset", "force"):
        assert told in text


def test_an_account_that_administers_nothing_is_well() -> None:
    assert account(1000, ["people", "audio"]).verdict == "go"


def test_our_own_account_is_judged() -> None:
    assert own_account().name == "own account"
