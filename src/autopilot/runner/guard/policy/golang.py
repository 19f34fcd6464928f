"""The Go tools.

Must not accept an option that names a program (-exec, -toolexec, -vettool, -overlay) or a new module.
Source: `go help build`, `go help test`.
"""

from __future__ import annotations

from types import MappingProxyType
from typing import TYPE_CHECKING

from autopilot.runner.guard.policy.forms import Call, Form, Policy, one_of
from autopilot.runner.guard.verdict import Refused

if TYPE_CHECKING:
    from collections.abc import Mapping

_BOOL = "[={true|false}]"
_BUILD = (
    f"-v{_BOOL} -x{_BOOL} -n -a -race{_BOOL} -msan -cover -trimpath -tags=word "
    f"-mod={{readonly|vendor}} -p=number -C=read -buildvcs{_BOOL} -json -asan"
)
_TEST = (
    f"{_BUILD} -run=text -count=number -short{_BOOL} -timeout=word -bench=text -benchmem "
    "-benchtime=word -cover -covermode=word -coverpkg=text "
    "-coverprofile=write -failfast -parallel=number -cpu=word -skip=text -list=text -fuzz=text "
    "-fuzztime=word -shuffle=word -vet=word "
    "-test.v -test.run=text -cpuprofile=write -memprofile=write -fullpath"
)


def _packages(form: Form) -> Policy:
    """Judge by a row; operands are packages and files of the module, not addresses with a version."""

    def judge(call: Call) -> None:
        for word in form.read(call).operands:
            if "@" in word.text:
                raise Refused("version", f"{word.text!r}: no module is fetched by its version")
            call.act.read(word)

    return judge


def _mod(call: Call) -> None:
    name = call.args[0].text if call.args else ""
    if name not in {"download", "verify", "graph", "why"}:
        raise Refused("subcommand", "go mod download, verify, graph and why; go.mod is a manifest")
    _packages(Form("-x -json -m", "text*", is_single=True))(call.after(1))


def _env(call: Call) -> None:
    Form("-json", "word*", is_single=True).read(call)


_GO: Mapping[str, Policy] = MappingProxyType(
    {
        "build": _packages(Form(f"{_BUILD} -o=write", "text*", is_single=True)),
        "test": _packages(Form(_TEST, "text*", is_single=True)),
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


def _gofmt(call: Call) -> None:
    given = Form("-l -d -s -e -w", "read*", is_single=True).read(call)
    if given.has("-w"):
        for word in given.operands:
            call.act.rewrite(word)


PROGRAMS: Mapping[str, Policy] = MappingProxyType(
    {
        "go": one_of(_GO, "what go does in a run; go run and go generate execute what the run wrote"),
        "gofmt": _gofmt,
        "goimports": _gofmt,
        "staticcheck": _packages(Form("-checks=text -tests -f=word -tags=word", "text*", is_single=True)),
        "golangci-lint": one_of(
            {
                "run": Form(
                    "-v -c:read --fix --timeout=word --config=read --out-format=word --enable=word "
                    "--disable=word --fast --new-from-rev=rev --enable-only=word",
                    "read*",
                ),
                "version": Form("", ""),
                "linters": Form("", ""),
            },
            "golangci-lint in a run",
        ),
    }
)
