"""How our own programs are started, and what git is never told."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from tests.architecture.source import Breach, Module, Rule, imports

SRC = ("src/",)
SAFE_PATH = {"-P", "-I"}  # -I implies -P
FORCE = {"--force", "-f"}
# Not a push: removing our own worktree, cleaning our own folder.
HARMLESS_WITH_FORCE = {"worktree", "clean", "checkout"}
GIT = "src/autopilot/config/git.py"
# It stands in for an agent, which is no program of ours.
PLAYER = "src/autopilot/runner/agents/scripted_player.py"
LOOKS_FOR_GIT = "src/autopilot/daemon/checkup/host.py"
# Reads where a checkout is and what it calls its branches, from files; it is asked to run nothing.
READS_A_CHECKOUT = "src/autopilot/daemon/survey.py"
GIT_LIBRARIES = {"git", "pygit2", "dulwich"}
GIT_COMMANDS = {
    *("add", "am", "apply", "archive", "bisect", "branch", "bundle", "cat-file", "checkout", "cherry-pick"),
    *("checkout-index", "clean", "clone", "commit", "commit-tree", "config", "count-objects", "describe"),
    *("diff", "diff-files", "diff-index", "diff-tree", "fetch", "for-each-ref", "fsck", "gc", "grep", "init"),
    *("hash-object", "log", "ls-files", "ls-remote", "ls-tree", "maintenance", "merge", "merge-base"),
    *("merge-tree", "mktree", "mv", "pack-refs", "prune", "pull", "push", "read-tree", "rebase", "reflog"),
    *("remote", "repack", "reset", "restore", "rev-list", "rev-parse", "rm", "show", "stash", "status"),
    *("submodule", "switch", "symbolic-ref", "tag", "update-index", "update-ref", "version", "worktree"),
    "write-tree",
}


def unsafe_python(module: Module) -> Iterator[Breach]:
    """`sys.executable` stands in a list or tuple, right before -P (or -I), or is only shown in a text."""
    safe = 0
    for node in module.nodes:
        if isinstance(node, ast.FormattedValue):
            safe += ast.unparse(node.value) in {"sys.executable", "executable"}
        elif isinstance(node, ast.List | ast.Tuple):
            for position, element in enumerate(node.elts):
                if ast.unparse(element) in {"sys.executable", "executable"}:
                    following = node.elts[position + 1 : position + 2]
                    safe += [n.value for n in following if isinstance(n, ast.Constant)][:1] in (
                        ["-P"],
                        ["-I"],
                    )
    uses = [line for line, name in module.uses if name == "sys.executable"]
    if len(uses) > safe:
        yield Breach(uses[0], "sys.executable without -P right behind it: the cwd could shadow our modules")


def plain_force(module: Module) -> Iterator[Breach]:
    for node in module.nodes:
        if isinstance(node, ast.List | ast.Tuple | ast.Set):
            words = _words(node.elts)
        elif isinstance(node, ast.Call) and not _declares_an_option(node):
            words = _words(node.args)
        else:
            continue
        forced = FORCE & words if "push" in words else {"--force"} & words
        if forced and not HARMLESS_WITH_FORCE & words:
            yield Breach(node.lineno, "a push is never forced; use --force-with-lease=<ref>:<expected>")
    for node in module.nodes:
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and "push --force " in node.value:
            yield Breach(node.lineno, "a push is never forced")


def git_of_its_own(module: Module) -> Iterator[Breach]:
    """A command line of git, a shell's line with one, a search for the program, a library that runs it."""
    walked = {node.iter for node in module.nodes if isinstance(node, ast.For | ast.comprehension)}
    for node in module.nodes:
        words = node.elts if isinstance(node, ast.List | ast.Tuple) and node not in walked else []
        words = node.args if isinstance(node, ast.Call) else words
        if words and _is_git(words, is_list=not isinstance(node, ast.Call)):
            yield Breach(words[0].lineno, "git is called past config/git.py")
        elif _looks_for_git(node) and not module.is_in(LOOKS_FOR_GIT):
            yield Breach(words[0].lineno, "looks for git's program: config/git.py knows where it is")
    for line, name in imports(module):
        if name.partition(".")[0] in GIT_LIBRARIES and not module.is_in(READS_A_CHECKOUT):
            yield Breach(line, f"{name} runs git past config/git.py")


def _looks_for_git(node: ast.AST) -> bool:
    return (
        isinstance(node, ast.Call) and ast.unparse(node.func).endswith("which") and "git" in _words(node.args)
    )


def _is_git(words: list[ast.expr], *, is_list: bool) -> bool:
    """Whether these are the words of a command line; a call may well name git and say something of it."""
    if not isinstance(words[0], ast.Constant) or not isinstance(words[0].value, str):
        return False
    first, rest = words[0].value.rpartition("/")[2], words[1:]
    if first in {"sh", "bash"}:
        return any(re.search(r"\bgit\s", word) for word in _words(rest))
    if first != "git" or not rest:
        return False
    return is_list or (isinstance(rest[0], ast.Constant) and rest[0].value in GIT_COMMANDS)


def _declares_an_option(call: ast.Call) -> bool:
    """An option of our own command line is given to no git."""
    return isinstance(call.func, ast.Attribute) and call.func.attr == "add_argument"


def _words(nodes: list[ast.expr]) -> set[str]:
    return {n.value for n in nodes if isinstance(n, ast.Constant) and isinstance(n.value, str)}


def _x(text: str) -> tuple[str, str]:
    return "src/autopilot/publish/x.py", text


RULES = (
    Rule(
        "our own Pythons start with -P",
        unsafe_python,
        SRC,
        bad=(
            _x("import sys\nrun([sys.executable, '-m', 'autopilot.runner'])"),
            _x("import sys\nrun([sys.executable])"),
            _x("import sys\npython = sys.executable"),
            _x("from sys import executable\nrun([executable, '-m', 'x'])"),
        ),
        good=(
            _x("import sys\nrun([sys.executable, '-P', '-m', 'autopilot.runner'])"),
            _x("import sys\nrun((sys.executable, '-I', '-c', 'pass'))"),
            _x("import sys\nsay(f'runs on {sys.executable}')"),
        ),
    ),
    Rule(
        "a push is never forced",
        plain_force,
        SRC,
        bad=(
            _x("git('push', '--force', url)"),
            _x("git(['push', '-f', url])"),
            _x("options = ['--force']"),
            _x("hint = 'try git push --force origin'"),
        ),
        good=(
            _x("git('push', f'--force-with-lease={ref}:{sha}', url)"),
            _x("git('worktree', 'remove', '--force', path)"),
            _x("parser.add_argument('--force', action='append')"),
        ),
    ),
    Rule(
        "only config.git runs git",
        git_of_its_own,
        SRC,
        bad=(
            _x("proc.run(['git', 'status'])"),
            _x("argv = ('/usr/bin/git', '--git-dir=x', 'log')"),
            _x("argv = ['git', *words]"),
            _x("argv = ['git', word]"),
            _x("run('git', 'fetch', url)"),
            _x("argv = ['sh', '-c', 'cd x && git pull']"),
            _x("import shutil\nprogram = shutil.which('git')"),
            _x("import git\nrepo = git.Repo('.')"),
            _x("from dulwich import porcelain"),
        ),
        good=(
            _x("ctx.git.run('status')"),
            _x("for name in ('git', 'home', 'tmp'):\n    make(name)"),
            _x("blocked('git', 'git is not on PATH')"),
            _x("hint = 'run git fetch'"),
            (GIT, "own = ['git', *options, *args]"),
        ),
        exempt=(GIT, PLAYER),
    ),
)
