"""The tools of Python projects, by their options: pytest, ruff, mypy and their kin.

Must not hold an option that loads a plugin by name or a configuration from outside the worktree.
"""

from __future__ import annotations

import re
from types import MappingProxyType
from typing import TYPE_CHECKING

from autopilot.runner.guard.policy.forms import Call, Form, Policy, one_of, refuse, same
from autopilot.runner.guard.policy.kinds import kind
from autopilot.runner.guard.policy.sessions import sessions
from autopilot.runner.guard.verdict import Refused

if TYPE_CHECKING:
    from collections.abc import Mapping

_PYTEST = Form(
    "-NUM -xvqlsh -k:text -m:text -n:word -r:word -p:text -o:text -c:settings -W:warning --co --collect-only "
    "--maxfail=number "
    "--lf --last-failed --ff --failed-first --nf --new-first --sw --stepwise --stepwise-skip "
    "--tb=word --durations=number "
    "--durations-min=number --no-header --no-summary --showlocals --no-showlocals --capture=word "
    "--strict-markers "
    "--strict-config --strict --verbose --quiet --exitfirst --cov[=read] --cov-report=text "
    "--cov-fail-under=number "
    "--cov-branch --cov-append --no-cov --cov-config=settings --cov-reset --ignore=read "
    "--ignore-glob=text --deselect=text "
    "--rootdir=read --confcutdir=read --basetemp=text --junitxml=write --junit-xml=write "
    "--junit-prefix=word --dist=word --numprocesses=word "
    "--timeout=number --timeout-method=word --color=word --import-mode=word --setup-show --setup-plan "
    "--setup-only "
    "--fixtures --markers --version --help --cache-clear --cache-show[=text] --runxfail --runslow --slow "
    "--log-level=word --log-cli-level=word --log-cli-format=text --asyncio-mode=word "
    "--randomly-seed=word --random-order "
    "--doctest-modules --doctest-glob=text --doctest-continue-on-failure --disable-warnings "
    "--disable-pytest-warnings "
    "--count=number --reruns=number --reruns-delay=number --snapshot-update --keyword=text "
    "--full-trace --assert=word --pythonwarnings=warning "
    "--continue-on-collection-errors --benchmark-skip --benchmark-only --benchmark-disable --forked "
    "--show-capture=word --override-ini=text "
    "--hypothesis-seed=number --hypothesis-show-statistics --config-file=settings --ds=module --reuse-db "
    "--create-db --no-migrations --nomigrations "
    "--html=write --self-contained-html --integration --e2e --run-slow --run-integration --update-goldens "
    "--last-failed-no-failures=word --headed --browser=word --force-regen --live",
    "read*",
)
_SAFE_INI = re.compile(
    r"(addopts=|log_cli=|log_cli_level=|log_level=|console_output_style=|xfail_strict=|asyncio_mode=|markers=)[A-Za-z0-9_]*"
)
_MODULES = re.compile(r"no:[A-Za-z0-9_.-]+")
_KNOWN_PLUGINS = frozenset({"pytest_cov", "xdist", "pytest_asyncio", "anyio", "pytester"})
_REPORT = re.compile(
    r"(term|term-missing|skip-covered|term:skip-covered|term-missing:skip-covered|annotate|)|(xml|html|json|lcov)(:(?P<path>.+))?"
)


def _pytest(call: Call) -> None:
    given = _PYTEST.read(call)
    for word in given.values("-p"):
        if not _MODULES.fullmatch(word.text) and word.text not in _KNOWN_PLUGINS:
            raise Refused("pytest-plugin", "pytest -p only switches off: -p no:cacheprovider")
    for word in given.values("-o", "--override-ini"):
        if not _SAFE_INI.fullmatch(word.text):
            raise Refused(
                "pytest-setting", "pytest -o sets log_cli, log_level, xfail_strict or an empty addopts"
            )
    for word in given.values("--cov-report"):
        found = _REPORT.fullmatch(word.text)
        if found is None:
            raise Refused(
                "coverage-report", "--cov-report is term, term-missing, xml or html, with a file inside"
            )
        if found["path"]:
            call.act.write_into(word.tail(found.start("path")))
    for word in given.values("--basetemp"):
        if not call.act.is_in_tmp(word):
            raise Refused(
                "basetemp", f"--basetemp is emptied first: name a folder below {call.act.places.tmp}"
            )


_RUFF = Form(
    "-qvse --check --diff --fix --no-fix --unsafe-fixes --no-unsafe-fixes --show-fixes --select=word "
    "--ignore=word --extend-select=word --extend-ignore=word "
    "--exclude=text --extend-exclude=text --line-length=number --target-version=word "
    "--output-format=word --statistics --preview --no-preview "
    "--no-cache --quiet --verbose --silent --exit-zero --exit-non-zero-on-fix --fixable=word "
    "--unfixable=word --config=settings "
    "--stdin-filename=read --force-exclude --respect-gitignore --isolated "
    "--per-file-ignores=text --add-noqa --show-files --show-settings --version",
    "read*",
)


def _ruff(call: Call) -> None:
    if call.args and call.args[0].text in {"check", "format", "rule", "linter", "version"}:
        if call.args[0].text == "rule":
            Form("--all", "word*").read(call.after(1))
            return
        _RUFF.read(call.after(1))
        return
    if len(call.args) == 1 and call.args[0].text == "--version":
        return
    raise Refused("subcommand", "ruff check PATH or ruff format PATH")


_MYPY = Form(
    "-pvn -p:module -m:module --strict --no-error-summary --pretty --show-error-codes "
    "--hide-error-codes --show-error-context "
    "--show-column-numbers --ignore-missing-imports --follow-imports=word --python-version=word "
    "--platform=word --package=module --module=module "
    "--config-file=settings --cache-dir=text --no-incremental --exclude=text --check-untyped-defs "
    "--disallow-untyped-defs --warn-unused-ignores "
    "--warn-return-any --warn-unreachable --no-implicit-optional --namespace-packages "
    "--explicit-package-bases --install-types-never "
    "--disable-error-code=word --enable-error-code=word --no-color-output --color-output "
    "--no-site-packages --version --verbose --disallow-any-generics "
    "--error-summary --no-warn-unused-ignores --show-absolute-path --no-namespace-packages "
    "--implicit-reexport --no-implicit-reexport --txt-report=write",
    "read*",
)


def _mypy(call: Call) -> None:
    for word in _MYPY.read(call).values("--cache-dir"):
        if word.text != "/dev/null":
            call.act.write(word)


def _formatter(options: str, *checks: str) -> Policy:
    """Judge a formatter: what it may rewrite are sources, and none of its options names a program."""
    form = Form(options, "read*")

    def judge(call: Call) -> None:
        given = form.read(call)
        for word in given.operands:
            if not given.has(*checks):
                call.act.rewrite(word)

    return judge


_LINT = "-vqjE -j:number --version --verbose --quiet --exit-zero --show-source --statistics --count"


def _coverage(call: Call) -> None:
    name = call.args[0].text if call.args else ""
    rest = call.after(1)
    if name == "run":
        _coverage_run(rest)
    elif name in {"report", "html", "xml", "json", "lcov", "combine", "erase", "--version"}:
        Form(
            "-miqa -d:folder -o:write --show-missing --skip-covered --skip-empty --fail-under=number "
            "--include=text --omit=text "
            "--ignore-errors --precision=number --sort=text --format=word --directory=folder --append "
            "--keep --quiet --rcfile=settings",
            "read*",
        ).read(rest)
    else:
        raise Refused(
            "subcommand", "coverage run -m pytest, coverage report, html, xml, json, combine, erase"
        )


def _coverage_run(call: Call) -> None:
    form = Form(
        "-ap --append --branch --source=text --omit=text --include=text --parallel-mode --rcfile=settings",
        "text*",
        stops=True,
    )
    for index, word in enumerate(call.args):
        if word.text == "-m" and index + 1 < len(call.args):
            form.read(call._replace(args=call.args[:index]))
            name = call.args[index + 1].text
            if name in {"pytest", "unittest"}:
                TOOLS[name](call.after(index + 2, name))
                return
    raise Refused("coverage", "coverage run -m pytest ... or coverage run -m unittest ...")


def _flask(call: Call) -> None:
    args = list(call.args)
    if len(args) > 1 and args[0].text == "--app":
        kind("module")(call.act, args[1])
        args = args[2:]
    one_of({"routes": Form("--all-methods --sort=word", "")}, "flask in a run")(
        call._replace(args=tuple(args))
    )


TOOLS: Mapping[str, Policy] = MappingProxyType(
    {
        **same(_pytest, "pytest", "py.test"),
        "unittest": Form(
            "-vqfbc -k:text -s:read -t:read -p:text --verbose --quiet --failfast --buffer --catch "
            "--locals --start-directory=read --top-level-directory=read --pattern=text",
            "loose*",
        ),
        "ruff": _ruff,
        "mypy": _mypy,
        "dmypy": refuse("daemon", "no process stays behind; run mypy"),
        "black": _formatter(
            "-qvlSC -l:number -t:word --check --diff --color --no-color --quiet --verbose "
            "--line-length=number --target-version=word --exclude=text --fast --safe --version "
            "--preview --skip-string-normalization --config=settings",
            "--check",
            "--diff",
        ),
        "isort": _formatter(
            "-cqv -l:number --check --check-only --diff --profile=word --quiet --verbose --version "
            "--line-length=number --settings-path=settings --filter-files --skip=text",
            "--check",
            "--check-only",
            "-c",
        ),
        "autopep8": _formatter(
            "-ira -j:number --in-place --diff --recursive --aggressive --max-line-length=number", "--diff"
        ),
        "flake8": Form(
            f"{_LINT} --max-line-length=number --select=word --ignore=word --extend-ignore=word "
            "--exclude=text --format=word --max-complexity=number --per-file-ignores=text "
            "--config=settings",
            "read*",
        ),
        **same(
            Form("--max-line-length=number --ignore=word --select=word --exclude=text --count", "read*"),
            "pycodestyle",
            "pyflakes",
            "pydocstyle",
        ),
        "pylint": Form(
            f"{_LINT} -rsn -f:word --disable=word --enable=word --errors-only --rcfile=settings "
            "--output-format=word --score=word --reports=word --fail-under=number --jobs=number "
            "--recursive=word",
            "read*",
        ),
        **same(
            Form(
                "-p:read --project=read --outputjson --stats --verbose --warnings --level=word "
                "--pythonversion=word --version --threads[=number]",
                "read*",
            ),
            "pyright",
            "basedpyright",
        ),
        "bandit": Form(
            "-rqvli -c:settings -x:text -s:word -t:word -f:word -ll -iii --recursive --quiet "
            "--severity-level=word --exclude=text --skip=word --format=word",
            "read*",
        ),
        "vulture": Form("--min-confidence=number --exclude=text --ignore-names=text", "read*"),
        "lint-imports": Form("--config=settings --verbose --no-cache", ""),
        "coverage": _coverage,
        "alembic": one_of(
            {
                "heads": Form("-v --verbose", ""),
                "history": Form("-v -r:word --verbose --rev-range=word", ""),
                "branches": Form("-v", ""),
            },
            "alembic in a run: what needs no database",
        ),
        "flask": _flask,
        "radon": one_of(
            same(Form("-sa -n:word -x:word", "read+"), "cc", "mi", "raw", "hal"), "radon in a run"
        ),
        "interrogate": Form("-vqi -f:number --fail-under=number", "read*"),
        "deptry": Form("--config=settings --json-output=write", "read*"),
        "ty": one_of({"check": Form("--python-version=word --output-format=word", "read*")}, "ty in a run"),
        "tox": sessions("tox.ini", verbs=("run", "r", "run-parallel", "p", "list", "l")),
        "nox": sessions("noxfile.py"),
    }
)
