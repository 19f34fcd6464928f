"""Programs that read files or their input and print: listing, showing, counting, comparing, small tests.

No row here may hold an option that writes a file (but `sort -o`), follows a list of files, or runs a program.
"""

from __future__ import annotations

import re
from types import MappingProxyType
from typing import TYPE_CHECKING

from autopilot.runner.guard.policy.filters import check_filter
from autopilot.runner.guard.policy.forms import Call, Form, Policy, same
from autopilot.runner.guard.policy.kinds import read
from autopilot.runner.guard.policy.refusals import WHY_NOT
from autopilot.runner.guard.verdict import Refused

if TYPE_CHECKING:
    from collections.abc import Mapping

_HASH = Form("-bctwq --binary --check --text --quiet --status --strict --tag", "read*")
_DUMP = Form("-abcdoxCv -A:word -t:word -N:number -j:number -n:number -s:number -w[:number]", "read?")
_PROGRAM = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.+-]*")
_WHEN = "{always|auto|never}"
_PLAIN_FILTER = re.compile(r"[A-Za-z0-9_.\[\]\"| -]+")


def _jq(call: Call) -> None:
    args = list(call.args)
    index = 0
    while index < len(args):
        if args[index].text in {"--arg", "--argjson", "--slurpfile", "--rawfile"}:
            for word in args[index + 2 : index + 3] if "file" in args[index].text else ():
                read(call.act, word)
            del args[index : index + 3]
        else:
            index += 1
    check_filter(_JQ.read(call._replace(args=tuple(args))).operands[0].text)


def _yq(call: Call) -> None:
    given = Form(
        "-rPMC -o:word -p:word --output-format=word --input-format=word --no-colors", "text read*"
    ).read(call)
    if not _PLAIN_FILTER.fullmatch(given.operands[0].text):
        raise Refused("filter", "a yq filter is a plain path, e.g. .jobs.build")


_JQ = Form(
    "-nrcesSjaMC --null-input --raw-output --compact-output --exit-status --slurp --sort-keys --join-output "
    "--ascii-output --monochrome-output --color-output --tab --indent=number --raw-input -R "
    "--raw-output0 --stream",
    "text read*",
)


def _test(call: Call) -> None:
    """Judge `test`: its operators name files only to look at them."""
    args = call.args
    if call.name == "[":
        if not args or args[-1].text != "]":
            raise Refused("bracket", "[ ends with ]")
        args = args[:-1]
    for word in args:
        if "[" in word.text or "$" in word.text:
            # `test -v 'a[$(x)]'` and `-eq` on such a text evaluate the index. Source: bash(1), ARRAYS.
            raise Refused("test-index", "no index in a test")
        if "/" in word.text or word.text.startswith("."):
            call.act.read(word)
        if word.text == "-v":
            raise Refused("test-variable", "test -v is not accepted")


def _printf(call: Call) -> None:
    if call.args and call.args[0].text.startswith("-"):
        raise Refused("printf", "printf takes a format and words: printf '%s\\n' one two")


def _command(call: Call) -> None:
    """Judge `command -v NAME`, which only looks; without it the shell would start the program."""
    texts = [word.text for word in call.args]
    if len(texts) != 2 or texts[0] not in {"-v", "-V"} or not _PROGRAM.fullmatch(texts[1]):
        raise Refused("program", f"{WHY_NOT['command']}; to look a program up: command -v NAME")


PROGRAMS: Mapping[str, Policy] = MappingProxyType(
    {
        "ls": Form(
            "-aAbBcCdfFgGhiklLmnNoopqQrRsStuUvwxXZ1 --all --almost-all --human-readable --recursive "
            "--reverse --size "
            f"--directory --inode --color[={_WHEN}] --sort=word --time=word --time-style=text "
            "--group-directories-first "
            "--full-time --classify --file-type -I:text --ignore=text --hide=text",
            "read*",
        ),
        "cat": Form("-AbeEnstTuv --number --number-nonblank --squeeze-blank --show-all --show-ends", "read*"),
        "head": Form(
            "-NUM -n:number -c:number -qvz --lines=number --bytes=number --quiet --verbose", "read*"
        ),
        "tail": Form(
            "-NUM -n:number -c:number -qvz --lines=number --bytes=number --quiet --verbose", "read*"
        ),
        "wc": Form("-clmLw --lines --words --bytes --chars --max-line-length", "read*"),
        "file": Form("-bhiLk --brief --mime --mime-type --mime-encoding --no-dereference", "read*"),
        "stat": Form("-Lft -c:text --format=text --printf=text --terse --dereference -x", "read*"),
        "diff": Form(
            "-NUM -abBdeEiNpqrsStTuUwyZ -U:number -C:number -W:number -x:text --unified[=number] "
            "--brief --recursive "
            "--context[=number] --side-by-side --ignore-all-space --ignore-space-change "
            "--ignore-blank-lines "
            f"--ignore-case --new-file --color[={_WHEN}] --exclude=text --strip-trailing-cr --text "
            "--width=number "
            "--suppress-common-lines --report-identical-files",
            "read read",
        ),
        "cmp": Form("-bls -n:number -i:number --silent --quiet --verbose", "read read"),
        "comm": Form("-123 --check-order --nocheck-order", "read read"),
        "du": Form(
            "-abcdhHkLmsSxl -d:number --max-depth=number --summarize --human-readable --all --total "
            "--apparent-size "
            "--exclude=text -t:number",
            "read*",
        ),
        "df": Form("-hHkTi --human-readable", "read*"),
        "tree": Form(
            "-adfhiFDpstugrnCASqQNJX -L:number -I:text -P:text --gitignore --dirsfirst --noreport "
            "--prune --du --filelimit=number",
            "read*",
        ),
        "which": Form("-a --all", "word+"),
        **same(
            _HASH,
            "md5sum",
            "sha1sum",
            "sha224sum",
            "sha256sum",
            "sha384sum",
            "sha512sum",
            "b2sum",
            "cksum",
            "sum",
        ),
        "shasum": Form("-bct -a:number --check", "read*"),
        "xxd": Form("-abCeEipu -c:number -g:number -l:number -o:number -s:number", "read?"),
        **same(_DUMP, "od", "hexdump", "hd"),
        "strings": Form("-a -n:number -t:word --all --bytes=number", "read*"),
        "sort": Form(
            "-bcCdfghiMmnrRsuVz -k:text -t:text -o:write -S:word --unique --reverse --numeric-sort "
            "--key=text "
            "--field-separator=text --output=write --human-numeric-sort --version-sort --ignore-case "
            "--stable --check "
            "--zero-terminated --general-numeric-sort --sort=word --parallel=number",
            "read*",
        ),
        "uniq": Form(
            "-cdDiuz -f:number -s:number -w:number --count --repeated --unique --ignore-case", "read?"
        ),
        "cut": Form(
            "-nsz -b:text -c:text -d:text -f:text --bytes=text --characters=text --delimiter=text "
            "--fields=text "
            "--only-delimited --complement --output-delimiter=text",
            "read*",
        ),
        "tr": Form("-cCdst --complement --delete --squeeze-repeats --truncate-set1", "text text?"),
        "nl": Form("-b:text -n:word -s:text -w:number -v:number -i:number", "read*"),
        **same(Form("", "read*"), "tac", "rev"),
        "paste": Form("-sz -d:text --delimiters=text --serial", "read*"),
        "join": Form("-i -1:number -2:number -t:text -a:number -o:text -v:number", "read read"),
        "column": Form("-txen -s:text -c:number -o:text -N:text --table --separator=text", "read*"),
        "fold": Form("-bs -w:number --width=number --spaces", "read*"),
        "fmt": Form("-cstu -w:number --width=number", "read*"),
        **same(Form("-i -t:number --initial --tabs=number --all", "read*"), "expand", "unexpand"),
        "jq": _jq,
        "yq": _yq,
        "basename": Form("-az -s:text --multiple --suffix=text --zero", "text+"),
        "dirname": Form("-z --zero", "text+"),
        "realpath": Form("-emqsz --relative-to=read --canonicalize-missing --canonicalize-existing", "read+"),
        "readlink": Form("-efmnqz --canonicalize", "read+"),
        "echo": lambda _call: None,
        "printf": _printf,
        "test": _test,
        "[": _test,
        **same(Form("", ""), "true", "false", "nproc", "arch"),
        ":": Form("", "text*"),
        "pwd": Form("-LP", ""),
        "expr": Form("", "text+"),
        "shuf": Form("-n:number -e -r -i:word --head-count=number", "read*"),
        **same(Form("-hmg --human", ""), "free", "uptime", "lscpu", "locale"),
        "xmllint": Form("--noout --format --nonet --xpath=text --schema=read --recover", "read+"),
        **same(Form("--color --no-color", ""), "xcpretty", "xcbeautify"),
        **same(Form("", ""), "whoami", "hostname"),
        "type": Form("-apt", "word+"),
        "command": _command,
        "sleep": Form("", "number"),
        "exit": Form("", "number?"),
        "seq": Form("-w -s:text -f:text --equal-width --separator=text", "number number? number?"),
        "date": Form(
            "-uIR -d:text --date=text --utc -I[:word] --iso-8601[=word] --rfc-3339=word -r:read", "date?"
        ),
        "uname": Form("-amnrspiov", ""),
        "base64": Form("-di -w:number --decode --wrap=number", "read?"),
        **same(Form("", "read+"), "zcat", "bzcat", "xzcat"),
        "iconv": Form("-f:word -t:word -c --from-code=word --to-code=word", "read*"),
    }
)
