"""The Go tools.

Must not accept an option that names a program (-exec, -toolexec, -vettool, -overlay) or a new module.
Source: `go help build`, `go help test`.
"""

from __future__ import annotations

import re
from types import MappingProxyType
from typing import TYPE_CHECKING

from autopilot.runner.guard.grammar import Word
from autopilot.runner.guard.policy.forms import Call, Form, Policy, one_of, same
from autopilot.runner.guard.policy.outward import check_program
from autopilot.runner.guard.verdict import Refused

if TYPE_CHECKING:
    from collections.abc import Mapping

_BOOL = "[={true|false}]"
_BUILD = (
    f"-v{_BOOL} -x{_BOOL} -n -a -race{_BOOL} -msan -cover -trimpath -tags=word "
    f"-mod={{readonly|vendor}} -ldflags=ldflags -gcflags=gcflags "
    f"-p=number -buildvcs{_BOOL} -json -asan"
)
_TEST = (
    f"{_BUILD} -run=text -count=number -short{_BOOL} -timeout=word -bench=text -benchmem "
    "-benchtime=word -cover -covermode=word -coverpkg=text "
    "-coverprofile=write -failfast -parallel=number -cpu=word -skip=text -list=text -fuzz=text "
    "-fuzztime=word -shuffle=word -vet=word "
    "-test.v -test.run=text -cpuprofile=write -memprofile=write -fullpath -c -o=folder -update"
)


def _packages(form: Form) -> Policy:
    """Judge by a row; operands are packages and files of the module, not addresses with a version."""

    def judge(call: Call) -> None:
        for word in form.read(call).operands:
            if "@" in word.text:
                raise Refused("version", f"{word.text!r}: no module is fetched by its version")
            call.act.read(word)

    return judge


def _tested(form: Form) -> Policy:
    """Judge `go test`; what follows -args is for the test binary."""

    def judge(call: Call) -> None:
        texts = [word.text for word in call.args]
        cut = texts.index("-args") if "-args" in texts else len(texts)
        _packages(form)(call._replace(args=call.args[:cut]))
        Form("", "loose*").read(call._replace(args=(Word("--"), *call.args[cut + 1 :])))

    return judge


def _mod(call: Call) -> None:
    name = call.args[0].text if call.args else ""
    if [word.text for word in call.args] in (["tidy", "-diff"], ["edit", "-json"]):
        return
    if name not in {"download", "verify", "graph", "why"}:
        raise Refused("subcommand", "go mod download, verify, graph and why; go.mod is a manifest")
    _packages(Form("-x -json -m", "text*", is_single=True))(call.after(1))


def _env(call: Call) -> None:
    Form("-json", "word*", is_single=True).read(call)


_RUN = Form(_BUILD, "text+", is_single=True, stops=True)


def _run(call: Call) -> None:
    """Judge `go run`: packages or files of the base commit, and words for the program."""
    call.act.unchanged(("*.go",), call.name)
    words = list(_RUN.read(call).operands)
    packages = [words.pop(0)]
    while packages[0].text.endswith(".go") and words and words[0].text.endswith(".go"):
        packages.append(words.pop(0))
    for word in packages:
        if not word.text.endswith(".go") and not word.text.startswith("."):
            raise Refused("version", f"{word.text!r}: go run takes a folder or files of the module, ./cmd/x")
        call.act.execute(word)
        check_program("go run", word.text)
    Form("", "loose*").read(call._replace(args=(Word("--"), *words)))


_GO: Mapping[str, Policy] = MappingProxyType(
    {
        "build": _packages(Form(f"{_BUILD} -o=folder", "text*", is_single=True)),
        "help": Form("", "word?"),
        "test": _tested(Form(_TEST, "text*", is_single=True)),
        "run": _run,
        "vet": _packages(Form(f"{_BUILD}", "text*", is_single=True)),
        "fmt": _packages(Form("-n -x", "text*", is_single=True)),
        "list": _packages(
            Form(
                "-m -f=text -json -deps -test -e -find -u -tags=word -mod={readonly|vendor}",
                "text*",
                is_single=True,
            )
        ),
        "doc": Form("-all -src -short -u -c", "text*", is_single=True),
        "version": Form("-m -v", "read*", is_single=True),
        "env": _env,
        "mod": _mod,
        "clean": Form("-cache -testcache -i -r -n", "", is_single=True),
        "tool": one_of(
            {"cover": Form("-func=read -html=read -o=write -mode=word", "", is_single=True)},
            "go tool in a run",
        ),
    }
)


_LIST = "what go does in a run; go generate executes what the run wrote"
_MOVED = re.compile(r"--?C(=.*)?", re.DOTALL)


def _go(call: Call) -> None:
    """Judge go; a -C stands first behind the subcommand, and all else is read from its folder.

    Source: `go help build`, -C dir.
    """
    words = call.args
    found = _MOVED.fullmatch(words[1].text) if len(words) > 1 else None
    if found is not None:
        is_joined = found[1] is not None
        if not is_joined and len(words) == 2:
            raise Refused("value-missing", "go -C needs a folder")
        folder = words[1].tail(words[1].text.index("=") + 1) if is_joined else words[2]
        args = (words[0], *words[2 if is_joined else 3 :])
        call = call._replace(args=args, act=call.act.moved(folder))
    one_of(_GO, _LIST)(call)


def _gotestsum(call: Call) -> None:
    texts = [word.text for word in call.args]
    cut = texts.index("--") if "--" in texts else len(texts)
    form = Form(
        "-f:word --format=word --junitfile=write --packages=text --no-color --rerun-fails[=number]", "read*"
    )
    form.read(call._replace(args=call.args[:cut]))
    _GO["test"](call._replace(args=call.args[cut + 1 :]))


def _gofmt(call: Call) -> None:
    given = Form("-l -d -s -e -w", "read*", is_single=True).read(call)
    if given.has("-w"):
        for word in given.operands:
            call.act.rewrite(word)


PROGRAMS: Mapping[str, Policy] = MappingProxyType(
    {
        "go": _go,
        "gofmt": _gofmt,
        "goimports": _gofmt,
        "gotestsum": _gotestsum,
        "mockgen": Form("-source=read -destination=write -package=word", "", is_single=True),
        "buf": one_of(
            {
                **same(Form("", "read?"), "lint", "build"),
                "format": Form("-dw --diff --write --exit-code", "rewrite*"),
            },
            "buf in a run",
        ),
        "staticcheck": _packages(Form("-checks=text -tests -f=word -tags=word", "text*", is_single=True)),
        "golangci-lint": one_of(
            {
                "run": Form(
                    "-v -c:settings --fix --timeout=word --config=settings --out-format=word --enable=word "
                    "--disable=word --fast --new-from-rev=rev --enable-only=word",
                    "read*",
                ),
                "fmt": Form("-d --diff", "rewrite*"),
                "version": Form("", ""),
                "linters": Form("", ""),
            },
            "golangci-lint in a run",
        ),
    }
)
