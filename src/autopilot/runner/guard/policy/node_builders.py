"""Bundlers, frameworks and runners of workspaces that a JavaScript project installs.

Must not accept what starts a server, publishes, deploys or changes a database.
"""

from __future__ import annotations

import re
from types import MappingProxyType
from typing import TYPE_CHECKING

from autopilot.runner.guard.grammar import Word
from autopilot.runner.guard.policy.elsewhere import anywhere, passed_on
from autopilot.runner.guard.policy.forms import Call, Form, Policy, one_of, same
from autopilot.runner.guard.policy.outward import check_task
from autopilot.runner.guard.verdict import Refused

if TYPE_CHECKING:
    from collections.abc import Mapping

# What a target of a workspace is called when it tests, checks or builds; `project:target:configuration` too.
_TARGET = re.compile(
    r"(@?[A-Za-z0-9_/-]+[:#])?(test|tests|lint|build|check|typecheck|type-check|format|compile|coverage|unit|e2e)"
    r"([:-][A-Za-z0-9:_-]+)?"
)
_NX = Form(
    "-t:text --target=text --targets=text --all --projects=text --project=word --configuration=word -c:word "
    "--parallel[=number] --skip-nx-cache --base=rev --head=rev --exclude=text --verbose --output-style=word "
    "--watch={false}",
    "text*",
)
_TURBO = Form(
    "--filter=text --force --no-cache --concurrency=word --continue --only --affected --output-logs=word",
    "text*",
)
_LERNA = Form("--scope=text --stream --since[=rev] --concurrency=number --no-bail --parallel", "text")
_BUNDLE = (
    "-c[:settings] --config[=settings] --mode=word -m:word --env=word --sourcemap --minify --silent "
    "--logLevel=word --outDir=folder --out-dir=folder -d:folder --dts --clean --no-clean --format=word "
    "--emptyOutDir --progress --profile"
)
_NG = Form(
    "-c:word --configuration=word --watch={true|false} --browsers=word --code-coverage --no-watch "
    "--no-progress --fix",
    "word?",
)
_PLAYWRIGHT = Form(
    "-g:text --grep=text --project=text --reporter={list|line|dot|json|junit} --workers=word "
    "--retries=number "
    "--config=settings -c:settings --list --last-failed --update-snapshots --trace=word",
    "read*",
)
_CYPRESS = Form("--spec=read --browser=word --component --e2e --headless --quiet --config-file=settings", "")
_ESBUILD = Form(
    "--bundle --outfile=write --outdir=folder --platform=word --format=word --target=word --minify "
    "--sourcemap",
    "read+",
)
_SCHEMA = "--schema=read --check"


_WIRING = ("package.json", "nx.json", "project.json", "turbo.json", "lerna.json")
"""What says which program a target of a workspace starts."""


def _to_tasks(call: Call) -> Call:
    """Judge what stands behind `--`, for a program of some package, and give the rest of the call."""
    texts = [word.text for word in call.args]
    cut = texts.index("--") if "--" in texts else len(texts)
    passed_on(call._replace(args=call.args[cut + 1 :], act=anywhere(call.act)))
    return call._replace(args=call.args[:cut])


def _targets(form: Form) -> Policy:
    """Judge by a row, and by the names of all that is to be run."""

    def judge(call: Call) -> None:
        call.act.unchanged(_WIRING, call.name)
        given = form.read(_to_tasks(call))
        named = [*given.values("-t", "--target", "--targets"), *given.operands]
        if not named:
            raise Refused("target", f"{call.name}: name a target that tests, checks or builds")
        for word in named:
            check_task(call.name, word)
            if not all(_TARGET.fullmatch(name) for name in word.text.split(",")):
                raise Refused("target", f"{call.name} {word.text}: targets that test, check or build are run")

    return judge


def _turbo(call: Call) -> None:
    """Judge `turbo run TASK...`; a task is run by its name alone too."""
    is_run = bool(call.args) and call.args[0].text == "run"
    if not is_run and not (call.args and _TARGET.fullmatch(call.args[0].text)):
        raise Refused("subcommand", "turbo run test, lint or build")
    _targets(_TURBO)(call.after(1 if is_run else 0))


def _nx(call: Call) -> None:
    name = call.args[0].text if call.args else ""
    if name in {"run", "run-many", "affected"}:
        _targets(_NX)(call.after(1))
    elif not _TARGET.fullmatch(name):
        raise Refused("target", f"nx {name}: nx test, lint or build PROJECT; nx run-many -t test")
    else:
        call.act.unchanged(_WIRING, call.name)
        check_task(call.name, call.args[0])
        words = _NX.read(_to_tasks(call.after(1))).operands[1:]
        passed_on(call._replace(args=words, act=anywhere(call.act)))


def _vite(call: Call) -> None:
    """Judge `vite build [ROOT]`, which puts what it builds into a folder below its root."""
    roots = Form(_BUNDLE.replace("=folder", "=text").replace(":folder", ":text"), "read?").read(call).operands
    act = call.act.moved(roots[0]) if roots else call.act
    Form(_BUNDLE, "text?").read(call._replace(act=act))


_STORYBOOK = Form(
    "-o:folder -c:read --output-dir=folder --config-dir=read --quiet --docs --test --disable-telemetry "
    "--loglevel=word",
    "",
)
_CODEGEN = Form("-c:settings --config=settings --check --silent -sve --verbose --errors-only", "")


def _storybook(call: Call) -> None:
    for name in ("main.js", "main.ts", "main.cjs", "main.mjs", "preview.js", "preview.ts"):
        call.act.unmade(Word(f".storybook/{name}"))
    _STORYBOOK.read(call)


def _codegen(call: Call) -> None:
    """Judge what writes the files that its own file names."""
    call.act.unchanged(("package.json", "codegen.ts", "codegen.js", "codegen.yml", "codegen.yaml"), call.name)
    call.act.unchanged((".graphqlrc", ".graphqlrc.yml", ".graphqlrc.ts", "graphql.config.js"), call.name)
    _CODEGEN.read(call)


BUILDERS: Mapping[str, Policy] = MappingProxyType(
    {
        "nx": _nx,
        "turbo": _turbo,
        "lerna": one_of({"run": _targets(_LERNA), "ls": Form("-la --json", "")}, "lerna in a run"),
        "next": one_of(
            {
                "build": Form("--no-lint --debug --profile", "read?"),
                "lint": Form("--fix --quiet --dir=read", ""),
            },
            "next in a run",
        ),
        "vite": one_of({"build": _vite}, "vite in a run"),
        "webpack": Form(_BUNDLE, "{build}?"),
        "rollup": Form(_BUNDLE, "read*"),
        "tsup": Form(_BUNDLE, "read*"),
        "esbuild": _ESBUILD,
        "storybook": one_of({"build": _storybook}, "storybook in a run"),
        "graphql-codegen": _codegen,
        "ng": one_of(same(_NG, "test", "build", "lint"), "ng in a run"),
        "prisma": one_of(same(Form(_SCHEMA, ""), "validate", "format", "generate"), "prisma in a run"),
        "playwright": one_of({"test": _PLAYWRIGHT}, "playwright in a run"),
        "cypress": one_of({"run": _CYPRESS, "verify": Form("", "")}, "cypress in a run"),
    }
)
