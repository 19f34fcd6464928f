"""What a repository could commit as `.autopilot.toml` when autopilot cannot tell how its tests run. Pure.

The commands are examples of tools that write JUnit XML; a person puts in their own.
"""

from __future__ import annotations

import json
from fnmatch import fnmatch
from typing import TYPE_CHECKING, NamedTuple

from autopilot.runner.stacks.stack import REPORT_SLOT

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from autopilot.schemas.errors import ConfigError


class Example(NamedTuple):
    """A test command, and the report it writes by itself where it takes no path."""

    test: Sequence[str]
    report: str = ""


_BY_FILE: Sequence[tuple[str, Example]] = (
    ("vitest.config.*", Example(("npx", "vitest", "run", "--reporter=junit", f"--outputFile={REPORT_SLOT}"))),
    ("package.json", Example(("npx", "jest", "--reporters=jest-junit"), "junit.xml")),
    ("go.mod", Example(("gotestsum", "--junitfile", REPORT_SLOT))),
    ("Cargo.toml", Example(("cargo", "nextest", "run", "--profile", "ci"), "target/nextest/ci/junit.xml")),
    ("pom.xml", Example(("mvn", "-B", "test"), "target/surefire-reports/*.xml")),
    ("build.gradle*", Example(("./gradlew", "test"), "**/build/test-results/test/*.xml")),
    ("Gemfile", Example(("bundle", "exec", "rspec", "-f", "RspecJunitFormatter", "-o", REPORT_SLOT))),
    ("composer.json", Example(("vendor/bin/phpunit", "--log-junit", REPORT_SLOT))),
)
_ANY = Example(("make", "test"), "build/test-report.xml")


def lines(files: Collection[str], fault: ConfigError) -> str:
    """Give the text of the file.

    Args:
        files: the paths of the base commit.
        fault: why its tests cannot be run as it is.
    """
    if fault.code == "ambiguous-stack":
        return 'stack = "python"   # or "backend-node": the one whose tests count\n'
    if fault.code == "unknown-stack":
        return 'stack = "unknown"   # or "python", "backend-node"\n'
    found = (example for pattern, example in _BY_FILE if any(fnmatch(path, pattern) for path in files))
    example = next(found, _ANY)
    report = [f"report = {json.dumps(example.report)}   # the JUnit XML that the tests write", ""]
    command = f"test = {json.dumps(list(example.test))}"
    return "\n".join([*(report if example.report else []), "[commands]", command]) + "\n"
