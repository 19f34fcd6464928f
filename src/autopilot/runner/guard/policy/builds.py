"""Build tools: make and its kin, CMake, the JVM; Go and Rust have modules of their own.

Must not accept orders that the run wrote itself, a program for the tool to run, or a new dependency.
"""

from __future__ import annotations

import posixpath
import re
from types import MappingProxyType
from typing import TYPE_CHECKING

from autopilot.runner.guard.grammar import Word
from autopilot.runner.guard.names import is_one_of
from autopilot.runner.guard.policy.bazel import PROGRAMS as BAZEL
from autopilot.runner.guard.policy.cargo import PROGRAMS as CARGO
from autopilot.runner.guard.policy.compilers import PROGRAMS as COMPILERS
from autopilot.runner.guard.policy.forms import Call, Form, Policy, one_of, same
from autopilot.runner.guard.policy.golang import PROGRAMS as GO
from autopilot.runner.guard.policy.kinds import kind
from autopilot.runner.guard.policy.outward import check_task
from autopilot.runner.guard.verdict import Refused

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from autopilot.runner.guard.act import Act

_MAKE = Form(
    "-kBnsqi -j[:number] -C:read -O[:word] --jobs[=number] --keep-going --always-make --dry-run "
    "--just-print --silent --quiet "
    "--no-print-directory --directory=read --output-sync[=word] --version --question "
    "--warn-undefined-variables",
    "text*",
)
# Targets and variables: a variable's value is a plain word, and no name that a makefile takes for a program.
_TARGET = re.compile(r"[A-Za-z0-9_./%+-]+")
_SETTING = re.compile(
    r"(V|VERBOSE|DEBUG|RELEASE|BUILD_TYPE|CONFIG|TEST|TESTS|PKG|PACKAGE|COVERAGE|RACE|NAME|K|ARGS)=[A-Za-z0-9_.:/-]*"
)


def _make(call: Call) -> None:
    given = _MAKE.read(call)
    act = call.act
    _makefiles(call)
    for folder in given.values("-C", "--directory"):
        act = act.moved(folder)  # several lead on from one another: make(1)
        _makefiles(call._replace(act=act))
    for word in given.operands:
        is_setting = "=" in word.text
        shape = _SETTING if is_setting else _TARGET
        if not shape.fullmatch(word.text) or word.pattern is not None:
            raise Refused("make-word", f"{word.text!r}: make takes targets, and plain settings such as V=1")
        if is_setting:
            if ".." in word.text or "=/" in word.text:
                raise Refused("make-word", f"{word.text!r} leads outside")
        else:
            check_task(call.name, word)
            if ".." in word.text or word.text.startswith("/"):
                act.write_argument(word)


_MAKEFILES = ("makefile", "gnumakefile", "*.mk")


def _makefiles(call: Call) -> None:
    """Insist that makefiles are the base commit's, or what CMake made: then as for `cmake --build`."""
    if _is_made_by_cmake(call.act):
        _cmake_lists(call)
    else:
        call.act.unchanged(_MAKEFILES, call.name)


def _is_made_by_cmake(act: Act) -> bool:
    return all(act.places.is_file(posixpath.join(folder, "CMakeCache.txt")) for folder in act.folders)


def _cmake_lists(call: Call) -> None:
    """Insist that CMake's orders are the base commit's; in a folder of its making it wrote some itself."""
    act = call.act
    _unwritten(call, _CMAKE_BUILT)
    if _is_made_by_cmake(act):
        act = act.moved(Word(act.places.worktree))
    act.unchanged(("cmakelists.txt", "*.cmake"), call.name)


def _built_by(policy: Policy, *files: str) -> Policy:
    """Judge by a policy, and insist that the tool's own file is the base commit's."""

    def judge(call: Call) -> None:
        call.act.unchanged(files, call.name)
        policy(call)

    return judge


# What a generator makes anew in a folder of its own, and a builder then obeys.
_NINJA_FILES = ("*.ninja",)
_CTEST_FILES = ("*.cmake", "ctestcustom.ctest", "dartconfiguration.tcl")
_CMAKE_BUILT = (*_NINJA_FILES, *_CTEST_FILES, *_MAKEFILES, "*.make", "cmakecache.txt")
_MESON_BUILT = (*_NINJA_FILES, "coredata.dat", "build.dat", "meson_test_setup.dat")
_PRESETS = ("cmakepresets.json", "cmakeuserpresets.json")


def _unwritten(call: Call, names: Sequence[str], *folders: Word) -> None:
    """Take what a generator made in these folders, or here, but not what the run wrote in its place.

    Raises:
        Refused: the run wrote such a file, or brought a folder in which one may lie.
    """
    act = call.act
    known = {posixpath.basename(path) for path in act.written | act.writes}
    places = [
        posixpath.normpath(posixpath.join(here, word.text))
        for here in act.folders
        for word in (Word("."), *folders)
    ]
    plain = [name.replace("*", "x") for name in names]
    brought = {name for name in plain for place in places if act.is_written(posixpath.join(place, name))}
    for name in sorted(known | brought):
        if is_one_of(name, names):
            raise Refused(
                "build-file-changed",
                f"this run wrote what tells {call.name} what to run; let the generator make it anew in a "
                "folder of its own, or use the own test runner",
            )


def _generated(form: Form, names: Sequence[str]) -> Policy:
    """Judge by a row, and insist that what the folder of the build holds was generated."""

    def judge(call: Call) -> None:
        given = form.read(call)
        _unwritten(call, names, *given.values("-C", "--test-dir"))
        if given.has("--preset"):
            call.act.unchanged(_PRESETS, call.name)

    return judge


def _cmake(call: Call) -> None:
    _cmake_lists(call)
    words = {word.text for word in call.args}
    if any(word.text.startswith("--preset") for word in call.args):
        call.act.unchanged(_PRESETS, call.name)
    if "--build" in words and any(word.text.startswith("--preset") for word in call.args):
        Form("-v -j[:number] --build --preset=word -t:word --verbose --parallel[=number]", "").read(call)
    elif "--build" in words:
        built = Form(
            "-v -j[:number] --build=write -t:word --target=word --config=word --parallel[=number] "
            "--verbose --clean-first",
            "number?",
        ).read(call)
        _unwritten(call, _CMAKE_BUILT, *built.values("--build"))
        for word in built.values("-t", "--target"):
            check_task("cmake --target", word)
    elif "--version" in words and len(words) == 1:
        return
    else:
        given = Form("-S:read -B:write -G:text -D:text -Wno-dev --preset=word", "read*").read(call)
        for word in given.values("-D"):
            if not _DEFINED.fullmatch(word.text):
                raise Refused(
                    "cmake-setting", "cmake -D sets CMAKE_BUILD_TYPE, BUILD_* or *_TESTS to a plain word"
                )


_DEFINED = re.compile(
    r"(CMAKE_BUILD_TYPE|CMAKE_EXPORT_COMPILE_COMMANDS|CMAKE_CXX_STANDARD|BUILD_[A-Z_]+|[A-Z_]+_TESTS|[A-Z_]+_TESTING)(:[A-Z]+)?=[A-Za-z0-9]+"
)
_MVN_GOALS = (
    "clean", "validate", "compile", "test", "test-compile", "package", "verify", "process-classes",
    "integration-test", "surefire:test", "failsafe:integration-test", "failsafe:verify",
    "jacoco:report", "fmt:format", "fmt:check", "formatter:format", "pmd:check", "spotless:apply",
)  # fmt: skip
_MVN = Form(
    "-qBoeXUNV -T:word -P:word  -D:text --batch-mode --offline --quiet --no-transfer-progress "
    "--fail-at-end --errors "
    "--projects=modules --also-make --version --show-version --threads=word",
    "text*",
)
_MVN_SETTING = re.compile(
    r"(test|it\.test|includes|spring\.profiles\.active|jacoco\.skip|skipTests|maven\.test\.skip|skipITs|surefire\.[A-Za-z.]+|failIfNoTests|groups|DfailIfNoTests|checkstyle\.skip|spotless\.check\.skip)(=[A-Za-z0-9_.,*#$!+-]*)?"
)
_MVN_SINGLE: Mapping[str, int] = {"-pl": 1, "-am": 0, "-amd": 0, "-fae": 0, "-ff": 0, "-fn": 0, "-ntp": 0}


def _mvn(call: Call) -> None:
    call.act.unchanged(
        ("pom.xml", "mvnw", "maven-wrapper.properties", "maven.config", "jvm.config"), call.name
    )
    args = [word for word in call.args if word.text != "-v"]
    index = 0
    while index < len(args):
        if args[index].text in _MVN_SINGLE:
            if args[index].text == "-pl" and index + 1 < len(args):
                kind("modules")(call.act, args[index + 1])
            del args[index : index + 1 + _MVN_SINGLE[args[index].text]]
        else:
            index += 1
    given = _MVN.read(call._replace(args=tuple(args)))
    for word in given.values("-D"):
        if not _MVN_SETTING.fullmatch(word.text):
            raise Refused("maven-setting", "mvn -D sets test, skipTests and their kin")
    for word in given.operands:
        if word.text not in _MVN_GOALS and word.text not in {
            "spotless:check",
            "checkstyle:check",
            "dependency:tree",
            "dependency:resolve",
            "dependency:go-offline",
            "dependency:analyze",
            "spotbugs:check",
        }:
            raise Refused("maven-goal", f"mvn {word.text}: accepted goals are {', '.join(_MVN_GOALS)}")


_GRADLE = Form(
    "-qidsSaxw -m:word -x:word -P:text --tests=text --offline --no-daemon --info --debug --stacktrace "
    "--quiet --console=word --continue --rerun-tasks "
    "--parallel --no-parallel --build-cache --no-build-cache --configuration-cache "
    "--no-configuration-cache --warning-mode=word --exclude-task=word "
    "--rerun --fail-fast --version --dry-run --no-watch-fs --full-stacktrace --max-workers=number "
    "--configuration=word --dependency=word --all --task=word",
    "word*",
)
_GRADLE_TASK = re.compile(
    r"(:?[A-Za-z0-9_-]+:)*(test|check|build|assemble|classes|testClasses|compile[A-Za-z]*|clean|lint[A-Za-z]*|[a-z]*Test|[a-z]*[tT]est[A-Za-z]*|spotlessCheck|spotlessApply|"
    r"ktlint[A-Za-z]*|detekt|checkstyle[A-Za-z]*|jar|tasks|dependencies|projects|help|jacoco[A-Za-z]*|kover[A-Za-z]*|apiCheck|apiDump|bootJar|shadowJar|war|properties|verify[A-Z][A-Za-z]*|record[A-Z][A-Za-z]*|connected[A-Za-z]*Test|dependencyInsight|integrationTest|assemble[A-Za-z]*)"
)


def _gradle(call: Call) -> None:
    call.act.unchanged(
        ("gradlew", "gradle-wrapper.properties", "gradle-wrapper.jar", "gradle.properties", "*.gradle"),
        call.name,
    )
    given = _GRADLE.read(call)
    for word in given.values("-P"):
        raise Refused("gradle-setting", f"gradlew -P{word.text} is not accepted")
    for word in given.operands:
        check_task(call.name, word, but="release|installed")
        if not _GRADLE_TASK.fullmatch(word.text):
            raise Refused(
                "gradle-task",
                f"gradlew {word.text}: accepted are test, check, build, assemble, lint and their kin",
            )


_MESON_FILES = ("meson.build", "meson_options.txt", "meson.options")
_MESON = one_of(
    {
        "setup": _built_by(Form("--buildtype=word --wipe --reconfigure", "write"), *_MESON_FILES),
        "compile": _built_by(_generated(Form("-C:write -j:number -v", "word*"), _MESON_BUILT), *_MESON_FILES),
        "test": _built_by(
            _generated(
                Form("-C:write -v --print-errorlogs --suite=word --no-rebuild", "word*"), _MESON_BUILT
            ),
            *_MESON_FILES,
        ),
    },
    "meson in a run",
)
PROGRAMS: Mapping[str, Policy] = MappingProxyType(
    {
        **GO,
        **CARGO,
        **same(_make, "make", "gmake"),
        "ninja": _generated(Form("-v -C:write -j:number -k:number -n --version", "word*"), _NINJA_FILES),
        "cmake": _cmake,
        "ctest": _generated(
            Form(
                "-VQN -j[:number] -R:text -E:text -L:text --output-on-failure --test-dir=read "
                "--rerun-failed --timeout=number --progress --verbose -C:word --build-config=word "
                "--parallel[=number] --preset=word",
                "",
            ),
            _CTEST_FILES,
        ),
        "meson": _MESON,
        **BAZEL,
        **same(_mvn, "mvn", "mvnw"),
        **same(_gradle, "gradle", "gradlew"),
        **same(Form("-nil --recursive --dry-run -d -s --mode=word --check", "read*"), "shfmt"),
        "hadolint": Form("--ignore=word --no-fail --format=word", "read+"),
        "yamllint": Form("-s -c:settings -f:word -d:{relaxed|default} --strict", "read+"),
        **COMPILERS,
        "shellcheck": Form(
            "-s:word -x -e:word -f:word -S:word --severity=word --shell=word --exclude=word --format=word",
            "read+",
        ),
        "clang-format": Form("-n -Werror --dry-run --Werror --style=word -i", "rewrite+"),
    }
)
