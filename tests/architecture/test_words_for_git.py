"""No word that somebody else has chosen stands where git would read it as an option, in any call of ours.

A remote can have a branch `--upload-pack=…`, an agent a file `--output=…`. So such a word is behind `--`, or
it has its full name before it (`refs/heads/…`), or an option to which it belongs (`--output=…`). What may
stand bare is an object's name that git has told, a name of ours, or an absolute path; each is listed here.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from typing import Final

import pytest

from tests.architecture.source import SRC, Module
from tests.support.git_words import commands_of_git

Table = Mapping[str, tuple[str, ...]]
# They speak of git's commands, and call none through our git.
SPEAKERS: Final = (
    *("runner/guard/", "runner/agents/", "daemon/cli/", "daemon/store/", "daemon/report/", "launchd/"),
    *("daemon/policy_example.py", "daemon/checkup/versions.py", "publish/checks/branch.py"),
    *("publish/checks/registry.py", "config/git.py"),
)
END: Final = ("--", "--end-of-options")
# By file, and why git cannot take it for an option.
OBJECTS: Final[Table] = {
    # The name of an object as git printed it, or as a pattern has held it to hexadecimal digits: `Sha` in
    # schemas/records.py, and `sha` of a forge's answer in publish/forges/github.py.
    "daemon/review.py": ("span",),
    "publish/heads.py": ("sha",),
    "publish/remote.py": ("sha",),
    "publish/span.py": ("sha",),
    "publish/trial.py": ("tree",),
    "runner/bundles.py": ("f'{head}^{{tree}}'", "*span"),
    "runner/changes.py": ("*between",),  # after "-r", "-z", "-M", which stand there
    "runner/commit.py": ("judge.workspace.base_sha", "sha", "tree"),
    "runner/earlier.py": ("base", "head", "tree", "workspace.base_sha"),
    "runner/judge.py": ("f'{self.workspace.base_sha}^{{tree}}'", "self.workspace.base_sha"),
    "runner/mirror.py": ("sha",),
    "runner/preflight.py": ("sha",),
    "runner/salvage.py": (
        *("f'{judge.workspace.base_sha}^{{tree}}'", "f'{record.base_sha}^{{commit}}'"),
        *("head", "judge.workspace.base_sha"),
    ),
    "runner/stacks/tree.py": ("sha",),
    "runner/submodules.py": ("f'{sha}^{{tree}}'", "judge.workspace.base_sha"),
    "runner/verify.py": ("sha",),
    "runner/worktree.py": ("base_sha",),
}
OURS: Final[Table] = {
    # `HEAD`, or a name of ours that begins with `refs/`.
    "daemon/checkup/base.py": ("f'{name}^{{commit}}'",),
    "daemon/checkup/registries.py": ("BASES",),
    "daemon/checkup/room.py": ("BASES",),
    "daemon/survey.py": ("f'{name}^{{commit}}'",),
    "publish/checks/ancestry.py": ("BASE_REF", "HEAD_REF"),
    "publish/heads.py": ("ref",),
    "publish/remote.py": ("BASE_REF", "HEAD_REF", "NOW_REF", "f'{BASE_REF}..{NOW_REF}'", "ref"),
    "publish/span.py": ("HEAD_REF",),
    "publish/staging.py": ("HEAD_REF", "f'{ref}^{{commit}}'"),
    "runner/bundles.py": ("*refs", "*names"),
    "runner/mirror.py": ("_INCOMING", "f'{_INCOMING}^{{commit}}'", "ref"),
    "runner/salvage.py": ("f'{RESCUE_REFS}{run_id}'",),
}
WRITTEN: Final[Table] = {
    # Options, keys, values, patterns and git's own files that stand in the source.
    "daemon/review.py": ("*options",),
    "daemon/survey.py": ("key",),
    "runner/bundles.py": ("*options",),
    "runner/judge.py": ("*options",),
    "runner/mirror.py": ("key", "value"),
    "runner/places.py": ("key", "value", "name"),
    "runner/preflight.py": ("_LFS_LINE",),
    "runner/replica.py": ("shown",),
    "runner/worktree.py": ("spec.branch",),  # the value of `-b`; `ref_name_fault` has looked at it
}
PLACES: Final[Table] = {
    # Absolute: in our state folder, or the value of `--file`.
    "daemon/demo/stage.py": ("str(project)", "str(remote)"),
    "publish/heads.py": ("str(self._place)",),
    "publish/staging.py": ("str(ctx.staging)",),
    "publish/trial.py": ("str(place)",),
    "runner/bundles.py": ("str(file)",),
    "runner/mirror.py": ("str(draft)",),
    "runner/places.py": ("str(place)",),
    "runner/tripwire.py": ("str(config)", "str(self.path)"),
    "runner/verify.py": ("repository.absolute().as_uri()", "str(checkout)"),
}


def bare_words(tree: ast.AST, commands: frozenset[str]) -> Iterator[tuple[int, str]]:
    """Every word of a command line of git's that is not written out, and that nothing stands before."""
    for node in ast.walk(tree):
        if not isinstance(node, ast.Call | ast.Tuple | ast.List):
            continue
        words = list(_flat(node.args if isinstance(node, ast.Call) else node.elts))
        first = words[0] if words else None
        if isinstance(first, ast.Constant) and first.value in commands:
            yield from _before_the_end(words[1:])


def _flat(words: list[ast.expr]) -> Iterator[ast.expr]:
    for word in words:
        if isinstance(word, ast.Starred) and isinstance(word.value, ast.Tuple | ast.List):
            yield from _flat(word.value.elts)
        else:
            yield word


def _before_the_end(words: list[ast.expr]) -> Iterator[tuple[int, str]]:
    for word in words:
        if isinstance(word, ast.Constant):
            if word.value in END:
                return
        elif not (isinstance(word, ast.JoinedStr) and isinstance(word.values[0], ast.Constant)):
            yield word.lineno, ast.unparse(word)


@pytest.fixture(scope="session")
def found(checkout: list[Module]) -> set[tuple[str, str]]:
    """Each file with the bare words in it."""
    commands = commands_of_git()
    paths = ((module.path.removeprefix(f"{SRC}/"), module) for module in checkout if module.is_in(f"{SRC}/"))
    ours = [(path, module.tree) for path, module in paths if not path.startswith(SPEAKERS)]
    return {(path, word) for path, tree in ours for _, word in bare_words(tree, commands)}


@pytest.fixture(scope="session")
def known() -> set[tuple[str, str]]:
    """Those of the tables above."""
    tables = (OBJECTS, OURS, WRITTEN, PLACES)
    return {(path, word) for table in tables for path, words in table.items() for word in words}


@pytest.mark.field_report("SEC-005")
def test_no_word_of_others_is_given_to_git_where_it_may_be_an_option(
    found: set[tuple[str, str]], known: set[tuple[str, str]]
) -> None:
    assert sorted(found - known) == []


def test_whatever_is_listed_is_given_to_git(found: set[tuple[str, str]], known: set[tuple[str, str]]) -> None:
    assert sorted(known - found) == []


@pytest.mark.parametrize(
    "line",
    [
        "git.run('fetch', '--quiet', url)",
        "git.run('fetch', '--quiet', f'{branch}:refs/x')",
        "git.run(*('fetch', '--quiet'), branch, '--')",
        "words = ('update-ref', '-d', name)",
        "words = ['checkout', path, '--', 'x']",
    ],
)
def test_such_a_word_is_seen(line: str) -> None:
    assert len(list(bare_words(ast.parse(line), frozenset({"fetch", "update-ref", "checkout"})))) == 1


@pytest.mark.parametrize(
    "line",
    [
        "git.run('fetch', '--quiet', '--', url)",
        "git.run('fetch', f'refs/heads/{branch}:refs/x')",
        "git.run(*('fetch', '--'), branch)",
        "words = ('fetch', f'--output={path}')",
    ],
)
def test_what_git_cannot_take_for_an_option_is_none(line: str) -> None:
    assert list(bare_words(ast.parse(line), frozenset({"fetch"}))) == []
