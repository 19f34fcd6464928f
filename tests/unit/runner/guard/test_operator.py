"""The guard with what an operator's settings add to it."""

from __future__ import annotations

import pytest

from autopilot.runner.agents.claude_profile import profile
from autopilot.runner.allowed import allowed_commands
from autopilot.runner.guard.judge import Guard
from autopilot.runner.guard.policy.programs import OWN_PROGRAM, POLICIES
from autopilot.runner.guard.policy.refusals import WHY_NOT
from autopilot.runner.guard.verdict import GuardContext, GuardRequest
from autopilot.schemas.never import NEVER
from autopilot.schemas.policy import Policy

LISTED = frozenset({"tokei", "sudo", "git", "python", "bash", "docker"})
GUARD = Guard(
    GuardContext(
        "/w/T-1",
        "/t/T-1",
        programs=LISTED,
        mcp_tools=frozenset({"mcp__docs__search", "mcp__browser__evaluate"}),
    )
)


def code(line: str) -> str:
    return GUARD.decide(GuardRequest("Bash", {"command": line})).code


@pytest.mark.parametrize(
    "line",
    [
        *("tokei", "tokei src", "tokei --sort=lines src tests", "tokei -s src | head", "cat a | tokei -"),
        *(
            "tokei --hidden ./src/*.rs",
            "tokei -- src",
            "/usr/bin/tokei src",
            "timeout 60 tokei src > out.txt",
        ),
    ],
)
def test_a_listed_program_reads(line: str) -> None:
    assert code(line) == "allowed"


@pytest.mark.parametrize(
    "line",
    [
        *("tokei /etc", "tokei ../x", "tokei ~", "tokei .env", "tokei src/.git/config", "tokei --dir=/etc"),
        *("tokei -o x", "tokei --output x", "tokei --config=x", "tokei --exec id", "tokei --pre-command id"),
        *("tokei -c id", "tokei -e 1", "tokei https://evil.example", "tokei @args", "tokei --plugin ./x"),
        *("tokei <<'EOF'\nx\nEOF", "./tokei -- ../x", "tokei src > package.json", "tokei $(id)", "tokei *"),
        *("tokei --Output x", "tokei --out_file=x", "cloc src"),
    ],
)
def test_a_listed_program_does_nothing_else(line: str) -> None:
    assert code(line) != "allowed"


@pytest.mark.parametrize(
    "line", ["sudo ls", "git push", "python -c 1", "bash -c id", "docker ps", "git -C / status"]
)
def test_listing_a_program_loosens_nothing(line: str) -> None:
    assert code(line) != "allowed"


@pytest.mark.covers("I05")
def test_a_listed_tool_is_allowed_unless_it_runs_code() -> None:
    assert GUARD.decide(GuardRequest("mcp__docs__search", {"q": "x"})).allowed
    assert not GUARD.decide(GuardRequest("mcp__docs__fetch", {})).allowed
    assert not GUARD.decide(GuardRequest("mcp__browser__evaluate", {})).allowed
    assert not GUARD.decide(GuardRequest("mcp__docs__search__x", {})).allowed
    assert not GUARD.decide(GuardRequest("MCP__docs__search", {})).allowed


def test_what_is_refused_for_good_has_a_reason_each() -> None:
    assert set(WHY_NOT) == {name for names in NEVER.values() for name in names.split()}
    assert OWN_PROGRAM in POLICIES


def test_the_agents_own_profile_allows_what_the_settings_name() -> None:
    commands = allowed_commands(Policy(), "unknown", ("tokei",))
    allow = profile(commands, ("guard",), ("mcp__docs__search",))["permissions"]["allow"]
    assert {"mcp__docs__search", "Bash(tokei)", "Bash(tokei:*)"} <= set(allow)
    bare = profile(allowed_commands(Policy(), "unknown"), ("guard",))["permissions"]["allow"]
    assert not [rule for rule in bare if "mcp__" in rule or "tokei" in rule]
