"""Commands that the policy gives and no adapter knows: they must say where their JUnit XML goes.

Must not judge by an exit code alone: without a report there is no test command.
"""

from __future__ import annotations

from pathlib import PurePosixPath
from typing import TYPE_CHECKING

from autopilot.runner.stacks.stack import REPORT_SLOT, CannotRun, Command, TestCommand
from autopilot.schemas.errors import ConfigError
from autopilot.schemas.policy import POLICY_FILE

if TYPE_CHECKING:
    from autopilot.runner.stacks.stack import Place
    from autopilot.schemas.policy import Policy

HOW = (
    f"in {POLICY_FILE} write {REPORT_SLOT} where the command takes the path of its JUnit XML, e.g. "
    f'test = ["npx", "vitest", "run", "--reporter=junit", "--outputFile={REPORT_SLOT}"], '
    'or say where it writes by itself: report = "build/reports/*.xml"'
)


def refusal(policy: Policy) -> ConfigError | None:
    """Say why the policy's test command could not be judged."""
    if policy.commands.test is None:
        return ConfigError("no-test-command", "there is no test command for this repository", hint=HOW)
    if any(REPORT_SLOT in word for word in policy.commands.test):
        return None
    if policy.report is None:
        what = f"commands.test ({' '.join(policy.commands.test)}) names no JUnit report"
        return ConfigError("no-report", what, hint=HOW)
    if not _is_below(policy.report):
        return ConfigError("bad-report", f"report = {policy.report!r} is no path below the root", hint=HOW)
    return None


def test_command(place: Place) -> TestCommand | CannotRun:
    """Run the policy's own command and read the report it names."""
    argv = place.policy.commands.test
    fault = refusal(place.policy)
    if argv is None or fault is not None:
        return CannotRun("no-report", fault.what if fault else "there is no test command")
    if any(REPORT_SLOT in word for word in argv):
        report = place.written / "junit.xml"
        filled = tuple(word.replace(REPORT_SLOT, str(report)) for word in argv)
        return TestCommand(command=Command(filled), report=report)
    return TestCommand(command=Command(argv), pattern=place.policy.report)


def _is_below(pattern: str) -> bool:
    """Tell whether a pattern can be looked for, and only below the root; `**` has to stand alone."""
    path = PurePosixPath(pattern)
    is_odd = any(part == ".." or ("**" in part and part != "**") for part in path.parts)
    return bool(path.parts) and not path.is_absolute() and not is_odd and pattern.isprintable()
