"""Test runners and checkers of further languages: OCaml, Perl, Bash, Lua, Crystal, Clojure, Julia, R.

Must not accept a program on the command line, a file of orders that the run wrote, or a publication.
"""

from __future__ import annotations

import re
from types import MappingProxyType
from typing import TYPE_CHECKING

from autopilot.runner.guard.policy.elsewhere import anywhere
from autopilot.runner.guard.policy.forms import Call, Form, Policy, one_of
from autopilot.runner.guard.policy.frameworks import run_script
from autopilot.runner.guard.policy.outward import TASK, check_task
from autopilot.runner.guard.verdict import Refused

if TYPE_CHECKING:
    from collections.abc import Mapping


def _steered(policy: Policy, *files: str) -> Policy:
    """Judge a tool that goes by a file of the project, which is the base commit's."""

    def judge(call: Call) -> None:
        call.act.unchanged(files, call.name)
        policy(call)

    return judge


def _script(options: str) -> Policy:
    """Judge an interpreter: a script of the repository that the run did not write."""
    form = Form(options, "text*", stops=True)

    def judge(call: Call) -> None:
        operands = form.read(call).operands
        if not operands or operands[0].text.startswith("-"):
            raise Refused("inline-program", f"{call.name} takes a script of the repository")
        call.act.execute(operands[0])
        run_script(call, operands[0], operands[1:])

    return judge


_CLJ = re.compile(r"-[MX]((?::[A-Za-z0-9_-]+)+)")
_CLJ_RUNNERS = frozenset({"kaocha", "eftest", "clj-kondo", "cljfmt", "eastwood", "kibit", "cloverage"})
_CLJ_SETTINGS = frozenset({"dev"})


def _clj(call: Call) -> None:
    """Judge `clj -M:test`: aliases of deps.edn that test, of which the last is the one that is started.

    Where it says nothing of what to start, one before it does: so each has to say that it tests.
    Source: https://clojure.org/reference/clojure_cli - of `:main-opts` and of `:exec-fn` the last is used.
    """
    found = _CLJ.fullmatch(call.args[0].text) if len(call.args) == 1 else None
    names = found[1].split(":")[1:] if found else ["none"]
    fits = [TASK.fullmatch(name) is not None or name in _CLJ_RUNNERS for name in names]
    if not fits[-1] or not all(fit or name in _CLJ_SETTINGS for fit, name in zip(fits, names, strict=True)):
        raise Refused(
            "clojure", f"{call.name} -M:test or -M:dev:kaocha: aliases of deps.edn that test, check or build"
        )
    check_task(call.name, call.args[0])


_DUNE = Form("-j:number --profile=word --display=word --no-buffer --force --auto-promote", "text*")


def _dune(call: Call) -> None:
    for word in _DUNE.read(call).operands:
        check_task(call.name, word)
        if ".." in word.text or word.text.startswith("/"):
            raise Refused("operand", f"{word.text!r} leads outside")


_WASM = (
    "-d:{folder} -t:word --target=word --dev --release --profiling --out-dir={folder} --out-name=word "
    "--no-pack --no-typescript"
)


def _wasm_build(call: Call) -> None:
    """Judge `wasm-pack build [CRATE]`, which puts what it builds into a folder below the crate."""
    crates = Form(_WASM.replace("{folder}", "text"), "read?").read(call).operands
    act = call.act.moved(crates[0]) if crates else anywhere(call.act)
    Form(_WASM.replace("{folder}", "folder"), "text?").read(call._replace(act=act))


PROGRAMS: Mapping[str, Policy] = MappingProxyType(
    {
        "dune": _steered(
            one_of(
                {"build": _dune, "test": _dune, "runtest": _dune, "--version": Form("", "")}, "dune in a run"
            ),
            "dune",
            "dune-project",
            "dune-workspace",
        ),
        "prove": _steered(
            Form(
                "-lbvrwQqfc -j:number -I:read --lib --blib --verbose --recurse --jobs=number --color "
                "--nocolor --timer --failures --shuffle",
                "read*",
            ),
            ".proverc",
        ),
        "bats": Form(
            "-rtpT -f:text -j:number --filter=text --filter-tags=text --recursive --tap --pretty --timing "
            "--jobs=number --count --print-output-on-failure --verbose-run "
            "--formatter={pretty|tap|tap13|junit}",
            "read+",
        ),
        "busted": _steered(
            Form(
                "-vsc -o:{plainTerminal|utfTerminal|TAP|json|junit|gtest} -t:text -p:text --verbose "
                "--coverage --output={plainTerminal|utfTerminal|TAP|json|junit|gtest} --tags=text "
                "--filter=text --pattern=text --no-keep-going --shuffle",
                "read*",
            ),
            ".busted",
        ),
        "luacheck": _steered(
            Form("-qa --quiet --codes --no-color --std=word --formatter={default|TAP|JUnit|plain}", "read+"),
            ".luacheckrc",
        ),
        "crystal": one_of(
            {
                "spec": Form(
                    "-v -e:text -l:number --verbose --no-color --error-trace --fail-fast --order=word "
                    "--tag=text --example=text --line=number --release",
                    "read*",
                ),
                "tool": one_of({"format": Form("--check --no-color", "rewrite*")}, "crystal tool in a run"),
                "--version": Form("", ""),
            },
            "crystal in a run",
        ),
        "clj": _steered(_clj, "deps.edn"),
        "clojure": _steered(_clj, "deps.edn"),
        "julia": _script("--project[=read] --color={yes|no|auto} --startup-file={no}"),
        "Rscript": _script("--vanilla --no-environ --no-init-file"),
        "wasm-pack": one_of(
            {
                "test": Form("--node --release --dev --headless --chrome --firefox --safari", "read?"),
                "build": _wasm_build,
                "--version": Form("", ""),
            },
            "wasm-pack in a run",
        ),
        "trunk": _steered(
            one_of(
                {"build": Form("-d:folder --release --dist=folder", "")},
                "trunk in a run",
            ),
            "trunk.toml",
        ),
    }
)
