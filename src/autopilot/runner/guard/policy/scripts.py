"""Other interpreters and their test runners: shells, Ruby, PHP, Perl.

Must not accept a program on the command line or on standard input.
"""

from __future__ import annotations

from types import MappingProxyType
from typing import TYPE_CHECKING

from autopilot.runner.guard.grammar import Word
from autopilot.runner.guard.policy.forms import Call, Form, Policy, one_of, same
from autopilot.runner.guard.policy.frameworks import run_script
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
        if not given.operands or given.operands[0].text == "-" or given.operands[0].text.startswith("+"):
            raise Refused(
                "inline-program", f"{call.name}: no program on the command line or on standard input"
            )
        if checking and given.has(*checking):
            call.act.read(given.operands[0])
            return
        call.act.execute(given.operands[0])
        run_script(call, given.operands[0], given.operands[1:])

    return judge


def run_repository_program(call: Call) -> None:
    """Judge the words of a program of the repository, itself judged already."""
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


def _rake(call: Call) -> None:
    call.act.unchanged(("rakefile", "*.rake"), call.name)
    for word in Form("-Tsqn --tasks --silent --quiet --dry-run --trace", "word*").read(call).operands:
        if not word.text.startswith(
            ("test", "spec", "lint", "rubocop", "check", "build", "default", "db:test")
        ):
            raise Refused("rake-task", f"rake {word.text}: tasks that test, check or build are run")


def _rails(call: Call) -> None:
    run_script(call, Word("rails"), call.args)


_RUBY_TOOLS: Mapping[str, Policy] = MappingProxyType(
    {"rspec": _RSPEC, "rubocop": _RUBOCOP, "rake": _rake, "rails": _rails}
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
    elif name in {"check", "list", "--version"}:
        Form("", "").read(call.after(1))
    else:
        raise Refused(
            "subcommand", "bundle exec rspec, rubocop or rake; bundle check; bundle install --frozen"
        )


_PHPUNIT = Form(
    "-v -c:read --filter=text --testsuite=word --group=word --exclude-group=word --stop-on-failure "
    "--colors[=word] --testdox --no-coverage --display-warnings --configuration=read --verbose "
    "--debug",
    "read*",
)
_COMPOSER = one_of(
    {
        "test": Form("", ""),
        "validate": Form("--strict --no-check-publish", ""),
        "show": Form("", "word*"),
        "--version": Form("", ""),
    },
    "what composer does in a run; nothing is installed",
)
PROGRAMS: Mapping[str, Policy] = MappingProxyType(
    {
        **same(_interpreter("-eux", "-n"), "bash", "sh", "dash", "zsh"),
        "ruby": _interpreter("-wW", "-c"),
        "php": _interpreter("-n", "-l"),
        "perl": _interpreter("-wT"),
        "lua": _interpreter(""),
        **_RUBY_TOOLS,
        "bundle": _bundle,
        **same(_PHPUNIT, "phpunit", "pest"),
        "phpstan": Form("--level=word --no-progress --memory-limit=word", "text*"),
        "composer": _COMPOSER,
    }
)
