"""git is started in one module only, and by no library."""

from __future__ import annotations

import ast

from tests.architecture.source import SRC, Module, imports, modules, parse

FUNNEL = f"{SRC}/config/git.py"
# It plays an agent, within an agent's bounds: what it commits is an agent's commit, not ours.
AN_AGENT = f"{SRC}/runner/agents/scripted_player.py"
# `init` looks at a person's own checkout while they watch, with a library that reads files by itself.
ATTENDED = f"{SRC}/daemon/survey.py"


def git_starts(module: Module) -> list[str]:
    """Argument lists that begin with git, and imports of libraries that run it."""
    found = [
        f"{module.path}:{line}: {name}"
        for line, name in imports(module)
        if name.partition(".")[0] in {"git", "pygit2"}
    ]
    walked_over = {
        node.iter for node in ast.walk(module.tree) if isinstance(node, ast.For | ast.comprehension)
    }
    for node in ast.walk(module.tree):
        if isinstance(node, ast.List | ast.Tuple) and node.elts and node not in walked_over:
            first = node.elts[0]
            value = first.value if isinstance(first, ast.Constant) else None
            if isinstance(value, str) and (value == "git" or value.endswith("/git")) and len(node.elts) > 1:
                found.append(f"{module.path}:{node.lineno}: {ast.unparse(node)}")
    return found


def test_only_the_git_funnel_starts_git() -> None:
    sources = [
        module
        for module in modules()
        if module.is_in(f"{SRC}/") and module.path not in {FUNNEL, AN_AGENT, ATTENDED}
    ]
    assert [line for module in sources for line in git_starts(module)] == []


def test_a_second_start_of_git_would_be_found() -> None:
    for text in (
        "run(['git', 'status'])",
        "x = ('/usr/bin/git', *args)",
        "import git",
        "from git import Repo",
    ):
        assert git_starts(parse(f"{SRC}/runner/x.py", text)), text
    for text in (
        "which('git')",
        "tools = {'git'}",
        "for x in ('git', 'ssh'): y",
        "from autopilot.config.git import Git",
    ):
        assert not git_starts(parse(f"{SRC}/runner/x.py", text)), text
    assert git_starts(next(module for module in modules() if module.path == FUNNEL))
