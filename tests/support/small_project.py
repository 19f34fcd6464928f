"""A project whose tests take no time: its policy names a shell script that writes a JUnit report."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from tests.support.projects import Project
from tests.support.repos import Repo, make_repo

_POLICY: Final = """\
stack = "unknown"
report = "report.xml"

[commands]
test = ["sh", "check.sh"]
"""
_CHECK: Final = """\
inner= failures=0
if ! grep -q right answer.txt; then
  inner='<failure message="the answer is wrong"/>' failures=1
fi
{
  printf '<testsuite tests="1" failures="%s" errors="0" skipped="0">' $failures
  printf '<testcase classname="answer" name="is_right">%s</testcase></testsuite>' "$inner"
} > report.xml
exit $failures
"""


def small_project() -> Project:
    """A project that is green once `answer.txt` says `right`."""
    return Project(
        name="small",
        files={
            ".autopilot.toml": _POLICY,
            ".gitignore": "report.xml\n",
            "answer.txt": "wrong\n",
            "check.sh": _CHECK,
        },
        broken_path="answer.txt",
        broken_text="wrong",
        fixed_text="right",
        test_argv=("sh", "check.sh"),
        test_paths=("check.sh",),
    )


def small_repo(root: Path) -> Repo:
    """A remote and a checkout of the project."""
    return make_repo(root, project=small_project())
