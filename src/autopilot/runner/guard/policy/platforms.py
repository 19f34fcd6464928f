"""Tools of further platforms: .NET, Apple, Dart, Elixir, Scala, and runners of a project's own recipes.

Must not accept a publication, a new dependency, or recipes that the run wrote itself.
"""

from __future__ import annotations

import re
from types import MappingProxyType
from typing import TYPE_CHECKING

from autopilot.runner.guard.policy.forms import Call, Form, Policy, one_of, refuse, same
from autopilot.runner.guard.verdict import Refused

if TYPE_CHECKING:
    from collections.abc import Mapping

_DOTNET_FLAGS = (
    "-c:word -v:word -f:word -o:write -l:loggers --no-restore --no-build --configuration=word "
    "--verbosity=word --framework=word --filter=text --nologo --logger=loggers "
    "--output=write --collect=text --results-directory=write --list-tests --blame --settings=read "
    "--no-incremental --no-dependencies --no-self-contained"
)
_DOTNET: Mapping[str, Policy] = MappingProxyType(
    {
        **same(Form(_DOTNET_FLAGS, "read*"), "build", "test", "clean"),
        "restore": Form("--locked-mode --nologo -v:word --verbosity=word", "read*"),
        "format": Form(
            "--verify-no-changes --no-restore --severity=word --include=text --verbosity=word -v:word",
            "read*",
        ),
        **same(Form("", ""), "--version", "--info", "--list-sdks"),
        "list": Form("--outdated", "text*"),
    }
)


def _dotnet(call: Call) -> None:
    one_of(_DOTNET, "what dotnet does in a run; packages are restored in locked mode")(call)
    if call.args[0].text == "restore" and not any(word.text == "--locked-mode" for word in call.args):
        raise Refused(
            "not-frozen", "dotnet restore may change the lock file; accepted: dotnet restore --locked-mode"
        )


_SWIFT = one_of(
    {
        **same(
            Form(
                "-v -c:word --configuration=word --filter=text --skip=text --parallel "
                "--enable-code-coverage --build-tests --target=word --product=word "
                "--disable-automatic-resolution --only-use-versions-from-resolved-file",
                "",
            ),
            "build",
            "test",
        ),
        "package": one_of(
            {
                "show-dependencies": Form("", ""),
                "describe": Form("", ""),
                "resolve": refuse("download", "packages come with the set-up"),
            },
            "swift package in a run",
        ),
        "--version": Form("", ""),
    },
    "what swift does in a run",
)

_XCODE = Form(
    "-scheme=text -workspace=read -project=read -destination=text -configuration=word -quiet -sdk=word -list "
    "-showsdks -version -enableCodeCoverage=word -testPlan=word -target=text -parallel-testing-enabled=word",
    "{build|test|clean|analyze|build-for-testing|test-without-building}*",
    is_single=True,
)
_ONE_TEST = re.compile(r"-(only|skip)-testing:[A-Za-z0-9_/. ]+")


def _xcodebuild(call: Call) -> None:
    args = tuple(word for word in call.args if not _ONE_TEST.fullmatch(word.text))
    _XCODE.read(call._replace(args=args))


def _recipes(*files: str) -> Policy:
    """Judge a runner of recipes: its file is the base commit's, and the recipe's name says what it is for."""
    form = Form("-l --list --summary --dry-run -n -v --verbose", "word*")

    def judge(call: Call) -> None:
        call.act.unchanged(files, call.name)
        given = form.read(call)
        if not given.operands and not given.has("-l", "--list", "--summary"):
            raise Refused("recipe", f"{call.name}: name the recipe, such as test or lint")
        for word in given.operands:
            if not _RECIPE.fullmatch(word.text):
                raise Refused("recipe", f"{call.name} {word.text}: recipes that test, check or build are run")

    return judge


_RECIPE = re.compile(
    r"(test|tests|lint|check|build|fmt|format|typecheck|type-check|coverage|unit|clean|ci|verify)([:_-][A-Za-z0-9:_-]+)?"
)
_DART_TEST = Form(
    "-r:word -n:text -N:text --coverage --name=text --plain-name=text --reporter=word -j:number "
    "--concurrency=number --tags=word --no-pub --update-goldens --machine",
    "read*",
)
_FORMAT = Form(
    "-o:{none|show} --set-exit-if-changed --output={none|show} -l:number --line-length=number", "rewrite*"
)
_ANALYZE = Form("--fatal-infos --fatal-warnings --no-fatal-infos --no-fatal-warnings --no-pub", "read*")
_MIX = one_of(
    {
        "test": Form(
            "--trace --only=text --exclude=text --failed --stale --max-failures=number --seed=number "
            "--cover --warnings-as-errors",
            "read*",
        ),
        "compile": Form("--warnings-as-errors --force --all-warnings", ""),
        "format": Form("--check-formatted --dry-run", "rewrite*"),
        **same(Form("--strict --all --format=word", "read*"), "credo", "dialyzer"),
    },
    "what mix does in a run",
)
_SBT = Form(
    "-batch",
    "{test|compile|test:compile|clean|scalafmtCheck|scalafmtCheckAll}+",
    is_single=True,
)
PROGRAMS: Mapping[str, Policy] = MappingProxyType(
    {
        "dotnet": _dotnet,
        "swift": _SWIFT,
        "swiftlint": Form("--strict --quiet --config=read", "{lint}?"),
        "xcodebuild": _xcodebuild,
        "flutter": one_of(
            {"test": _DART_TEST, "analyze": _ANALYZE, "--version": Form("", "")}, "flutter in a run"
        ),
        "dart": one_of(
            {"test": _DART_TEST, "analyze": _ANALYZE, "format": _FORMAT, "--version": Form("", "")},
            "dart in a run",
        ),
        "mix": _MIX,
        "sbt": _SBT,
        "just": _recipes("justfile", ".justfile", "*.just"),
        "task": _recipes("taskfile.yml", "taskfile.yaml", "taskfile.dist.yml"),
    }
)
