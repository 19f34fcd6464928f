"""Programs that search: grep, ripgrep, find, fd.

No row may hold an option that runs a program, writes, deletes, or follows links out of the worktree.
"""

from __future__ import annotations

from types import MappingProxyType
from typing import TYPE_CHECKING

from autopilot.runner.guard.policy.forms import Call, Form, Policy, same
from autopilot.runner.guard.policy.kinds import kind
from autopilot.runner.guard.verdict import Refused

if TYPE_CHECKING:
    from collections.abc import Mapping

_WHEN = "{always|auto|never|ansi}"
_GREP_OPTIONS = (
    "-NUM -abcEFGhHiIlLnNoPqrRsTuUvVwxyzZ -A:number -B:number -C:number -m:number -D:word -d:word "
    "--after-context=number --before-context=number --context=number --max-count=number --color[={0}] "
    "--colour[={0}] "
    "--include=sieve --exclude=text --exclude-dir=text --recursive --dereference-recursive "
    "--line-number --count "
    "--files-with-matches --files-without-match --ignore-case --no-ignore-case --invert-match --word-regexp "
    "--line-regexp --extended-regexp --fixed-strings --perl-regexp --basic-regexp --only-matching "
    "--quiet --silent "
    "--no-messages --no-filename --with-filename --text --null --null-data --byte-offset --binary-files=word "
    "--initial-tab --label=text --line-buffered"
).replace("{0}", _WHEN)
_PATTERNS = "-e:text -f:read --regexp=text --file=read"
_RG_OPTIONS = (
    "-NUM -acFHhiIlnNoPpqsSuUvwx0. -A:number -B:number -C:number -m:number -g:sieve -t:word -T:word "
    "-r:text -d:number "
    "-M:number -j:number --after-context=number --before-context=number --context=number --max-count=number "
    "--glob=sieve --iglob=sieve --type=word --type-not=word --type-list --type-add=text --replace=text "
    "--max-depth=number "
    "--max-columns=number --max-filesize=word --threads=number --ignore-case --smart-case --case-sensitive "
    "--fixed-strings --word-regexp --line-regexp --invert-match --count --count-matches --files-with-matches "
    "--files-without-match --line-number --no-line-number --no-heading --heading --no-filename "
    "--with-filename "
    "--only-matching --quiet --hidden --no-hidden --no-ignore --no-ignore-vcs --no-ignore-parent "
    "--no-messages "
    "--multiline --multiline-dotall --pcre2 --text --null --pretty --color={0} --colors=text --column "
    "--byte-offset "
    "--trim --json --stats --vimgrep --passthru --sort=word --sortr=word --engine=word --crlf "
    "--no-config --binary "
    "--unrestricted --glob-case-insensitive --sort-files --context-separator=text --path-separator=text "
    "--field-match-separator=text --debug"
).replace("{0}", _WHEN)


def _searcher(options: str) -> Policy:
    """Judge by a row: the first operand is the pattern, unless an option gave it."""
    with_pattern = Form(f"{options} {_PATTERNS}", "text read*")
    without = Form(f"{options} {_PATTERNS}", "read*")

    def judge(call: Call) -> None:
        words = [word.text for word in call.args]
        words = words[: words.index("--")] if "--" in words else words
        starts = ("-e", "-f", "--regexp", "--file")
        is_given = any(word.startswith(starts) and not word.startswith("--files") for word in words)
        (without if is_given or "--files" in words or "--type-list" in words else with_pattern).read(call)

    return judge


def _each(names: str, value: str | None) -> dict[str, str | None]:
    return dict.fromkeys(names.split(), value)


# What each part of an expression takes; None: nothing. Source: find(1).
_FIND: Mapping[str, str | None] = MappingProxyType(
    {
        **_each("-name -iname -path -ipath -wholename -iwholename -regex -iregex -lname", "text"),
        **_each("-newermt -perm -printf -regextype", "text"),
        **_each("-maxdepth -mindepth -mtime -mmin -atime -amin -ctime -cmin -size -links -inum", "number"),
        **_each("-type -xtype -user -group -fstype", "word"),
        **_each("-newer -anewer -cnewer -samefile", "read"),
        **_each("-print -print0 -ls -not -a -and -o -or ! ( ) , -prune -quit -empty -executable", None),
        **_each("-readable -writable -depth -mount -xdev -true -false -daystart -nouser -nogroup", None),
    }
)


def _find(call: Call) -> None:
    words = list(call.args)
    while words and words[0].text in {"-P", "-E", "-H", "-O1", "-O2", "-O3"}:
        words.pop(0)
    while words and not words[0].text.startswith(("-", "(", "!")):
        call.act.read(words.pop(0))
    while words:
        name = words.pop(0).text
        if name not in _FIND:
            raise Refused(
                "find",
                f"find does not take {name!r} here: it may look and print (-name, -type, -path, "
                "-newer, -print ...), "
                "not run, delete or write; use its output in a further command",
            )
        wanted = _FIND[name]
        if wanted is not None:
            if not words:
                raise Refused("value-missing", f"find {name} needs a value")
            kind(wanted)(call.act, words.pop(0))


_FD = Form(
    "-HIsiFapl0 -t:word -e:word -d:number -E:text -g --hidden --no-ignore --glob --fixed-strings --type=word "
    f"--extension=word --max-depth=number --exclude=text --absolute-path --full-path --color={_WHEN} "
    "--print0",
    "text? read*",
)
PROGRAMS: Mapping[str, Policy] = MappingProxyType(
    {
        **same(_searcher(_GREP_OPTIONS), "grep", "egrep", "fgrep"),
        "rg": _searcher(_RG_OPTIONS + " --files"),
        "find": _find,
        **same(_FD, "fd", "fdfind"),
    }
)
