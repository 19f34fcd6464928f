"""Other interpreters and their test runners: shells, Ruby, PHP, Perl.

Must not accept a program on the command line or on standard input.
"""

from __future__ import annotations

import re
from types import MappingProxyType
from typing import TYPE_CHECKING

from autopilot.runner.guard.grammar import Word
from autopilot.runner.guard.policy.forms import Call, Form, Policy, one_of, same
from autopilot.runner.guard.policy.frameworks import run_script
from autopilot.runner.guard.policy.kinds import kind
from autopilot.runner.guard.policy.outward import check_task
from autopilot.runner.guard.verdict import Refused

if TYPE_CHECKING:
    from collections.abc import Mapping


def _interpreter(flags: str, checks: str = "") -> Policy:
    """Judge an interpreter: a script of the repository that the run did not write, or a check of syntax."""
    form = Form(f"{flags} -v {checks} --version", "text*", stops=True)
    checking = tuple(checks.split())

    def judge(call: Call) -> None:
        given = form.read(call)
        if given.has("--version", "-v") and not given.operands:
            return
        if not given.operands or given.operands[0].text.startswith(("-", "+")):
            raise Refused(
                "inline-program", f"{call.name}: no program on the command line or on standard input"
            )
        if checking and given.has(*checking):
            call.act.read(given.operands[0])
            return
        call.act.execute(given.operands[0])
        run_script(call, given.operands[0], given.operands[1:])

    return judge


def _php(call: Call) -> None:
    if [word.text for word in call.args] == ["-m"]:
        return
    _interpreter("-n", "-l")(call)


def run_repository_program(call: Call) -> None:
    """Judge the words of a program of the repository, itself judged already."""
    name = call.name.rpartition("/")[2]
    if name in _BINSTUBS:
        _RUBY_TOOLS[name](call._replace(name=name))
        return
    run_script(call, Word(call.name), call.args)


_RSPEC = Form(
    "-bw -f:word -e:text -t:text --format=word --example=text --tag=text --fail-fast[=number] --color "
    "--no-color --order=text --seed=number "
    "--profile[=number] --backtrace --dry-run --only-failures --next-failure",
    "read*",
)
_RUBOCOP = Form(
    "-aAlxDE --autocorrect --auto-correct --only=text --except=text --format=word -f:word "
    "--fail-level=word --parallel --display-cop-names --lint",
    "rewrite*",
)


_TEST_FILES = re.compile(r"(?:TEST|SPEC)=([A-Za-z0-9_.*/-]+)")


def _rake(call: Call) -> None:
    call.act.unchanged(("rakefile", "*.rake"), call.name)
    for word in Form("-Tsqn --tasks --silent --quiet --dry-run --trace", "text*").read(call).operands:
        setting = _TEST_FILES.fullmatch(word.text)
        if setting is not None:
            kind("read")(call.act, word.tail(setting.start(1)))
            continue
        kind("word")(call.act, word)
        check_task(call.name, word)
        if not word.text.startswith(
            ("test", "spec", "lint", "rubocop", "check", "build", "default", "db:test")
        ):
            raise Refused("rake-task", f"rake {word.text}: tasks that test, check or build are run")


def _rails(call: Call) -> None:
    run_script(call, Word("rails"), call.args)


_BINSTUBS = frozenset({"rspec", "rubocop", "rake"})
_RUBY_TOOLS: Mapping[str, Policy] = MappingProxyType(
    {
        "rspec": _RSPEC,
        "rubocop": _RUBOCOP,
        "rake": _rake,
        "rails": _rails,
        "standardrb": Form("--fix --parallel", "rewrite*"),
        "srb": one_of({"tc": Form("", "read*")}, "srb in a run"),
        "steep": one_of({"check": Form("", "read*")}, "steep in a run"),
        "brakeman": Form("-qz -f:word --no-pager --quiet", "read?"),
        "erb_lint": Form("--lint-all --autocorrect -a", "rewrite*"),
        "reek": Form("", "read*"),
        "cucumber": Form("-t:text --tags=text --format=word", "read*"),
        "ruby": _interpreter("-wW -I:read", "-c"),
    }
)


def _bundle(call: Call) -> None:
    name = call.args[0].text if call.args else ""
    words = [word.text for word in call.args[1:]]
    if name == "exec" and words and words[0] in _RUBY_TOOLS:
        _RUBY_TOOLS[words[0]](call.after(2, words[0]))
    elif name == "install":
        if (
            not Form("--local --frozen --deployment --jobs=number --retry=number --quiet -j:number", "")
            .read(call.after(1))
            .has("--local", "--frozen", "--deployment")
        ):
            raise Refused(
                "not-frozen", "bundle install may change the lock file; accepted: bundle install --frozen"
            )
    elif name in {"check", "list", "--version", "-v"}:
        Form("", "").read(call.after(1))
    elif name in {"info", "show"}:
        Form("--path", "word?").read(call.after(1))
    else:
        raise Refused(
            "subcommand", "bundle exec rspec, rubocop or rake; bundle check; bundle install --frozen"
        )


_PHPUNIT = Form(
    "-v -c:settings --filter=text --testsuite=word --group=word --exclude-group=word --stop-on-failure "
    "--colors[=word] --testdox --no-coverage --display-warnings --configuration=settings --verbose "
    "--debug --coverage-text --coverage-html=folder --coverage-clover=write --log-junit=write "
    "--order-by=word",
    "read*",
)


def _composer_script(call: Call) -> None:
    call.act.unchanged(("composer.json",), call.name)
    name = call.args[0].text if call.args else ""
    if not _COMPOSER_SCRIPT.fullmatch(name):
        raise Refused("script-name", f"{call.name} {name}: scripts that test, check or build are run")
    check_task(call.name, call.args[0])
    Form("", "loose*").read(call._replace(args=(Word("--"), *call.args[1:])))


_COMPOSER_SCRIPT = re.compile(
    r"(test|tests|lint|check|cs|phpcs|phpstan|stan|psalm|pint|analy[sz]e|format|fix|coverage|build|unit|ci)([:_-][A-Za-z0-9:_-]+)?"
)
_COMPOSER_INSTALL = Form(
    "-noq --no-interaction --prefer-dist --no-scripts --no-plugins --no-progress --no-dev --quiet "
    "--optimize-autoloader --ansi --no-ansi --dry-run",
    "",
)


def _composer_install(call: Call) -> None:
    call.act.unchanged(("composer.json",), call.name)
    _COMPOSER_INSTALL.read(call)


def _composer_test(call: Call) -> None:
    _composer_script(call._replace(args=(Word("test"), *call.args)))


_COMPOSER = one_of(
    {
        **same(_composer_script, "run", "run-script"),
        "dump-autoload": Form("-o --optimize", ""),
        "test": _composer_test,
        "install": _composer_install,
        "validate": Form("--strict --no-check-publish", ""),
        "show": Form("", "word*"),
        "--version": Form("", ""),
    },
    "what composer does in a run; it restores what composer.lock names",
)
PROGRAMS: Mapping[str, Policy] = MappingProxyType(
    {
        **same(_interpreter("-eux", "-n"), "bash", "sh", "dash", "zsh"),
        "ruby": _interpreter("-wW -I:read", "-c"),
        "php": _php,
        "perl": _interpreter("-wTc"),  # -c runs what is in BEGIN, so it is no mere look
        "lua": _interpreter(""),
        **_RUBY_TOOLS,
        "bundle": _bundle,
        **same(_PHPUNIT, "phpunit", "pest"),
        "phpstan": Form(
            "-l:word -c:settings --configuration=settings --level=word --no-progress --memory-limit=word",
            "text*",
        ),
        "composer": _COMPOSER,
    }
)
