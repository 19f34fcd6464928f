"""Node and its package managers: scripts of an unchanged package.json, frozen restores, installed tools.

Must not accept a program on the command line, a package that is not in the lock file, or a publication.
"""

from __future__ import annotations

import re
from types import MappingProxyType
from typing import TYPE_CHECKING

from autopilot.runner.guard.grammar import Word
from autopilot.runner.guard.policy.forms import Call, Form, Policy, one_of, refuse, same
from autopilot.runner.guard.policy.frameworks import run_script
from autopilot.runner.guard.policy.node_tools import TOOLS
from autopilot.runner.guard.verdict import Refused

if TYPE_CHECKING:
    from collections.abc import Mapping

_NODE = Form(
    "-vc --version --check --test --test-only --test-name-pattern=text "
    "--test-reporter={spec|tap|dot|junit} --test-concurrency=number "
    "--test-timeout=number --test-skip-pattern=text --experimental-test-coverage "
    "--experimental-test-module-mocks --enable-source-maps "
    "--no-warnings --no-deprecation --trace-warnings --trace-uncaught --stack-trace-limit=number "
    "--max-old-space-size=number "
    "--unhandled-rejections=word --experimental-vm-modules --experimental-strip-types "
    "--test-force-exit --throw-deprecation --expose-gc",
    "text*",
    stops=True,
)
# A script's name says what it is for; these put something out into the world or install.
_SCRIPT = re.compile(
    r"(?!.*(publish|release|deploy|install|prepare|version|upload|push|ship|docker|login|postpack|prepack))[A-Za-z0-9_][A-Za-z0-9_:-]*",
    re.IGNORECASE,
)
_USUAL = re.compile(
    r"(test|tests|lint|build|check|checks|typecheck|type-check|types|tsc|format|fmt|prettier|eslint|jest|vitest|coverage|compile|unit|verify|validate)([:-][A-Za-z0-9:_-]+)?"
)


_LOADERS = frozenset(
    {
        "-e", "-r", "-p", "--eval", "--print", "--exec", "--require", "--import", "--loader", "--rulesdir",
        "--experimental-loader", "--node-options", "--plugin", "--resolve-plugins-relative-to", "--prefix",
        "--script-shell", "--userconfig", "--globalconfig", "--registry",
    }
)  # fmt: skip


def _node(call: Call) -> None:
    given = _NODE.read(call)
    operands = given.operands
    if given.has("--test") or given.has("-c", "--check"):
        for word in operands:
            call.act.read(word)
        return
    if not operands and given.has("-v", "--version"):
        return
    if not operands or operands[0].text in {"-", "inspect", "debug"}:
        raise Refused(
            "inline-program", "node: no program on the command line or standard input: put it into a test"
        )
    call.act.execute(operands[0])
    run_script(call, operands[0], operands[1:])


def _script(call: Call) -> None:
    """Judge `run NAME [words]`."""
    call.act.unchanged(("package.json", "makefile"), call.name)
    args = [
        word
        for word in call.args
        if word.text not in {"--silent", "-s", "--if-present", "--parallel", "--stream", "-w", "--workspaces"}
    ]
    if not args or args[0].text.startswith("-"):
        Form("--json", "").read(call._replace(args=tuple(args)))
        return
    name = args[0].text
    if not _SCRIPT.fullmatch(name) or args[0].pattern is not None:
        raise Refused("script-name", f"{call.name} {name}: scripts that test, check or build are run")
    _passed_on(call._replace(args=tuple(args[1:])))


def _test(call: Call) -> None:
    _script(call._replace(args=(Word("test"), *call.args)))


def _passed_on(call: Call) -> None:
    """Judge the words for a script: what they mean is its own affair, but they load no code."""
    for word in call.args:
        if word.text.partition("=")[0] in _LOADERS:
            raise Refused("inline-program", f"{word.text!r} would load code; put it into a test")
    Form("", "loose*").read(call._replace(args=(Word("--"), *call.args)))


def _needs(*words: str) -> Policy:
    """Judge a restore: it must say that the lock file stays as it is."""
    form = Form(
        "-rD --frozen-lockfile --immutable --immutable-cache --check-cache --offline --prefer-offline "
        "--prefer-frozen-lockfile "
        "--ignore-scripts --silent --non-interactive --no-progress --production --prod --dev "
        "--recursive --inline-builds --no-audit",
        "",
    )

    def judge(call: Call) -> None:
        if not form.read(call).has(*words):
            raise Refused(
                "not-frozen", f"{call.name} may change the lock file; accepted: {call.name} {words[0]}"
            )

    return judge


_LOOKING = Form("-alg --all --depth=number --json --long --parseable --prod --dev --recursive -r", "text*")
_NPM: Mapping[str, Policy] = MappingProxyType(
    {
        **same(_test, "test", "t", "tst"),
        **same(_script, "run", "run-script"),
        **same(
            Form(
                "--ignore-scripts --no-audit --no-fund --prefer-offline --offline --silent "
                "--omit=word --include=word --loglevel=word --no-progress -s --legacy-peer-deps",
                "",
            ),
            "ci",
            "clean-install",
        ),
        **same(_LOOKING, "ls", "list", "ll", "explain", "why"),
        **same(Form("", ""), "--version", "-v", "root", "prefix", "bin"),
        "pkg": one_of({"get": Form("", "word*")}, "npm pkg in a run"),
    }
)


def _managed(call: Call, commands: Mapping[str, Policy], *, flags: Mapping[str, int]) -> None:
    """Judge pnpm and yarn: their own commands, an installed tool, or a usual script by its name."""
    while call.args and call.args[0].text in flags:
        call = call.after(1 + flags[call.args[0].text])
    name = call.args[0].text if call.args else ""
    if name.startswith("--") and "install" in commands and name not in commands:
        commands["install"](call)  # both install when they are given no command
    elif name in commands:
        commands[name](call.after(1, f"{call.name} {name}"))
    elif name in TOOLS:
        TOOLS[name](call.after(1, name))
    elif _USUAL.fullmatch(name):
        _script(call)
    else:
        listed = ", ".join(sorted(commands))
        raise Refused(
            "subcommand",
            f"{call.name} {name} is not for a run; accepted: {listed}, and scripts such as test, lint, build",
        )


def _installed(call: Call) -> None:
    """Judge `exec TOOL`."""
    args = call.after(1).args if call.args and call.args[0].text == "--" else call.args
    name = args[0].text if args else ""
    if name not in TOOLS:
        raise Refused("program", f"{call.name} {name}: accepted are {', '.join(sorted(TOOLS))}")
    TOOLS[name](call._replace(name=name, args=args[1:]))


_PNPM: Mapping[str, Policy] = MappingProxyType(
    {
        **same(_test, "test", "t"),
        **same(_script, "run", "run-script"),
        **same(_needs("--frozen-lockfile"), "install", "i"),
        **same(_LOOKING, "ls", "list", "why"),
        "exec": _installed,
        "--version": Form("", ""),
        "-v": Form("", ""),
    }
)


def _workspace(call: Call) -> None:
    """Judge `yarn workspace NAME COMMAND`."""
    if len(call.args) < 2 or not _PACKAGE.fullmatch(call.args[0].text):
        raise Refused("operand-missing", "yarn workspace NAME run SCRIPT")
    if call.args[1].text in {"run", "test"}:
        (_script if call.args[1].text == "run" else _test)(call.after(2))
    elif _USUAL.fullmatch(call.args[1].text):
        _script(call.after(1))
    else:
        raise Refused("subcommand", "yarn workspace NAME run SCRIPT")


_PACKAGE = re.compile(r"@?[A-Za-z0-9_][A-Za-z0-9_./-]*")
_YARN: Mapping[str, Policy] = MappingProxyType(
    {
        "test": _test,
        "run": _script,
        "workspace": _workspace,
        "workspaces": one_of({"run": _script}, "yarn workspaces in a run"),
        "install": _needs("--immutable", "--frozen-lockfile"),
        **same(_LOOKING, "list", "why"),
        "--version": Form("", ""),
        "-v": Form("", ""),
    }
)
_BUN: Mapping[str, Policy] = MappingProxyType(
    {
        "test": Form(
            "-t:text --timeout=number --bail[=number] --coverage --only --todo --rerun-each=number", "read*"
        ),
        "run": _script,
        "build": refuse("bundler", "it bundles by itself; accepted: bun run build"),
        **same(_needs("--frozen-lockfile"), "install", "i"),
        "--version": Form("", ""),
        "-v": Form("", ""),
    }
)
_DENO: Mapping[str, Policy] = MappingProxyType(
    {
        "test": Form(
            "--no-check --filter=text --fail-fast[=number] --parallel --allow-read[=read] --no-lock "
            "--frozen --quiet -q --coverage[=write]",
            "read*",
        ),
        "lint": Form("--json --compact --quiet", "read*"),
        "fmt": Form("--check --quiet", "read*"),
        "check": Form("--quiet --frozen", "read+"),
        "--version": Form("", ""),
    }
)


def _npx(call: Call) -> None:
    if not call.args or call.args[0].text not in {"--no-install", "--no"}:
        raise Refused("download", "npx may download; accepted: npx --no-install TOOL")
    _installed(call.after(1))


def _npm(call: Call) -> None:
    flags = {
        "--silent": 0,
        "-s": 0,
        "--prefix": 1,
        "-w": 1,
        "--workspace": 1,
        "--workspaces": 0,
        "--no-color": 0,
        "-ws": 0,
    }
    while call.args and call.args[0].text in flags:
        if call.args[0].text == "--prefix" and len(call.args) > 1:
            call.act.read(call.args[1])
        call = call.after(1 + flags[call.args[0].text])
    one_of(_NPM, "what npm does in a run; packages are restored by npm ci")(call)


PROGRAMS: Mapping[str, Policy] = MappingProxyType(
    {
        **TOOLS,
        **same(_node, "node", "nodejs"),
        "npm": _npm,
        "npx": _npx,
        "pnpm": lambda call: _managed(
            call,
            _PNPM,
            flags={
                "-r": 0,
                "--recursive": 0,
                "--silent": 0,
                "-s": 0,
                "--filter": 1,
                "-F": 1,
                "-w": 0,
                "--workspace-root": 0,
            },
        ),
        "yarn": lambda call: _managed(call, _YARN, flags={"--silent": 0, "-s": 0}),
        "bun": lambda call: _managed(call, _BUN, flags={"--silent": 0}),
        "deno": one_of(_DENO, "what deno does in a run"),
        **same(refuse("download", "it downloads a tool; accepted: npx --no-install TOOL"), "bunx", "pnpx"),
    }
)
