"""Scripts that come with a framework and take commands of their own: Django, Laravel, Rails, Symfony.

They can run any code or change any data by an argument, so only listed commands are accepted, however the
script is started (`python manage.py`, `./manage.py`). Must not list one that opens a shell or a database.
"""

from __future__ import annotations

import posixpath
from types import MappingProxyType
from typing import TYPE_CHECKING

from autopilot.runner.guard.grammar import Word
from autopilot.runner.guard.policy.forms import Call, Form, Policy, one_of, refuse, same
from autopilot.runner.guard.policy.outward import check_program

if TYPE_CHECKING:
    from collections.abc import Mapping

_DJANGO: Mapping[str, Policy] = MappingProxyType(
    {
        "test": Form(
            "-v:number -k:text --verbosity=number --parallel[=word] --failfast --keepdb --noinput "
            "--no-input --tag=word "
            "--exclude-tag=word --reverse --timing --debug-mode --shuffle[=number] --buffer "
            "--settings=module",
            "loose*",
        ),
        "check": Form("--deploy --tag=word --fail-level=word --settings=module", "word*"),
        "makemigrations": Form("-n:word --name=word --check --dry-run --empty --noinput -v:number", "word*"),
        "showmigrations": Form("-lp --list --plan", "word*"),
        "sqlmigrate": Form("--backwards", "word word"),
    }
)
DJANGO = one_of(_DJANGO, "what django does in a run")
_ARTISAN: Mapping[str, Policy] = MappingProxyType(
    {
        "test": Form(
            "--filter=text --testsuite=word --parallel --stop-on-failure --without-tty --compact --coverage",
            "read*",
        ),
        **same(Form("--json --except-vendor", ""), "route:list", "list", "about", "migrate:status"),
        "--version": Form("", ""),
    }
)
_RAILS: Mapping[str, Policy] = MappingProxyType(
    {
        **same(
            Form("-n:text --name=text -v --verbose -f --fail-fast -b --seed=number", "read*"), "test", "spec"
        ),
        **same(Form("", ""), "routes", "zeitwerk:check", "stats", "db:migrate:status", "-v", "--version"),
    }
)
_CONSOLE: Mapping[str, Policy] = MappingProxyType(
    same(Form("--format=word", "read*"), "lint:yaml", "lint:twig", "lint:container", "debug:router", "list")
)
_BY_NAME = refuse("by-name", "a tool is called by its own name, so that its own rules apply")
_SCRIPTS: Mapping[str, Policy] = MappingProxyType(
    {
        **same(
            _BY_NAME,
            "bundle",
            "bundler",
            "rake",
            "gem",
            "yarn",
            "npm",
            "npx",
            "pnpm",
            "pip",
            "pip3",
            "pip.pyz",
        ),
        **same(
            _BY_NAME,
            "git",
            "gh",
            "glab",
            "hub",
            "curl",
            "wget",
            "docker",
            "kubectl",
            "terraform",
            "sudo",
            "ssh",
        ),
        **same(
            _BY_NAME,
            "composer",
            "composer.phar",
            "npm-cli.js",
            "npx-cli.js",
            "yarn.js",
            "poetry",
            "uv",
            "pipx",
        ),
        "manage.py": DJANGO,
        "artisan": one_of(_ARTISAN, "what artisan does in a run"),
        "rails": one_of(_RAILS, "what rails does in a run"),
        "console": one_of(_CONSOLE, "what the console does in a run"),
        "setup.py": refuse("setup-py", "it installs; the packages are installed before the run"),
    }
)
_DASHES = Word("--")


def run_script(call: Call, script: Word, arguments: tuple[Word, ...]) -> None:
    """Judge what a script of the repository is given; that it may be run is judged already.

    Raises:
        Refused: a command of a framework that is not listed, or an argument that leads outside.
    """
    name = posixpath.basename(script.text)
    policy = _SCRIPTS.get(name.lower())
    if policy is not None:
        policy(call._replace(name=name, args=arguments))
        return
    check_program(call.name, script.text)
    # What the words mean is the script's own affair.
    Form("", "loose*").read(call._replace(args=(_DASHES, *arguments)))
