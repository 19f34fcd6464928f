"""A channel's program is given what its page says of the daemon's environment, and no key to sign in with."""

from __future__ import annotations

import os
import re

import pytest

from autopilot.daemon.children import publisher_environment
from autopilot.daemon.errand import Errand
from autopilot.publish.channels.command import environment
from tests.support.tree import ROOT

_PROXIES = ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "NO_PROXY")
GIVEN = (
    *("PATH", "HOME", "TMPDIR", "LANG", "LC_ALL", "LC_TIME", "TZ", "TERM", "CI"),
    *(*_PROXIES, *map(str.lower, _PROXIES), "SSL_CERT_FILE", "SSL_CERT_DIR"),
    *("DBUS_SESSION_BUS_ADDRESS", "XDG_RUNTIME_DIR", "XDG_CONFIG_HOME", "XDG_DATA_HOME"),
)
KEPT = (
    *("SSH_AUTH_SOCK", "AUTOPILOT_SECRET_TEAM_HOOK", "AUTOPILOT_HOME", "MULTI_AGENT_UNATTENDED"),
    *("PYTHONPATH", "GITHUB_TOKEN", "ANTHROPIC_API_KEY", "LD_PRELOAD", "GIT_DIR", "DISPLAY"),
)

TO_IT = Errand("team-hook", has_git=True)  # more than any publisher has


@pytest.fixture
def names(monkeypatch: pytest.MonkeyPatch) -> set[str]:
    """Give the names that a program gets of a daemon that has them all."""
    for name in list(os.environ):
        monkeypatch.delenv(name)
    for name in (*GIVEN, *KEPT):
        monkeypatch.setenv(name, "/x")
    for name, value in publisher_environment("deliver-1", TO_IT).items():
        monkeypatch.setenv(name, value)
    for name in set(os.environ) - set(publisher_environment("deliver-1", TO_IT)):
        monkeypatch.delenv(name)
    return set(environment())


def test_it_is_given_this_and_nothing_else(names: set[str]) -> None:
    assert names == set(GIVEN)


def test_the_page_names_all_that_it_is_given(names: set[str]) -> None:
    page = (ROOT / "docs/channels.md").read_text(encoding="utf-8")
    said = re.findall(r"`([A-Z_]+…?)(?:=\w+)?`", page.partition("| variables |")[2].partition("\n\n")[0])
    told = {name: any(_is_meant(name, each) for each in said) for name in names}
    assert all(told.values()), told
    assert all(any(_is_meant(name, each) for name in names) for each in said), said


def _is_meant(name: str, said: str) -> bool:
    return name.startswith(said[:-1]) if said.endswith("…") else name.upper() == said
