"""The tools that a JavaScript project installs, by their options.

Must not hold an option that loads code from outside the worktree or starts a server.
"""

from __future__ import annotations

from types import MappingProxyType
from typing import TYPE_CHECKING

from autopilot.runner.guard.policy.forms import Call, Form, Policy, one_of, same
from autopilot.runner.guard.policy.node_builders import BUILDERS

if TYPE_CHECKING:
    from collections.abc import Mapping

_BOOL = "{true|false}"
_TESTER = (
    "-twibuvR -t:text -g:text -f:text -w:number --testNamePattern=text --test-name-pattern=text "
    "--grep=text --fgrep=text --invert "
    f"--watch[={_BOOL}] --watchAll[={_BOOL}] --ci[={_BOOL}] --coverage[={_BOOL}] --run --no-watch "
    f"--silent[={_BOOL}] --verbose[={_BOOL}] --bail[=number] "
    "--runInBand --maxWorkers=word --passWithNoTests --updateSnapshot --update --testPathPattern=text "
    "--testPathPatterns=text "
    "--testPathIgnorePatterns=text --forceExit --detectOpenHandles --detectLeaks --onlyChanged "
    "--onlyFailures --changedSince=word --json --listTests --showConfig --colors "
    "--no-color --color --no-coverage --no-cache --clearCache "
    "--reporter={default|verbose|dot|json|junit|tap|spec|basic|list|line|min|progress} "
    "--reporters={default|verbose|dot|json|junit} --project=word --selectProjects=word "
    "--timeout=number --retries=number --exit --parallel --recursive "
    "--findRelatedTests --testTimeout=number --typecheck --dir=read --root=read --rootDir=read "
    "--config=settings --changed[=word] --shard=text "
    "--runTestsByPath --collectCoverageFrom=text --coverageReporters=word --coverageThreshold=text -o "
    "--no-threads --no-file-parallelism --pool=word --max-warnings=number --fix --ext=word --quiet "
    "--noEmit --check --no-bail --version --workers=number --filter=word"
)
_TSC = (
    "-pbwv -p:read --noEmit --project=read --build --pretty[={true|false}] "
    "--skipLibCheck[={true|false}] --strict[={true|false}] --incremental[={true|false}] --listFiles "
    "--listEmittedFiles --traceResolution --showConfig --version --outDir=folder --target=word "
    "--module=word --moduleResolution=word --jsx=word "
    "--esModuleInterop --declaration --emitDeclarationOnly --noEmitOnError --diagnostics "
    "--extendedDiagnostics --lib=word --noUnusedLocals "
    "--noUnusedParameters --allowJs --checkJs --types=word --verbose --dry --force "
    "--resolveJsonModule --tsBuildInfoFile=write"
)
_ESLINT = (
    "-q -f:word -c:settings --ext=word --fix --fix-dry-run --quiet --max-warnings=number "
    "--format={stylish|json|compact|unix|html|junit} --no-eslintrc "
    "--config=settings --ignore-path=read --ignore-pattern=text --no-ignore --cache --no-cache "
    "--cache-location=write --rule=text --report-unused-disable-directives "
    "--no-error-on-unmatched-pattern --color --no-color --no-inline-config --debug --version "
    "--env=word --print-config=read --no-warn-ignored --fix-type=word -o:write --output-file=write"
)
_PRETTIER = (
    "-clwu --check --write --list-different --config=settings --ignore-path=read --no-config "
    "--single-quote --print-width=number --tab-width=number "
    "--parser=word --ignore-unknown --loglevel=word --log-level=word --no-error-on-unmatched-pattern "
    "--no-semi --trailing-comma=word --cache --version --no-color --prose-wrap=word"
)


def _rewrites(options: str, *flags: str) -> Policy:
    """Judge a tool that rewrites its operands when a flag says so."""
    form = Form(options, "read*")

    def judge(call: Call) -> None:
        given = form.read(call)
        if given.has(*flags):
            for word in given.operands:
                call.act.rewrite(word)

    return judge


def _biome(call: Call) -> None:
    args = (
        call.after(1).args
        if call.args and call.args[0].text in {"check", "lint", "format", "ci"}
        else call.args
    )
    Form(
        "--write --apply --fix --unsafe --reporter=word --max-diagnostics=word --changed --staged "
        "--no-errors-on-unmatched --colors=word --version --error-on-warnings",
        "read*",
    ).read(call._replace(args=args))


def _vitest(call: Call) -> None:
    args = call.after(1).args if call.args and call.args[0].text in {"run", "related", "list"} else call.args
    _TEST_FORM.read(call._replace(args=args))


_TEST_FORM = Form(_TESTER, "read*")
TOOLS: Mapping[str, Policy] = MappingProxyType(
    {
        **BUILDERS,
        **same(Form(_TSC, "read*"), "tsc", "vue-tsc", "tsgo"),
        "eslint": _rewrites(_ESLINT, "--fix"),
        "prettier": _rewrites(_PRETTIER, "-w", "--write"),
        "jest": _TEST_FORM,
        "vitest": _vitest,
        "mocha": Form(_TESTER.replace("--config=settings", ""), "read*"),
        "ava": Form(
            "-vmTs -m:text --match=text --verbose --serial --timeout=word --tap --fail-fast -u "
            "--update-snapshots",
            "read*",
        ),
        "tap": Form("-g:text --grep=text --bail --timeout=number --reporter=word -R:word", "read*"),
        "biome": _biome,
        "stylelint": _rewrites(
            "-f:word --fix --formatter=word --config=settings --ignore-path=read --max-warnings=number "
            "--quiet --allow-empty-input",
            "--fix",
        ),
        "standard": _rewrites("--fix --verbose", "--fix"),
        "oxlint": _rewrites("--fix --quiet --deny-warnings --format=word -D:word -A:word", "--fix"),
        "depcheck": Form("--json --ignores=text", "read?"),
        "cspell": Form("--no-progress --quiet --words-only", "text*"),
        "commitlint": Form("-V --from=rev --to=rev --last --verbose", ""),
        "astro": one_of({"check": Form("", ""), "build": Form("", "")}, "astro in a run"),
        "typedoc": Form("--out=folder --json=write", "read*"),
        "tailwindcss": Form("-i:read -o:write --input=read --output=write --minify", ""),
        "babel": Form("-d:folder --out-dir=folder --extensions=text --source-maps", "read+"),
        "changeset": one_of({"status": Form("--verbose --since=rev", "")}, "changeset in a run"),
        "tsd": Form("", "read?"),
        "madge": Form("--circular --extensions=word --json --ts-config=settings --warning", "read+"),
        "knip": Form("--production --strict --no-progress --reporter=word", ""),
        "svelte-check": Form(
            "--tsconfig=settings --output=word --threshold=word --fail-on-warnings --no-tsconfig", ""
        ),
        "markdownlint": _rewrites("-f -c:settings --fix --config=settings --ignore=text", "--fix", "-f"),
    }
)
