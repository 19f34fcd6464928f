"""What an operator may add to the command guard, and what no setting does."""

from __future__ import annotations

import pytest
from pydantic import ValidationError

from autopilot.config.cell_settings import Guard
from autopilot.schemas.never import NEVER


def test_whole_names_of_tools_and_plain_names_of_programs_are_taken() -> None:
    given = Guard(
        max_read_kib=0,
        allow_tools=("mcp__docs__search", "mcp__my-server__get_page", "mcp__a_b__c"),
        read_only_programs=("tokei", "git-cliff", "x2.5", "python3-config"),
    )
    assert given.spec().model_dump() == given.model_dump()


@pytest.mark.parametrize(
    "tool",
    [
        *(
            "",
            "mcp__",
            "mcp__docs",
            "mcp__docs__",
            "mcp____x",
            "mcp__docs__*",
            "mcp__.*",
            "*",
            "mcp__docs__a b",
        ),
        *("Bash", "Write", "WebFetch", "mcp_docs_search"),
        *("mcp__multi-agent-toolkit__web_eval", "mcp__browser__evaluate", "mcp__x__browser_run_code"),
        *("mcp__x__execute_sql", "mcp__x__shell", "mcp__x__run-command", "mcp__x__Exec"),
    ],
)
def test_no_pattern_and_no_tool_that_runs_code_is_taken(tool: str) -> None:
    with pytest.raises(ValidationError, match=r"guard|allow_tools") as caught:
        Guard(max_read_kib=0, allow_tools=(tool,), read_only_programs=())
    assert "without wildcards" in str(caught.value)


@pytest.mark.parametrize(
    "program",
    [
        *("", "/usr/bin/tokei", "./tokei", "tokei --json", "to*", "-x", "a/b", "é"),
        *(
            "sudo",
            "xargs",
            "env",
            "ssh",
            "nc",
            "docker",
            "terraform",
            "eval",
            "source",
            "psql",
            "pypy",
            "fish",
        ),
        *("claude", "codex", "autopilot", "kill", "crontab", "vault", "brew", "dd", "vim", "tmux"),
    ],
)
def test_no_path_and_no_program_that_is_refused_for_good_is_taken(program: str) -> None:
    with pytest.raises(ValidationError) as caught:
        Guard(max_read_kib=0, allow_tools=(), read_only_programs=(program,))
    assert "without a folder or options" in str(caught.value)


def test_no_program_is_refused_for_good_twice() -> None:
    names = [name for kind in NEVER.values() for name in kind.split()]
    assert sorted(names) == sorted(set(names))
