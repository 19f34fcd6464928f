"""git: reading the history, staging, and committing with a message that the guard has seen.

Must not accept what talks to a remote, moves a branch, runs a program of the configuration, or writes a file
that the command does not name. Source: git(1) and its commands' pages.
"""

from __future__ import annotations

import re
from types import MappingProxyType
from typing import TYPE_CHECKING

from autopilot.runner.guard.grammar import ONE, Word
from autopilot.runner.guard.policy.forms import Call, Form, Policy, same
from autopilot.runner.guard.policy.git_commit import commit
from autopilot.runner.guard.policy.git_read import READING
from autopilot.runner.guard.policy.kinds import revision, stage
from autopilot.runner.guard.verdict import Refused

if TYPE_CHECKING:
    from collections.abc import Mapping

_PLAIN_GLOBALS = frozenset(
    {"--no-pager", "-P", "--no-optional-locks", "--literal-pathspecs", "--no-replace-objects"}
)


def _git(call: Call) -> None:
    while call.args and call.args[0].text.startswith("-"):
        option = call.args[0].text
        if option in _PLAIN_GLOBALS:
            call = call.after(1)
        elif option == "-C" and len(call.args) > 1:
            call = call.after(2)._replace(act=call.act.moved(call.args[1]))
        elif option in {"--version", "-v"} and len(call.args) == 1:
            return
        else:
            raise Refused(
                "git-option",
                f"git does not take {option!r} before the command; accepted: --no-pager, -C FOLDER",
            )
    call.act.own_repository()
    name = call.args[0].text if call.args else ""
    policy = _COMMANDS.get(name)
    if policy is None or call.args[0].pattern is not None:
        raise Refused(
            "git-command", _WHY_NOT.get(name) or f"git {name} is not for a run; accepted: {_ACCEPTED}"
        )
    if name not in READING and any(word.text.startswith(":") for word in call.args):
        raise Refused("pathspec", "files are named plainly, without the magic of a leading colon")
    rest = call.after(1, f"git {name}")
    policy(rest._replace(args=tuple(map(_as_pathspec, rest.args))) if name in _TAKE_BACK else rest)


_TAKE_BACK = frozenset({"checkout", "restore", "rm"})


def _as_pathspec(word: Word) -> Word:
    """Mark the wildcards that git itself reads where the shell does not. Source: gitglossary(7), pathspec."""
    if (
        word.pattern is not None
        or word.text.startswith("-")
        or not any(char in word.text for char in "*?[\\")
    ):
        return word
    # What is in brackets stands for one letter: `[slug]` is the name of a route, `[.]env` is not.
    plain = _BRACKETS.sub(ONE, word.text)
    if any(char in plain for char in "*?[\\") or _HIDING.search(word.text):
        raise Refused(
            "pathspec", f"{word.text!r}: git's own wildcards reach into every folder; name the files"
        )
    return word._replace(pattern=plain)


_BRACKETS = re.compile(r"\[[^]\[\\/]+\]")
_HIDING = re.compile(r"\[[!^]|\[[^]/]*\.[^]/]*\][^/]")


def _checkout(call: Call) -> None:
    texts = [word.text for word in call.args]
    cut = texts.index("--") if "--" in texts else len(texts)
    if cut > 1 or cut >= len(texts) - 1:
        raise Refused(
            "git-checkout",
            "the branch stays; to bring files back: git restore FILE, git checkout -- FILE, "
            "git checkout REVISION -- FILE",
        )
    for word in call.args[:cut]:
        revision(call.act, word)
    Form("", "tree+").read(call.after(cut))


def _restore(call: Call) -> None:
    given = Form("-SWq -s:rev --staged --worktree --quiet --source=rev", "text+").read(call)
    is_index_only = given.has("-S", "--staged") and not given.has("-W", "--worktree")
    for word in given.operands:
        (call.act.stage if is_index_only else call.act.write_tree)(word)


def _reset(call: Call) -> None:
    given = Form("-qN --quiet --mixed --intent-to-add", "text*").read(call)
    texts = [word.text for word in call.args]
    before = texts[: texts.index("--")] if "--" in texts else texts
    first = next((text for text in before if not text.startswith("-")), "HEAD")
    if first != "HEAD":
        raise Refused("git-reset", "the branch does not move; to unstage: git restore --staged FILE")
    for index, word in enumerate(given.operands):
        if index or word.text != "HEAD":
            stage(call.act, word)


def _mv(call: Call) -> None:
    given = Form("-fkvn --force --verbose --dry-run", "tree tree+").read(call)
    target = given.operands[-1]
    for source in given.operands[:-1]:
        name = source.text.rstrip("/").rpartition("/")[2]
        call.act.write_tree(target._replace(text=f"{target.text.rstrip('/')}/{name}"))


def _clean(call: Call) -> None:
    given = Form("-ndxXq --dry-run --quiet", "read*").read(call)
    if not given.has("-n", "--dry-run"):
        raise Refused("git-clean", "git clean only shows: git clean -nd; remove files by name with rm")


def _apply(call: Call) -> None:
    given = Form("-vR -p:number --reverse --check --stat --numstat --summary --verbose", "read+").read(call)
    if not given.has("--check", "--stat", "--numstat", "--summary"):
        raise Refused("git-apply", "a patch is not applied unseen; make the change with the Edit tool")


_COMMANDS: Mapping[str, Policy] = MappingProxyType(
    {
        **READING,
        "add": Form(
            "-AuvnN --all --update --verbose --dry-run --intent-to-add --no-all --ignore-removal", "stage*"
        ),
        **same(Form("-rfqn --cached --force --quiet --dry-run --ignore-unmatch", "tree+"), "rm"),
        "stage": Form("-AuvnN --all --update", "stage*"),
        "mv": _mv,
        "restore": _restore,
        "checkout": _checkout,
        "reset": _reset,
        "commit": commit,
        "clean": _clean,
        "apply": _apply,
    }
)
_ACCEPTED = ", ".join(sorted(_COMMANDS))
_NO_PUSH = (
    "nothing leaves this machine from a run: commit, and the branch is published after the gates have passed"
)
_NO_REMOTE = "a run talks to no remote; what it may see is here already: git log, git diff, git show"
_NO_MOVE = "the branch and its history stay as they are; add commits with git commit"
_WHY_NOT: Mapping[str, str] = MappingProxyType(
    {
        **dict.fromkeys(
            ("push", "send-pack", "http-push", "send-email", "request-pull", "svn", "p4"), _NO_PUSH
        ),
        **dict.fromkeys(
            ("fetch", "pull", "clone", "ls-remote", "fetch-pack", "submodule", "archive", "lfs"), _NO_REMOTE
        ),
        **dict.fromkeys(
            (
                "rebase",
                "merge",
                "cherry-pick",
                "revert",
                "am",
                "switch",
                "update-ref",
                "filter-branch",
                "replace",
            ),
            _NO_MOVE,
        ),
        "stash": "work is not put aside; git stash list and show read, git commit keeps",
        "grep": "use grep or rg",
    }
)
PROGRAMS: Mapping[str, Policy] = MappingProxyType({"git": _git})
