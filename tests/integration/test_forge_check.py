"""`doctor` looks at how narrow a forge's token is, and how the forge itself holds the branches."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

import pytest

from autopilot.config.secrets import variable_for
from tests.support.cli import Cli
from tests.support.fixtures import MakeForge
from tests.support.forge.faults import Fault
from tests.support.forge.server import Forge
from tests.support.repos import commit_files

REPO = "o/r"
BASE = "/repos/o/r"
PULL_REQUEST: dict[str, object] = {
    "type": "pull_request",
    "ruleset_id": 7,
    "parameters": {"require_code_owner_review": True},
}
WHOLE: list[dict[str, object]] = [
    {"type": "non_fast_forward", "ruleset_id": 7},
    {"type": "deletion", "ruleset_id": 7},
    PULL_REQUEST,
]
NEVER: dict[str, object] = {"id": 7, "name": "main is held", "current_user_can_bypass": "never"}


@pytest.fixture
def forge(make_forge: MakeForge) -> Forge:
    return make_forge(REPO)


@pytest.fixture
def cli(tmp_path: Path, forge: Forge) -> Cli:
    config = (
        f'[[repo]]\nname = "shop"\nurl = "{forge.git_url(REPO)}"\nbase = "main"\nforge = "github"\n'
        f'project = "o/r"\napi_url = "{forge.api_url}"\ncredential = "shop"\n'
    )
    cli = Cli(tmp_path / "home", config=config)
    cli.env[variable_for("shop")] = forge.token
    return cli


def listed(*each: object) -> dict[str, str]:
    """A list, as the stand-in takes it."""
    return {"_raw": json.dumps(each)}


def rules(forge: Forge, branch: str, told: Sequence[object], bypass: dict[str, object] = NEVER) -> None:
    """Let the forge answer with GitHub's own form of these rules."""
    forge.fail_next(
        Fault(rf"GET {BASE}/git/matching-refs/heads/release$", 200, listed()),
        Fault(rf"GET {BASE}/rules/branches/{branch}$", 200, listed(*told)),
        Fault(rf"GET {BASE}/rulesets/7$", 200, bypass),
    )


def line(cli: Cli, name: str = "forge of shop") -> tuple[str, str]:
    said = cli.run("doctor", "--json")
    found = {check["name"]: check for check in said.json()["checks"]}
    assert cli.env[variable_for("shop")] not in said.out
    return found[name]["verdict"], found[name]["evidence"]


@pytest.mark.covers("I15", "I17", "I18")
def test_a_narrow_token_and_a_ruleset_that_holds_are_well_and_nothing_is_changed(
    cli: Cli, forge: Forge
) -> None:
    rules(forge, "main", WHOLE)
    assert line(cli)[0] == "go"
    asked = [seen for seen in forge.requests() if seen.path.startswith(BASE)]
    assert asked
    assert {seen.method for seen in asked} == {"GET"}


@pytest.mark.covers("I17")
@pytest.mark.parametrize(
    ("told", "bypass", "wanting"),
    [
        (WHOLE[1:], NEVER, "main: force pushes are not blocked"),
        ([WHOLE[0], WHOLE[2]], NEVER, "main: it can be deleted"),
        (WHOLE[:2], NEVER, "main: it can be pushed to without a pull request"),
        (
            [*WHOLE[:2], {**PULL_REQUEST, "parameters": {"require_code_owner_review": False}}],
            NEVER,
            "main: no review by code owners is required",
        ),
        (WHOLE, {**NEVER, "current_user_can_bypass": "always"}, "may bypass the ruleset 'main is held'"),
        (WHOLE, {**NEVER, "current_user_can_bypass": "pull_requests_only"}, "may bypass the ruleset"),
    ],
)
def test_what_a_ruleset_leaves_open_is_a_warning_that_names_it(
    cli: Cli, forge: Forge, told: list[dict[str, object]], bypass: dict[str, object], wanting: str
) -> None:
    rules(forge, "main", told, bypass)
    finding, evidence = line(cli)
    assert finding == "warning"
    assert evidence.count("\n") == 0
    assert wanting in evidence


@pytest.mark.covers("I17")
def test_release_branches_are_looked_at_too(cli: Cli, forge: Forge) -> None:
    commit_files(forge.repositories.existing(REPO), "release/1.0", {"a": "b"})
    forge.fail_next(
        Fault(
            rf"GET {BASE}/git/matching-refs/heads/release$", 200, listed({"ref": "refs/heads/release/1.0"})
        ),
        Fault(rf"GET {BASE}/rules/branches/main$", 200, listed(*WHOLE)),
        Fault(rf"GET {BASE}/rules/branches/release%2F1.0$", 200, listed()),
        Fault(rf"GET {BASE}/rulesets/7$", 200, NEVER),
    )
    finding, evidence = line(cli)
    assert finding == "warning"
    assert "release/1.0: force pushes are not blocked" in evidence


@pytest.mark.covers("I15")
def test_a_classic_token_and_an_administrators_are_warned_of(cli: Cli, forge: Forge) -> None:
    repository = {"default_branch": "main", "permissions": {"admin": True, "maintain": True, "push": True}}
    forge.fail_next(Fault(rf"GET {BASE}$", 200, repository, {"X-OAuth-Scopes": "repo, workflow"}))
    rules(forge, "main", WHOLE)
    finding, evidence = line(cli)
    assert finding == "warning"
    assert "the token is a classic one (repo, workflow), which reaches every repository" in evidence
    assert "the token's account has the role admin" in evidence


@pytest.mark.covers("I15")
def test_one_token_for_two_repositories_is_warned_of(cli: Cli, forge: Forge) -> None:
    rules(forge, "main", WHOLE)
    rules(forge, "main", WHOLE)
    config = cli.paths.config_file
    first = config.read_text(encoding="utf-8")
    config.write_text(first + first.replace('name = "shop"', 'name = "shed"'), encoding="utf-8")
    assert line(cli, "reach of shop") == ("warning", "one token opens shop, shed")


@pytest.mark.parametrize(
    "fault",
    [
        Fault(rf"GET {BASE}$", 500, {}),
        Fault(rf"GET {BASE}$", 200, {"default_branch": 3}),
        Fault(rf"GET {BASE}$", 403, {"message": "no"}),
    ],
)
def test_a_forge_that_gives_no_answer_is_a_warning_and_hides_no_other_line(
    cli: Cli, forge: Forge, fault: Fault
) -> None:
    forge.fail_next(fault)
    finding, evidence = line(cli)
    assert finding == "warning"
    assert "not known" in evidence
    assert line(cli, "set-up of shop")[0] == "go"
