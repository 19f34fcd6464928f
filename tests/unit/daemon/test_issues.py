"""Which tracker tells an issue, and which repository its ticket is for."""

from __future__ import annotations

from pathlib import Path

import pytest

from autopilot.config.load import load
from autopilot.config.paths import Paths
from autopilot.config.settings import Settings
from autopilot.daemon.issues import resolve, tracker_of
from autopilot.schemas.errors import ConfigError, TicketError
from autopilot.schemas.issues import Reference, parse

SHOP = """
[[repo]]
name = "shop"
url = "git@github.com:You/Shop.git"
forge = "github"
credential = "shop-token"
"""
TILL = """
[[repo]]
name = "till"
path = "/srv/till"
"""
GHE = """
[[repo]]
name = "inner"
url = "https://git.example.org/team/inner.git"
forge = "github"
api_url = "https://git.example.org/api/v3"
credential = "inner-token"
"""
JIRA = """
[tracker.jira]
kind = "jira"
url = "https://you.atlassian.net"
account = "night@example.org"
credential = "jira"
projects = { ABC = "till", OPS = "shop" }
"""
ISSUES = """
[tracker.issues]
kind = "github"
url = "https://api.github.com"
credential = "issues-token"
projects = { "you/till-issues" = "till" }
"""


def settings(folder: Path, *tables: str) -> Settings:
    file = folder / "config.toml"
    file.write_text("".join(tables), encoding="utf-8")
    return load(Paths(state=folder, config_file=file, logs=folder))


def reference(text: str) -> Reference:
    found = parse(text)
    assert found is not None
    return found


@pytest.mark.covers("B12")
@pytest.mark.parametrize(
    ("text", "name", "repo"),
    [
        ("#12", "You/Shop#12", "shop"),
        ("shop#12", "You/Shop#12", "shop"),
        ("you/shop#12", "You/Shop#12", "shop"),
        ("https://github.com/you/shop/issues/12", "You/Shop#12", "shop"),
        ("https://github.com/You/Shop/issues/12#issuecomment-7", "You/Shop#12", "shop"),
        ("ABC-7", "ABC-7", "till"),
        ("https://you.atlassian.net/browse/OPS-7", "OPS-7", "shop"),
        ("you/till-issues#3", "you/till-issues#3", "till"),
        ("till#3", "you/till-issues#3", "till"),
        ("inner#4", "team/inner#4", "inner"),
        ("https://git.example.org/team/inner/issues/4", "team/inner#4", "inner"),
    ],
)
def test_every_form_of_a_reference_has_one_name_and_one_repository(
    tmp_path: Path, text: str, name: str, repo: str
) -> None:
    found = resolve(
        settings(
            tmp_path, SHOP, TILL, GHE, JIRA, ISSUES.replace("https://api.github.com", "https://x.invalid")
        ),
        reference(text),
        here=("/elsewhere", "https://github.com/you/shop.git"),
    )
    assert (found.name, found.repo) == (name, repo)


def test_a_forge_lends_its_address_and_credential_and_a_table_goes_before_it(tmp_path: Path) -> None:
    of_forge = resolve(settings(tmp_path, SHOP), reference("#12")).tracker
    assert (of_forge.name, of_forge.url) == ("github", "https://api.github.com")
    assert (of_forge.site, of_forge.credential) == ("https://github.com", "shop-token")
    of_table = resolve(settings(tmp_path, SHOP, TILL, ISSUES), reference("shop#12")).tracker
    assert (of_table.name, of_table.project, of_table.credential) == ("issues", "You/Shop", "issues-token")


def test_accounts_of_another_forge_are_not_called_as_those_of_github(tmp_path: Path) -> None:
    inner = resolve(settings(tmp_path, GHE), reference("#4")).tracker
    assert (inner.name, inner.site) == ("github-git-example-org", "https://git.example.org")


@pytest.mark.parametrize(
    "here", [("/srv/till",), ("/home/pat/till", "/srv/till/"), ("/x", "file:///y", "/srv/till")]
)
def test_a_number_alone_is_of_the_checkout_that_one_stands_in(tmp_path: Path, here: tuple[str, ...]) -> None:
    found = resolve(settings(tmp_path, SHOP, TILL, ISSUES), reference("#3"), here=here)
    assert found.name == "you/till-issues#3"


def test_a_repository_that_is_named_counts_more_than_where_one_stands(tmp_path: Path) -> None:
    loaded = settings(tmp_path, SHOP, TILL, JIRA)
    assert resolve(loaded, reference("#3"), repo="shop", here=("/srv/till",)).name == "You/Shop#3"
    assert resolve(loaded, reference("ABC-7"), repo="shop").repo == "shop"


@pytest.mark.parametrize(
    ("text", "code", "cure"),
    [
        ("#12", "repo-needed", "shop#N, till#N"),
        ("XYZ-7", "tracker-unknown", "[tracker.jira]"),
        ("ABD-7", "tracker-unknown", "did you mean ABC?"),
        ("tlil#3", "repo-unknown", "did you mean till?"),
        ("till#3", "tracker-unknown", "[tracker.github]"),
        ("someone/else#3", "tracker-unknown", "docs/trackers.md"),
        ("https://evil.example/you/shop/issues/12", "tracker-unknown", "`site`"),
        ("https://evil.example/browse/ABC-7", "tracker-unknown", "`site`"),
        ("https://you.atlassian.net@evil.example/browse/ABC-7", "tracker-unknown", "`site`"),
    ],
)
def test_what_nobody_tells_is_refused_with_what_to_add(
    tmp_path: Path, text: str, code: str, cure: str
) -> None:
    with pytest.raises(TicketError) as raised:
        resolve(settings(tmp_path, SHOP, TILL, JIRA), reference(text))
    assert raised.value.code == code
    assert cure in raised.value.hint


def test_who_tells_a_tickets_issue_is_found_again_by_its_source_key(tmp_path: Path) -> None:
    loaded = settings(tmp_path, SHOP, TILL, JIRA)
    for key, number in (("You/Shop#12", "12"), ("ABC-7", "ABC-7")):
        found = tracker_of(loaded, key, "shop")
        assert found is not None
        assert found.number == number
    assert tracker_of(loaded, "mail-4711", "shop") is None
    assert tracker_of(loaded, None, "shop") is None
    assert tracker_of(loaded, "XYZ-1", "shop") is None


@pytest.mark.parametrize(
    ("tables", "told"),
    [
        ((SHOP, JIRA), "no repository is called 'till'"),
        (
            (SHOP, TILL, JIRA, JIRA.replace("tracker.jira", "tracker.other")),
            "is told by tracker.jira already",
        ),
        (
            (TILL, '[tracker.j]\nkind = "jira"\nurl = "https://x.invalid"\nprojects = { abc = "till" }\n'),
            "PROJ",
        ),
        (
            (TILL, '[tracker.j]\nkind = "github"\nurl = "https://x.invalid"\nprojects = { T = "till" }\n'),
            "you/",
        ),
        ((TILL, '[tracker.j]\nkind = "jira"\n'), "tracker.j.url: is missing"),
        ((TILL, '[tracker.J]\nkind = "jira"\nurl = "https://x.invalid"\n'), "tracker.J"),
        ((TILL, '[tracker.j]\nkind = "jira"\nurl = "https://x.invalid"\nprojets = 1\n'), "projects"),
    ],
)
def test_a_table_that_is_wrong_is_named(tmp_path: Path, tables: tuple[str, ...], told: str) -> None:
    with pytest.raises(ConfigError) as raised:
        settings(tmp_path, *tables)
    assert told in raised.value.what
