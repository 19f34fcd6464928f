"""Programs that reach out: curl and wget to a listed host without a body, gh where it only reads.

Must not accept a method but GET and HEAD, a body, a proxy, a resolver or a file of addresses. A redirect is
judged by the network's own list of hosts.
"""

from __future__ import annotations

import posixpath
import re
from types import MappingProxyType
from typing import TYPE_CHECKING

from autopilot.runner.guard.addresses import check_address
from autopilot.runner.guard.grammar import Word
from autopilot.runner.guard.policy.filters import check_filter
from autopilot.runner.guard.policy.forms import Call, Form, Policy, one_of, same
from autopilot.runner.guard.verdict import Refused

if TYPE_CHECKING:
    from collections.abc import Mapping

_CURL = Form(
    "-fsSiIvgNL -o:write -O -m:number -H:text -A:text -X:{GET|HEAD} -w:text -r:word -z:text --fail "
    "--silent --show-error --head --include "
    "--output=write --remote-name --max-time=number --connect-timeout=number --retry=number "
    "--retry-delay=number --compressed --header=text "
    "--user-agent=text --request={GET|HEAD} --write-out=text --range=word --get --verbose --globoff "
    "--no-progress-meter --location --no-location --max-redirs=number --proto={=https} "
    "--tlsv1.2 --tlsv1.3 --http1.1 --http2 --max-filesize=number --fail-with-body --url=text",
    "text*",
)
_HEADER = re.compile(
    r"(accept|accept-language|user-agent|range|if-none-match|if-modified-since|cache-control)\s*:[^@\n]*",
    re.IGNORECASE,
)
_WRITE_OUT = re.compile(r"(%\{[a-z_]+\}|\\n|\\t|[A-Za-z0-9 :.,_-])*")
_WGET = Form(
    "-qvSc -n:{v|c|d} -O:write --quiet --no-verbose --server-response --spider --timeout=number "
    "--tries=number -T:number -t:number --output-document=write "
    "-P:folder --directory-prefix=folder --no-clobber --header=text -U:text --user-agent=text "
    "--https-only --max-redirect=number --show-progress",
    "text+",
)


def _addresses(call: Call, words: list[Word]) -> None:
    if not words:
        raise Refused("operand-missing", f"{call.name} takes an address")
    for word in words:
        if word.pattern is not None:
            raise Refused("address-form", "put the address into '...'")
        check_address(word.text, call.act.context.hosts)


def _headers(words: list[Word]) -> None:
    for word in words:
        if not _HEADER.fullmatch(word.text):
            raise Refused(
                "header", "accepted headers: Accept, Accept-Language, User-Agent, Range, If-None-Match"
            )


def _curl(call: Call) -> None:
    given = _CURL.read(call)
    addresses = [*given.operands, *given.values("--url")]
    _addresses(call, addresses)
    _headers(given.values("-H", "--header"))
    for word in given.values("-w", "--write-out"):
        if not _WRITE_OUT.fullmatch(word.text) or "output{" in word.text or "header" in word.text:
            raise Refused("write-out", "curl -w prints %{http_code} and its kin")
    for word in given.values("-A", "--user-agent"):
        if word.text.startswith("@"):
            raise Refused("header", "no file is sent")
    if given.has("-O", "--remote-name"):
        for address in addresses:
            call.act.write(Word(posixpath.basename(address.text.partition("?")[0]) or "index.html"))


def _wget(call: Call) -> None:
    given = _WGET.read(call)
    _addresses(call, list(given.operands))
    _headers(given.values("--header"))
    if not given.has("-O", "--output-document", "--spider"):
        for address in given.operands:
            call.act.write(Word(posixpath.basename(address.text.partition("?")[0]) or "index.html"))


_JSON = "--json=word --jq=text -q:text --template=text"
_REPO = "-R:word --repo=text"
_LIST = Form(
    f"{_REPO} {_JSON} -L:number -s:word -l:text -a:word -S:text --limit=number --state=word "
    "--label=text --author=word --assignee=word --search=text --base=word "
    "--head=word -B:word -H:word -b:word --branch=word --milestone=text -w:text --workflow=text "
    "--status=word --event=word --user=word --commit=word --draft --exclude-drafts",
    "",
)
_VIEW = Form(
    f"{_REPO} {_JSON} -cv --comments --log --log-failed --verbose --exit-status -j:word --job=word "
    "--attempt=number --name-only --patch --color=word --required --watch-never",
    "word?",
)
_API = Form(
    "-i -X:{GET} -q:text -H:text --method={GET} --include --header=text --jq=text --paginate --slurp "
    "--cache=duration",
    "text",
)
_ENDPOINT = re.compile(
    r"/?repos/([A-Za-z0-9_.-]+|\{owner\})/([A-Za-z0-9_.-]+|\{repo\})"
    r"(/(issues|pulls|commits|compare|branches|tags|releases|labels|milestones|contributors|languages|topics"
    r"|readme|contents|git|comments|check-runs|check-suites|statuses|actions/(runs|jobs|workflows))(/[A-Za-z0-9_./-]*)?)?"
    r"(\?[A-Za-z0-9_=&.,:%+-]*)?"
)


_FILTER = re.compile(r"(?:-[A-Za-z]*?q|--jq=?)(.*)", re.DOTALL)


def _gh_api(call: Call) -> None:
    """Judge `gh api PATH`, which asks by GET where nothing is sent along. Source: gh-api(1)."""
    given = _API.read(call)
    _headers(given.values("-H", "--header"))
    path = given.operands[0]
    if (
        path.pattern is not None
        or ".." in path.text.split("?")[0].split("/")
        or not _ENDPOINT.fullmatch(path.text)
    ):
        raise Refused(
            "gh-api", "gh api reads issues, pulls, commits and their kin: gh api repos/OWNER/NAME/issues/3"
        )


_GH_READS: Mapping[str, Policy] = MappingProxyType(
    {
        "issue": one_of(
            {"list": _LIST, "view": _VIEW, "status": Form(f"{_REPO} {_JSON}", "")},
            "gh issue in a run: it reads",
        ),
        "pr": one_of(
            {
                "list": _LIST,
                "view": _VIEW,
                "status": Form(f"{_REPO} {_JSON}", ""),
                "diff": _VIEW,
                "checks": _VIEW,
            },
            "gh pr in a run: it reads",
        ),
        "run": one_of({"list": _LIST, "view": _VIEW}, "gh run in a run: it reads"),
        "workflow": one_of(
            {"list": Form(f"{_REPO} -a -L:number --all", ""), "view": Form(f"{_REPO} -y --yaml", "word?")},
            "gh workflow in a run: it reads",
        ),
        "release": one_of({"list": _LIST, "view": _VIEW}, "gh release in a run: it reads"),
        "label": one_of({"list": _LIST}, "gh label in a run: it reads"),
        "repo": one_of(
            {"view": Form(f"{_JSON} -b:word --branch=word", "text?")}, "gh repo in a run: it reads"
        ),
        "search": one_of(
            same(
                Form(
                    f"{_JSON} {_REPO} -L:number --limit=number --state=word --language=word --owner=word",
                    "text*",
                ),
                "issues",
                "prs",
                "code",
                "repos",
                "commits",
            ),
            "gh search",
        ),
        "api": _gh_api,
        "--version": Form("", ""),
    }
)


def _gh(call: Call) -> None:
    for index, word in enumerate(call.args):
        found = _FILTER.fullmatch(word.text)
        if found is not None:
            check_filter(found[1] or "".join(each.text for each in call.args[index + 1 : index + 2]))
    one_of(
        _GH_READS, "what gh does in a run: it reads; pull requests and comments are written after the gates"
    )(call)


_GLAB_ROW = Form(
    "-AacdMLo -P:number -p:number -F:word -l:text -R:word --all --closed --opened --merged --draft "
    "--comments --per-page=number --page=number --output=word --label=text --author=text "
    "--assignee=text --repo=word "
    "--search=text --source-branch=text --target-branch=text --raw --color=word",
    "word?",
)
_GLAB: Mapping[str, Policy] = MappingProxyType(
    {
        "issue": one_of(same(_GLAB_ROW, "list", "view"), "glab issue in a run: it reads"),
        "mr": one_of(same(_GLAB_ROW, "list", "view", "diff"), "glab mr in a run: it reads"),
        "ci": one_of(same(_GLAB_ROW, "list"), "glab ci in a run: it reads"),
        "release": one_of(same(_GLAB_ROW, "list", "view"), "glab release in a run: it reads"),
        **same(Form("", ""), "--version", "version"),
    }
)
PROGRAMS: Mapping[str, Policy] = MappingProxyType(
    {
        "curl": _curl,
        "wget": _wget,
        "gh": _gh,
        "glab": one_of(_GLAB, "what glab does in a run: it reads"),
    }
)
