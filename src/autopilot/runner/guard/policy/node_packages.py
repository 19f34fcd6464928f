"""The package managers of Node beside npm, and what a script of package.json may be given.

Must not accept a package that is not in the lock file, a publication, or a script that puts something out.
"""

from __future__ import annotations

import re
from types import MappingProxyType
from typing import TYPE_CHECKING

from autopilot.runner.guard.grammar import Word
from autopilot.runner.guard.policy.elsewhere import ELSEWHERE, anywhere, of_package, passed_on
from autopilot.runner.guard.policy.forms import Call, Form, Policy, one_of, refuse, same
from autopilot.runner.guard.policy.node_tools import TOOLS
from autopilot.runner.guard.policy.outward import TASK, check_task
from autopilot.runner.guard.verdict import Refused

if TYPE_CHECKING:
    from collections.abc import Mapping

# A script's name says what it is for; these put something out into the world or install.
_SCRIPT = re.compile(
    r"(?!.*(publish|release|deploy|install|prepare|version|upload|push|ship|docker|login|postpack|prepack))[A-Za-z0-9_][A-Za-z0-9_:-]*",
    re.IGNORECASE,
)


_USUAL = re.compile(
    r"(test|tests|lint|build|check|checks|typecheck|type-check|types|tsc|format|fmt|prettier|eslint|jest|vitest|coverage|compile|unit|verify|validate)([:-][A-Za-z0-9:_-]+)?"
)


def run_named(call: Call) -> None:
    """Judge `run NAME [words]`."""
    is_elsewhere = any(word.text.partition("=")[0] in ELSEWHERE for word in call.args)
    call = call._replace(act=anywhere(call.act) if is_elsewhere else of_package(call.act))
    call.act.unchanged(("package.json", "makefile"), call.name)
    args = [
        word
        for word in call.args
        if word.text
        not in {
            "--silent",
            "-s",
            "--if-present",
            "--parallel",
            "--stream",
            "-w",
            "--workspaces",
            "-r",
            "--recursive",
        }
    ]
    if not args or args[0].text.startswith("-"):
        Form("--json", "").read(call._replace(args=tuple(args)))
        return
    name = args[0].text
    if not _SCRIPT.fullmatch(name) or args[0].pattern is not None:
        raise Refused("script-name", f"{call.name} {name}: scripts that test, check or build are run")
    check_task(call.name, args[0])
    passed_on(call._replace(args=tuple(args[1:])))


def run_test(call: Call) -> None:
    run_named(call._replace(args=(Word("test"), *call.args)))


def _needs(*words: str) -> Policy:
    """Judge a restore: it must say that the lock file stays as it is."""
    form = Form(
        "-rD --frozen-lockfile --immutable --immutable-cache --check-cache --offline --prefer-offline "
        "--prefer-frozen-lockfile "
        "--ignore-scripts --silent --non-interactive --no-progress --production --prod --dev "
        "--recursive --inline-builds --no-audit --check",
        "",
    )

    def judge(call: Call) -> None:
        if not form.read(call).has(*words):
            raise Refused(
                "not-frozen", f"{call.name} may change the lock file; accepted: {call.name} {words[0]}"
            )

    return judge


LOOKING = Form("-alg --all --depth=number --json --long --parseable --prod --dev --recursive -r", "text*")


_FOLDER_FLAGS = frozenset({"-C", "--dir"})


def _managed(call: Call, commands: Mapping[str, Policy], *, flags: Mapping[str, int]) -> None:
    """Judge pnpm and yarn: their own commands, an installed tool, or a usual script by its name."""
    while call.args and (flag := call.args[0].text.partition("=")[0]) in flags:
        is_joined = "=" in call.args[0].text
        if flag in _FOLDER_FLAGS and not is_joined and len(call.args) > 1:
            call = call._replace(act=call.act.moved(call.args[1]))
        elif flag in _FOLDER_FLAGS or (is_joined and not flags[flag]):
            break
        elif flag in ELSEWHERE:
            call = call._replace(act=anywhere(call.act))
        call = call.after(1 if is_joined else 1 + flags[flag])
    name = call.args[0].text if call.args else ""
    if name.startswith("--") and "install" in commands and name not in commands:
        commands["install"](call)  # both install when they are given no command
    elif name in commands:
        commands[name](call.after(1, f"{call.name} {name}"))
    elif name in TOOLS:
        TOOLS[name](call.after(1, name))
    elif _USUAL.fullmatch(name):
        run_named(call)
    else:
        listed = ", ".join(sorted(commands))
        raise Refused(
            "subcommand",
            f"{call.name} {name} is not for a run; accepted: {listed}, and scripts such as test, lint, build",
        )


def installed(call: Call) -> None:
    """Judge `exec TOOL`."""
    args = call.after(1).args if call.args and call.args[0].text == "--" else call.args
    name = args[0].text if args else ""
    if name not in TOOLS:
        raise Refused("program", f"{call.name} {name}: accepted are {', '.join(sorted(TOOLS))}")
    TOOLS[name](call._replace(name=name, args=args[1:]))


_PNPM: Mapping[str, Policy] = MappingProxyType(
    {
        **same(run_test, "test", "t"),
        **same(run_named, "run", "run-script"),
        **same(_needs("--frozen-lockfile"), "install", "i"),
        **same(LOOKING, "ls", "list", "why"),
        "exec": installed,
        "--version": Form("", ""),
        "-v": Form("", ""),
    }
)


_PACKAGE = re.compile(r"@?[A-Za-z0-9_][A-Za-z0-9_./-]*")


def _workspace(call: Call) -> None:
    """Judge `yarn workspace NAME COMMAND`."""
    if len(call.args) < 2 or not _PACKAGE.fullmatch(call.args[0].text):
        raise Refused("operand-missing", "yarn workspace NAME run SCRIPT")
    call = call._replace(act=anywhere(call.act))
    if call.args[1].text in {"run", "test"}:
        (run_named if call.args[1].text == "run" else run_test)(call.after(2))
    elif _USUAL.fullmatch(call.args[1].text):
        run_named(call.after(1))
    else:
        raise Refused("subcommand", "yarn workspace NAME run SCRIPT")


def _foreach(call: Call) -> None:
    """Judge `yarn workspaces foreach -A run NAME`."""
    args = list(call.args)
    while args and args[0].text in {"-A", "-R", "-W", "-p", "-t", "-v", "-pt", "-pA", "-Apt", "-pi", "--all"}:
        args.pop(0)
    if not args or args[0].text != "run":
        raise Refused("subcommand", "yarn workspaces foreach -A run SCRIPT")
    run_named(call._replace(args=tuple(args[1:]), act=anywhere(call.act)))


_YARN: Mapping[str, Policy] = MappingProxyType(
    {
        "test": run_test,
        "run": run_named,
        "workspace": _workspace,
        "workspaces": one_of({"run": run_named, "foreach": _foreach}, "yarn workspaces in a run"),
        "dedupe": _needs("--check"),
        "install": _needs("--immutable", "--frozen-lockfile"),
        **same(LOOKING, "list", "why"),
        "--version": Form("", ""),
        "-v": Form("", ""),
    }
)


_BUN: Mapping[str, Policy] = MappingProxyType(
    {
        "test": Form(
            "-t:text --timeout=number --bail[=number] --coverage --only --todo --rerun-each=number", "read*"
        ),
        "run": run_named,
        "build": refuse("bundler", "it bundles by itself; accepted: bun run build"),
        **same(_needs("--frozen-lockfile"), "install", "i"),
        "--version": Form("", ""),
        "-v": Form("", ""),
    }
)


def _deno_task(call: Call) -> None:
    call.act.unchanged(("deno.json", "deno.jsonc"), call.name)
    args = call.after(1).args if call.args and call.args[0].text in {"-q", "--quiet"} else call.args
    if args and not TASK.fullmatch(args[0].text):
        raise Refused("script-name", f"{call.name} {args[0].text}: tasks that test, check or build are run")
    run_named(call._replace(args=args))


_DENO: Mapping[str, Policy] = MappingProxyType(
    {
        "test": Form(
            "--no-check --filter=text --fail-fast[=number] --parallel --allow-read[=read] --no-lock "
            "--frozen --quiet -q --coverage[=folder]",
            "read*",
        ),
        "task": _deno_task,
        "lint": Form("--json --compact --quiet", "read*"),
        "fmt": Form("--check --quiet", "read*"),
        "check": Form("--quiet --frozen", "read+"),
        "--version": Form("", ""),
    }
)


_PNPM_FLAGS: Mapping[str, int] = {
    "-r": 0, "--recursive": 0, "--silent": 0, "-s": 0, "-w": 0, "--workspace-root": 0,
    "--filter": 1, "-F": 1, "--dir": 1, "-C": 1,
}  # fmt: skip
MANAGERS: Mapping[str, Policy] = MappingProxyType(
    {
        "pnpm": lambda call: _managed(call, _PNPM, flags=_PNPM_FLAGS),
        "yarn": lambda call: _managed(call, _YARN, flags={"--silent": 0, "-s": 0}),
        "bun": lambda call: _managed(call, _BUN, flags={"--silent": 0}),
        "deno": one_of(_DENO, "what deno does in a run"),
    }
)
