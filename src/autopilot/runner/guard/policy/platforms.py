"""Tools of further platforms: .NET, Apple, Dart, Elixir, Scala, and runners of a project's own recipes.

Must not accept a publication, a new dependency, or recipes that the run wrote itself.
"""

from __future__ import annotations

import re
from types import MappingProxyType
from typing import TYPE_CHECKING

from autopilot.runner.guard.policy.forms import Call, Form, Policy, one_of, same
from autopilot.runner.guard.policy.outward import check_program, check_task
from autopilot.runner.guard.verdict import Refused

if TYPE_CHECKING:
    from collections.abc import Mapping

_DOTNET_FLAGS = (
    "-c:word -v:word -f:word -o:folder -l:loggers --no-restore --no-build --configuration=word "
    "--verbosity=word --framework=word --filter=text --nologo --logger=loggers "
    "--output=folder --collect=text --results-directory=folder --list-tests --blame --settings=settings "
    "--no-incremental --no-dependencies --no-self-contained"
)


def _of_sources(form: Form, *suffixes: str) -> Policy:
    """Judge a program that is built and started: it is the base commit's, and gets only words behind `--`."""

    def judge(call: Call) -> None:
        call.act.unchanged(suffixes, call.name)
        texts = [word.text for word in call.args]
        cut = texts.index("--") if "--" in texts else len(texts)
        for word in form.read(call._replace(args=call.args[:cut])).values("--project"):
            check_program(call.name, word.text)
        Form("", "loose*").read(call._replace(args=call.args[cut:]))

    return judge


_DOTNET: Mapping[str, Policy] = MappingProxyType(
    {
        **same(Form(_DOTNET_FLAGS, "read*"), "build", "test", "clean"),
        "sln": Form("", "read? {list}"),
        "tool": one_of({"list": Form("", "")}, "dotnet tool in a run"),
        "restore": Form("--locked-mode --nologo -v:word --verbosity=word", "read*"),
        "run": _of_sources(Form(f"{_DOTNET_FLAGS} --project=read", ""), "*.cs", "*.fs", "*.vb"),
        "format": Form(
            "--verify-no-changes --no-restore --severity=word --include=text --verbosity=word -v:word",
            "read*",
        ),
        **same(Form("", ""), "--version", "--info", "--list-sdks"),
        "list": Form("--outdated", "text*"),
    }
)


_MSBUILD = re.compile(
    r"[-/]p(roperty)?:(Configuration|Platform|TreatWarningsAsErrors|CollectCoverage|CoverletOutputFormat)"
    r"=[A-Za-z0-9]+"
    r"|-warnaserror|--collect:[A-Za-z0-9 ]+"
)


def _dotnet(call: Call) -> None:
    call.act.unchanged(("*.csproj", "*.fsproj", "*.vbproj", "*.props", "*.targets"), call.name)
    call = call._replace(args=tuple(word for word in call.args if not _MSBUILD.fullmatch(word.text)))
    one_of(_DOTNET, "what dotnet does in a run; packages are restored in locked mode")(call)
    if call.args[0].text == "restore" and not any(word.text == "--locked-mode" for word in call.args):
        raise Refused(
            "not-frozen", "dotnet restore may change the lock file; accepted: dotnet restore --locked-mode"
        )


def _steered(policy: Policy, *files: str) -> Policy:
    """Judge a tool that runs what a file of the project says: the file is the base commit's."""

    def judge(call: Call) -> None:
        call.act.unchanged(files, call.name)
        policy(call)

    return judge


def _enforced(form: Form, *words: str) -> Policy:
    """Judge a restore: it must say that the lock file stays as it is."""

    def judge(call: Call) -> None:
        if not form.read(call).has(*words):
            raise Refused(
                "not-frozen", f"{call.name} may change the lock file; accepted: {call.name} {words[0]}"
            )

    return judge


_PUB = one_of(
    {"get": _enforced(Form("--enforce-lockfile --offline", ""), "--enforce-lockfile"), "deps": Form("", "")},
    "what pub does in a run",
)


def _swift_format(call: Call) -> None:
    if call.args and call.args[0].text == "lint":
        Form("-rsp --recursive --strict --parallel --configuration=settings", "read+").read(call.after(1))
    else:
        Form("-irp --in-place --recursive --parallel --configuration=settings", "rewrite+").read(call)


_SWIFT = one_of(
    {
        **same(
            Form(
                "-v -c:word --configuration=word --filter=text --skip=text --parallel "
                "--enable-code-coverage --build-tests --target=word --product=word "
                "--disable-automatic-resolution --only-use-versions-from-resolved-file --list-tests -l",
                "",
            ),
            "build",
            "test",
        ),
        "package": one_of(
            {
                "show-dependencies": Form("", ""),
                **same(Form("--type=word", ""), "describe", "dump-package"),
                "resolve": _enforced(
                    Form("--force-resolved-versions --only-use-versions-from-resolved-file", ""),
                    "--force-resolved-versions",
                    "--only-use-versions-from-resolved-file",
                ),
            },
            "swift package in a run",
        ),
        "format": _swift_format,
        "--version": Form("", ""),
    },
    "what swift does in a run",
)

_XCODE = Form(
    "-scheme=text -workspace=read -project=read -destination=text -configuration=word -quiet -sdk=word -list "
    "-showsdks -version -enableCodeCoverage=word -testPlan=word -target=text -parallel-testing-enabled=word "
    "-derivedDataPath=folder -resultBundlePath=folder",
    "{build|test|clean|analyze|build-for-testing|test-without-building}*",
    is_single=True,
)
_ONE_TEST = re.compile(
    r"-(only|skip)-testing:[A-Za-z0-9_/. ]+"
    r"|CODE_SIGN(ING_ALLOWED|ING_REQUIRED|_IDENTITY)=[A-Za-z-]*|ONLY_ACTIVE_ARCH=[A-Z]+"
)


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
            check_task(call.name, word)
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
        "deps.get": _enforced(Form("--check-locked --only=word", ""), "--check-locked"),
        **same(Form("", ""), "deps", "phx.routes", "help"),
        "compile": Form("--warnings-as-errors --force --all-warnings", ""),
        "format": Form("--check-formatted --dry-run", "rewrite*"),
        **same(Form("--strict --all --format=word", "read*"), "credo", "dialyzer"),
    },
    "what mix does in a run",
)
_SBT_TASK = re.compile(
    r"([A-Za-z0-9_-]+/)?(test|compile|test:compile|Test/compile|clean|scalafmtCheck|scalafmtCheckAll|scalafmtAll"
    r"|(testOnly|testQuick)( [A-Za-z0-9_.*]+)*)"
)


def _sbt(call: Call) -> None:
    call.act.unchanged(("*.sbt",), call.name)
    for word in Form("-batch -no-colors", "text+", is_single=True).read(call).operands:
        if not _SBT_TASK.fullmatch(word.text):
            raise Refused("sbt-task", f"sbt {word.text}: test, testOnly, compile and scalafmtCheck are run")


PROGRAMS: Mapping[str, Policy] = MappingProxyType(
    {
        "dotnet": _dotnet,
        "swift": _steered(_SWIFT, "package.swift"),
        "swiftlint": Form("--strict --quiet --fix --config=settings", "{lint}?"),
        "swift-format": _swift_format,
        "xcrun": one_of(
            {
                "simctl": one_of({"list": Form("-j --json", "word*")}, "xcrun simctl in a run"),
                "--version": Form("", ""),
            },
            "xcrun in a run",
        ),
        "xcode-select": Form("-p -v --print-path --version", ""),
        "plutil": one_of(same(Form("", "read+"), "-lint", "-p"), "plutil in a run"),
        "xcodebuild": _xcodebuild,
        "flutter": one_of(
            {
                "build": Form(
                    "--debug --release --profile --no-codesign --no-pub --simulator", "{apk|web|ios|bundle}"
                ),
                "doctor": Form("-v", ""),
                "test": _DART_TEST,
                "analyze": _ANALYZE,
                "pub": _PUB,
                "--version": Form("", ""),
            },
            "flutter in a run",
        ),
        "dart": one_of(
            {
                "fix": Form("--dry-run --apply", "rewrite?"),
                "test": _DART_TEST,
                "analyze": _ANALYZE,
                "format": _FORMAT,
                "pub": _PUB,
                "--version": Form("", ""),
            },
            "dart in a run",
        ),
        "mix": _steered(_MIX, "mix.exs"),
        "pod": _steered(
            one_of(
                {
                    "install": _enforced(Form("--deployment --no-repo-update", ""), "--deployment"),
                    "--version": Form("", ""),
                },
                "pod in a run",
            ),
            "podfile",
        ),
        "sbt": _sbt,
        "zig": one_of(
            {
                "build": _steered(Form("--summary=word", "{test}?"), "build.zig"),
                "test": Form("", "read"),
                "fmt": Form("--check", "rewrite+"),
                "version": Form("", ""),
            },
            "zig in a run",
        ),
        "lein": _steered(one_of(same(Form("", "word*"), "test", "check"), "lein in a run"), "project.clj"),
        "rebar3": _steered(
            one_of(same(Form("", ""), "eunit", "ct", "compile", "dialyzer", "xref"), "rebar3 in a run"),
            "rebar.config",
            "rebar.config.script",
        ),
        "just": _recipes("justfile", ".justfile", "*.just"),
        "task": _recipes("taskfile.yml", "taskfile.yaml", "taskfile.dist.yml"),
    }
)
