"""Node and its package managers: scripts of an unchanged package.json, frozen restores, installed tools.

Must not accept a program on the command line, a package that is not in the lock file, or a publication.
"""

from __future__ import annotations

import posixpath
from types import MappingProxyType
from typing import TYPE_CHECKING

from autopilot.runner.guard.grammar import Word
from autopilot.runner.guard.policy.elsewhere import anywhere, both
from autopilot.runner.guard.policy.forms import Call, Form, Policy, one_of, refuse, same
from autopilot.runner.guard.policy.frameworks import run_script
from autopilot.runner.guard.policy.node_packages import LOOKING, MANAGERS, installed, run_named, run_test
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
    "--test-force-exit --throw-deprecation --expose-gc --import={tsx|tsx/esm} "
    "-r:{ts-node/register|tsx/cjs} --require={ts-node/register|tsx/cjs} --loader={ts-node/esm|tsx}",
    "text*",
    stops=True,
)


def _node(call: Call) -> None:
    given = _NODE.read(call)
    operands = given.operands
    if given.has("--test") or given.has("-c", "--check"):
        for word in operands:
            call.act.read(word)
        return
    if not operands and given.has("-v", "--version"):
        return
    if not operands or operands[0].text.startswith("-") or operands[0].text in {"inspect", "debug"}:
        raise Refused(
            "inline-program", "node: no program on the command line or standard input: put it into a test"
        )
    call.act.execute(operands[0])
    run_script(call, operands[0], operands[1:])


def _typescript(call: Call) -> None:
    """Judge a script of the repository in TypeScript."""
    operands = (
        Form("-T -P:read --transpile-only --project=read --esm --files --swc", "text*", stops=True)
        .read(call)
        .operands
    )
    if not operands or operands[0].text.startswith("-") or operands[0].text in {"repl", "watch"}:
        raise Refused("inline-program", f"{call.name}: no program on the command line or standard input")
    call.act.execute(operands[0])
    run_script(call, operands[0], operands[1:])


_NPM: Mapping[str, Policy] = MappingProxyType(
    {
        **same(run_test, "test", "t", "tst"),
        **same(run_named, "run", "run-script"),
        **same(
            Form(
                "--ignore-scripts --no-audit --no-fund --prefer-offline --offline --silent "
                "--omit=word --include=word --loglevel=word --no-progress -s --legacy-peer-deps",
                "",
            ),
            "ci",
            "clean-install",
        ),
        **same(LOOKING, "ls", "list", "ll", "explain", "why"),
        **same(Form("", ""), "--version", "-v", "root", "prefix", "bin"),
        "pkg": one_of({"get": Form("", "word*")}, "npm pkg in a run"),
    }
)


def _npx(call: Call) -> None:
    if call.args and call.args[0].text in {"--no-install", "--no"}:
        installed(call.after(1))
    elif call.args and call.args[0].text in TOOLS and call.args[0].pattern is None and _is_at_hand(call):
        installed(call)
    else:
        raise Refused("download", "npx may download what is not installed; accepted: npx --no-install TOOL")


def _is_at_hand(call: Call) -> bool:
    """Tell whether a tool is installed where npx looks first; then it asks no registry.

    Source: libnpmexec, `localFileExists`: node_modules/.bin, from the package's folder upwards.
    """
    act = call.act
    for folder in act.folders:
        if act.places.in_tmp(folder):
            return False
        ways = (*act.places.folders_above(folder), act.places.worktree)
        files = [posixpath.join(way, "node_modules", ".bin", call.args[0].text) for way in ways]
        there = next((file for file in files if act.places.is_file(file)), None)
        if there is None:
            return False
        act.tool(Word(there))
    return True


def _npm_exec(call: Call) -> None:
    """Judge `npm exec --no -- TOOL`."""
    if not call.args or call.args[0].text not in {"--no", "--no-install"}:
        raise Refused("download", "npm exec may download; accepted: npm exec --no -- TOOL")
    installed(call.after(1))


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
            call = call._replace(act=both(call.act, call.act.moved(call.args[1])))
        elif flags[call.args[0].text] or call.args[0].text in {"-ws", "--workspaces"}:
            call = call._replace(act=anywhere(call.act))
        call = call.after(1 + flags[call.args[0].text])
    one_of(
        {**_NPM, "exec": _npm_exec, "x": _npm_exec}, "what npm does in a run; packages are restored by npm ci"
    )(call)


PROGRAMS: Mapping[str, Policy] = MappingProxyType(
    {
        **TOOLS,
        **same(_node, "node", "nodejs"),
        **same(_typescript, "tsx", "ts-node"),
        "npm": _npm,
        "npx": _npx,
        **MANAGERS,
        **same(refuse("download", "it downloads a tool; accepted: npx --no-install TOOL"), "bunx", "pnpx"),
    }
)
