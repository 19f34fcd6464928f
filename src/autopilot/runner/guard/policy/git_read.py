"""The commands of git that only read.

No row may hold an option that writes a file (--output), runs a program (--ext-diff, --textconv, -O, %G) or
asks a remote. Source: the pages of git's commands.
"""

from __future__ import annotations

import re
from types import MappingProxyType
from typing import TYPE_CHECKING

from autopilot.runner.guard.grammar import Word
from autopilot.runner.guard.policy.forms import Call, Form, Given, Policy, one_of, same
from autopilot.runner.guard.verdict import Refused

if TYPE_CHECKING:
    from collections.abc import Mapping

_WHEN = "{always|auto|never}"
_DIFF = (
    "-puswbaRDzW -M[:word] -C[:word] -B[:word] -U:number -S:text -G:text -l:number -X[:word] --patch "
    "--no-patch --raw --patch-with-stat --stat[=word] "
    "--numstat --shortstat --dirstat[=word] --summary --name-only --name-status --cached --staged "
    "--merge-base "
    f"--color[={_WHEN}] --no-color --word-diff[=word] --color-words[=text] --word-diff-regex=text "
    "--unified=number "
    "--minimal --patience --histogram --diff-algorithm=word --ignore-all-space --ignore-space-change "
    "--ignore-space-at-eol --ignore-blank-lines --ignore-cr-at-eol --find-renames[=word] "
    "--find-copies[=word] "
    "--no-renames --diff-filter=word --check --exit-code --quiet --text --binary --full-index "
    "--abbrev[=number] "
    "--function-context --inter-hunk-context=number --relative[=read] --no-relative --no-ext-diff "
    "--no-textconv "
    "--compact-summary --no-prefix --src-prefix=text --dst-prefix=text --submodule[=word] "
    "--ignore-submodules[=word] "
    "--stat-width=number --stat-count=number --pickaxe-all --pickaxe-regex --color-moved[=word] "
    "--no-color-moved "
    "--indent-heuristic --irreversible-delete --ws-error-highlight=word --find-object=rev "
    "--no-indent-heuristic"
)
_LOG = (
    "-NUM -n:number -i -E -F -g -c -m -L:text --max-count=number --skip=number --oneline --graph "
    "--all --branches[=text] "
    "--tags[=text] --remotes[=text] --decorate[=word] --no-decorate --abbrev-commit "
    "--no-abbrev-commit --format=text "
    "--pretty[=text] --date=text --since=text --until=text --after=text --before=text --author=text "
    "--committer=text "
    "--grep=text --all-match --invert-grep --merges --no-merges --first-parent --reverse --follow "
    "--topo-order "
    "--date-order --author-date-order --ancestry-path --left-right --cherry-pick --cherry-mark --cherry "
    "--boundary --simplify-by-decoration --full-history --walk-reflogs --no-walk --relative-date "
    "--parents --children "
    "--regexp-ignore-case --extended-regexp --fixed-strings --perl-regexp --no-notes --source --expand-tabs "
    "--no-expand-tabs --min-parents=number --max-parents=number --cc --combined-all-paths --diff-merges=word"
)
_LINES = re.compile(
    r"(?:[0-9]+|/[^/]+/|:[A-Za-z0-9_.]+|\^:[A-Za-z0-9_.]+)(?:,(?:[+-]?[0-9]+|/[^/]+/))?(?::(?P<path>.+))?"
)


def _checked(form: Form) -> Policy:
    """Judge by a row, and look into formats and line ranges, which hold more than text."""

    def judge(call: Call) -> None:
        given = form.read(call)
        _check_format(given)
        for word in given.values("-L"):
            found = _LINES.fullmatch(word.text)
            if found is None:
                raise Refused("git-lines", "lines are -L 10,20:FILE or -L :FUNCTION:FILE")
            if found["path"]:
                call.act.read(Word(found["path"]))

    return judge


def _check_format(given: Given) -> None:
    for word in given.values("--format", "--pretty", "--sort"):
        if "%G" in word.text or "signature" in word.text:
            raise Refused("git-format", "a format does not ask for signatures (%G), which runs a program")


_GREP = (
    "-NUM -iIlLnwWvEFGPchHopqr -A:number -B:number -C:number -e:text -m:number --cached --untracked "
    "--ignore-case --line-number "
    "--name-only --files-with-matches --files-without-match --count --word-regexp --heading --break "
    "--show-function "
    "--function-context --and --or --not --all-match --column --max-depth=number --extended-regexp "
    "--fixed-strings "
    f"--perl-regexp --color[={_WHEN}] --no-color --context=number --only-matching --full-name --quiet "
    "--max-count=number"
)


def _grep(call: Call) -> None:
    has_pattern = any(word.text == "-e" for word in call.args)
    Form(_GREP, "tracked*" if has_pattern else "text tracked*").read(call)


_BRANCH_QUESTIONS = ("--contains", "--no-contains", "--merged", "--no-merged")


def _branch(call: Call) -> None:
    given = Form(
        "-alrvi --all --list --remotes --verbose --show-current --no-abbrev --abbrev=number "
        f"--color[={_WHEN}] --no-color "
        "--column --no-column --sort=word --format=text --contains[=rev] --no-contains[=rev] "
        "--merged[=rev] --no-merged[=rev] "
        "--points-at=rev --ignore-case",
        "text*",
    ).read(call)
    _check_format(given)
    is_listing = given.has("-l", "--list")
    if given.operands and not is_listing and not given.has(*_BRANCH_QUESTIONS):
        raise Refused("git-branch", "a run has its branch and makes no other; git branch --list shows")


def _tag(call: Call) -> None:
    given = Form(
        "-l -n[:number] --list --sort=word --format=text --contains=rev --merged=rev --points-at=rev", "text*"
    ).read(call)
    _check_format(given)
    if given.operands and not given.has("-l", "--list"):
        raise Refused("git-tag", "a run makes no tags; git tag --list shows")


def _config(call: Call) -> None:
    words = [word.text for word in call.args if word.text not in {"--local", "get"}]
    words = words[1:] if words[:1] == ["--get"] else words
    if len(words) != 1 or not re.fullmatch(
        r"(user|core|init|diff|color|merge)\.[A-Za-z]+|remote\.[A-Za-z0-9_-]+\.url", words[0]
    ):
        raise Refused(
            "git-config",
            "the configuration is not changed, and read one name at a time: git config --get user.name",
        )


def _symbolic_ref(call: Call) -> None:
    given = Form("-q --short --quiet", "rev").read(call)
    if len(given.operands) != 1:
        raise Refused("git-symbolic-ref", "git symbolic-ref HEAD shows; nothing is moved")


def _remote(call: Call) -> None:
    words = [word.text for word in call.args]
    if words not in ([], ["-v"], ["--verbose"], ["show"]) and not (
        words[:1] == ["get-url"] and len(words) == 2
    ):
        raise Refused("git-remote", "remotes are listed (git remote -v), not changed or asked")


def _reflog(call: Call) -> None:
    if call.args and call.args[0].text == "show":
        call = call.after(1)
    elif call.args and call.args[0].text in {"expire", "delete", "drop", "write", "exists"}:
        raise Refused("git-reflog", "the reflog is shown, not changed")
    _checked(Form(f"{_DIFF} {_LOG}", "tracked*"))(call)


_STASH = one_of(
    {
        "list": _checked(Form(f"{_DIFF} {_LOG}", "")),
        "show": _checked(Form(f"{_DIFF} --include-untracked --only-untracked", "rev?")),
    },
    "what a run may do with a stash: work is not put aside, git commit keeps it",
)


def _diff(call: Call) -> None:
    if any(word.text == "--no-index" for word in call.args):
        args = tuple(word for word in call.args if word.text != "--no-index")
        _checked(Form(_DIFF, "read read"))(call._replace(args=args))
        return
    _checked(Form(_DIFF, "tracked*"))(call)


def _format_patch(call: Call) -> None:
    """Judge `git format-patch --stdout`; without that word it writes files of its own naming."""
    given = Form("-NUM --stdout --no-stat -N -k --keep-subject --no-numbered", "rev*").read(call)
    if not given.has("--stdout"):
        raise Refused("git-format-patch", "git format-patch only shows: git format-patch --stdout A..B")


READING: Mapping[str, Policy] = MappingProxyType(
    {
        "status": Form(
            "-sbvz -u[:word] --short --branch --porcelain[=word] --long --verbose --show-stash "
            "--untracked-files[=word] --ignored[=word] "
            "--no-renames --find-renames[=word] --ahead-behind --no-ahead-behind --column --no-column",
            "read*",
        ),
        "diff": _diff,
        "cherry": Form("-v --abbrev=number", "rev*"),
        "format-patch": _format_patch,
        "log": _checked(Form(f"{_DIFF} {_LOG}", "tracked*")),
        "show": _checked(Form(f"{_DIFF} {_LOG}", "tracked*")),
        "whatchanged": _checked(Form(f"{_DIFF} {_LOG}", "tracked*")),
        "shortlog": _checked(
            Form("-nsec --numbered --summary --email --since=text --until=text --no-merges", "tracked*")
        ),
        "blame": _checked(
            Form(
                "-wbceflnpstCM -L:text --date=text --show-name --show-number --show-email --porcelain "
                "--line-porcelain --root "
                "--since=text --abbrev=number --first-parent",
                "tracked+",
            )
        ),
        "annotate": _checked(Form("-L:text", "tracked+")),
        "rev-parse": Form(
            "-q --short[=number] --abbrev-ref[=word] --show-toplevel --show-prefix --show-cdup "
            "--git-dir --git-common-dir "
            "--is-inside-work-tree --is-bare-repository --is-shallow-repository --verify --quiet "
            "--symbolic-full-name --symbolic "
            "--absolute-git-dir --revs-only --show-object-format",
            "rev*",
        ),
        "rev-list": _checked(Form(f"{_LOG} --count --objects", "tracked+")),
        "merge-base": Form("-a --all --is-ancestor --octopus --independent --fork-point", "rev+"),
        "ls-files": Form(
            "-cdmosuztvkfi -x:text --cached --deleted --modified --others --stage --unmerged --killed "
            "--ignored "
            "--exclude=text --exclude-standard --error-unmatch --full-name --deduplicate --directory "
            "--no-empty-directory --eol --abbrev",
            "read*",
        ),
        "ls-tree": Form(
            "-drtlz --name-only --name-status --full-name --full-tree --long --abbrev", "rev read*"
        ),
        "cat-file": Form("-epst --batch-check[=text]", "rev? rev?"),
        "var": Form("", "{GIT_AUTHOR_IDENT|GIT_COMMITTER_IDENT|GIT_DEFAULT_BRANCH}"),
        "notes": one_of(same(Form("", "rev?"), "list", "show"), "what a run may do with notes"),
        "sparse-checkout": one_of({"list": Form("", "")}, "what a run may do with a sparse checkout"),
        "describe": Form(
            "--all --tags --long --always --abbrev=number --dirty[=word] --match=text --exact-match "
            "--contains --first-parent",
            "rev*",
        ),
        "name-rev": Form("--name-only --tags --always", "rev+"),
        "diff-tree": _checked(
            Form(f"{_DIFF} -rtmc --no-commit-id --root --format=text --pretty[=text]", "tracked+")
        ),
        "diff-index": _checked(Form(f"{_DIFF} -m", "tracked+")),
        "diff-files": _checked(Form(_DIFF, "tracked*")),
        "for-each-ref": _checked(
            Form(
                "--format=text --sort=word --count=number --contains=rev --merged=rev --points-at=rev",
                "text*",
            )
        ),
        "show-ref": Form(
            "-dqs --heads --tags --branches --head --verify --hash[=number] --abbrev[=number]", "text*"
        ),
        "show-branch": Form("-ar --all --remotes --current --list", "rev*"),
        "range-diff": Form(f"{_DIFF} --creation-factor=number", "rev+"),
        "symbolic-ref": _symbolic_ref,
        "check-ignore": Form("-vnq --verbose --quiet --no-index --non-matching", "read+"),
        "check-attr": Form("-a --all", "text+"),
        "count-objects": Form("-vH --verbose --human-readable", ""),
        "grep": _grep,
        "branch": _branch,
        "tag": _tag,
        "config": _config,
        "remote": _remote,
        "reflog": _reflog,
        "stash": _STASH,
        "version": Form("--build-options", ""),
        "worktree": one_of(
            {"list": Form("-v --porcelain --verbose", "")}, "what a run may do with worktrees"
        ),
    }
)
