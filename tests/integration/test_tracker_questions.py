"""A publisher's child reads an issue, or looks at a tracker's credential, and writes a report."""

import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from autopilot.config.secrets import variable_for
from autopilot.schemas.publication import ReachReport
from autopilot.schemas.tracking import IssueReport, IssueSpec, TrackerCheckSpec, TrackerSpec
from tests.support.gitcmd import git_environment
from tests.support.jira import Jira, JiraIssue


@pytest.fixture
def server() -> Iterator[Jira]:
    with Jira() as made:
        made.put(JiraIssue("ABC-7", "Mend it", "text"))
        yield made


def asked(act: str, spec: IssueSpec | TrackerCheckSpec, folder: Path, **secrets: str) -> bytes:
    """Start the child as the daemon does, and give its report."""
    file = folder / "spec.json"
    file.write_text(spec.model_dump_json(), encoding="utf-8")
    env = {**git_environment(), "PYTHONPATH": str(Path("src").absolute())}
    env |= {variable_for(name): value for name, value in secrets.items()}
    argv = [sys.executable, "-P", "-m", "autopilot.publish", act, str(file)]
    done = subprocess.run(argv, env=env, cwd=folder, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0, done.stderr
    for secret in secrets.values():
        assert secret not in done.stdout + done.stderr + spec.report.read_text(encoding="utf-8")
    return spec.report.read_bytes()


def spec_for(server: Jira, folder: Path, reference: str = "ABC-7") -> IssueSpec:
    tracker = TrackerSpec(kind="jira", name="jira", url=server.url, credential="jira")
    return IssueSpec(
        report=folder / "report.json", workdir=folder / "work", tracker=tracker, reference=reference
    )


def test_an_issue_is_reported_and_the_token_is_in_no_file(server: Jira, tmp_path: Path) -> None:
    report = IssueReport.model_validate_json(
        asked("read", spec_for(server, tmp_path), tmp_path, jira=server.token)
    )
    assert report.issue is not None
    assert (report.issue.title, report.issue.body, report.code) == ("Mend it", "text", "")


def test_who_can_mend_what_was_in_the_way_is_reported(server: Jira, tmp_path: Path) -> None:
    def told(token: str, reference: str = "ABC-7") -> tuple[str, str]:
        given = {"jira": token} if token else {}
        content = asked("read", spec_for(server, tmp_path, reference), tmp_path, **given)
        report = IssueReport.model_validate_json(content)
        assert report.issue is None
        assert report.message
        assert report.hint
        return report.acts, report.code

    server.put(JiraIssue("ABC-9", "x", creator="john doe"))
    assert told(server.token, "ABC-9") == ("author", "author-unknown")
    assert told("wrong") == ("operator", "tracker-refused-credential")
    assert told("") == ("operator", "credential-missing")
    assert told(server.token, "ABC-8") == ("author", "issue-not-found")
    server.close()
    assert told(server.token) == ("nobody", "tracker-unavailable")


@pytest.mark.parametrize("act", ["read", "reach"])
def test_a_publisher_that_breaks_says_so_and_where(server: Jira, tmp_path: Path, act: str) -> None:
    spec = spec_for(server, tmp_path)
    spec.workdir.write_text("in the way", encoding="utf-8")
    if act == "read":
        read = IssueReport.model_validate_json(asked("read", spec, tmp_path, jira=server.token))
        assert (read.issue, read.acts, read.code) == (None, "us", "bug")
        assert read.hint
        said = read.message
    else:
        wanted = TrackerCheckSpec(report=spec.report, workdir=spec.workdir, tracker=spec.tracker)
        looked = ReachReport.model_validate_json(asked("reach", wanted, tmp_path, jira=server.token))
        assert looked.code == "bug"
        said = looked.message
    assert re.fullmatch(r"it broke at workspace\.py:\d+: FileExistsError", said)


def test_what_the_token_may_is_reported(server: Jira, tmp_path: Path) -> None:
    server.may.add("DELETE_ISSUES")
    spec = TrackerCheckSpec(
        report=tmp_path / "report.json",
        workdir=tmp_path / "work",
        tracker=spec_for(server, tmp_path).tracker,
    )
    report = ReachReport.model_validate_json(asked("reach", spec, tmp_path, jira=server.token))
    assert report.weaknesses == ("it may delete issues",)
