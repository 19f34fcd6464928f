"""Nothing is pushed unless every check has come to its end for exactly this commit, however one breaks."""

from __future__ import annotations

import errno
import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from autopilot.config.clock import SystemClock
from autopilot.config.gitfault import GitError
from autopilot.publish import __main__ as edge
from autopilot.publish import publisher
from autopilot.publish.checks.registry import CHECKS, Check
from autopilot.publish.context import Context, Findings
from autopilot.publish.files import read_spec
from autopilot.publish.progress import Progress
from autopilot.schemas.errors import TransientError
from autopilot.schemas.publication import PublishSpec
from tests.support.publication import BRANCH, FIX, Publication, commit, local_publication
from tests.support.publisher import branches, local_pull_requests, read_verdict, run_publisher
from tests.support.repo_traps import write_script

SECRET = "ghp" + "_" + "R9dK2mQ7xV4bT8nL1cF6hJ3pZ5wY0sAaGgE4"
PURPOSEFUL: tuple[Callable[[], Exception], ...] = (
    lambda: GitError("git-timeout", "git took longer than 5 s"),
    lambda: TransientError("machine-busy", "no descriptor is left"),
)
UNFORESEEN: tuple[Callable[[], Exception], ...] = (
    lambda: RecursionError("too deep"),
    lambda: ValueError("no number"),
)
PASSING: tuple[Callable[[], Exception], ...] = (MemoryError, lambda: OSError(errno.ENOSPC, "no space"))
"""What comes to an end by itself: nothing leaves, and it is tried again."""
NAMES = [check.name for check in CHECKS]


def only(name: str, error: Exception | None) -> tuple[Check, ...]:
    """Every check passes but this one, which breaks; staging is real, or there would be nothing to push."""

    def breaks(_: Context) -> Findings:
        if error is None:
            return Findings()
        raise error

    passing = tuple(
        check if check.name == "staging" else replace(check, run=lambda _: Findings(), needs=frozenset())
        for check in CHECKS
    )
    if error is None:
        return passing
    return tuple(replace(check, run=breaks) if check.name == name else check for check in passing)


def published(publication: Publication) -> bool:
    return BRANCH in branches(publication.remote) or bool(local_pull_requests(publication))


def publish(publication: Publication) -> None:
    spec_file, clock = publication.write(), SystemClock()
    spec = read_spec(PublishSpec, spec_file)
    edge.run(spec, Progress(spec_file.parent / "publish-events.jsonl", clock, spec.id), clock)


@pytest.mark.field_report("DMN-040")
@pytest.mark.parametrize("name", NAMES)
def test_a_check_that_breaks_in_whatever_way_keeps_the_commit_here_and_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    publication = local_publication(tmp_path)
    for make in (*PURPOSEFUL, *UNFORESEEN, *PASSING):
        error = make()
        monkeypatch.setattr(publisher, "CHECKS", only(name, error))
        publish(publication)
        verdict = read_verdict(publication)
        assert not published(publication), (error, verdict)
        if make in PURPOSEFUL:
            lines = {line["check"]: line for line in verdict["checks"]}
            assert verdict["code"] == f"check-{name}"
            assert [other for other, line in lines.items() if not line["passed"]] == [name]
            assert lines[name]["reasons"][0].startswith("could not be checked: ")
        elif make in PASSING:
            assert verdict["outcome"] == "publish-deferred"
        else:
            assert verdict["outcome"] == "verification-failed"
            assert verdict["message"] == f"the publisher broke in its check {name}: {type(error).__name__}"
    monkeypatch.setattr(publisher, "CHECKS", only(name, None))
    publish(publication)
    assert published(publication), read_verdict(publication)


FAULTS = {
    "missing": "exit 127",
    "refuses": "echo 'fatal: not a git repository' >&2; exit 128",
    "crashes": "kill -SEGV $$",
    "hangs": "trap '' TERM; while :; do sleep 0.2; done",
    "is cut short": '"$real" "$@" | head -c 20; exit 0',
    "says nothing": "cat > /dev/null; exit 0",
}


@pytest.mark.slow
@pytest.mark.field_report("DMN-040")
@pytest.mark.parametrize("fault", FAULTS)
def test_a_secret_scan_that_cannot_end_lets_nothing_out_and_a_whole_one_finds_the_secret(
    tmp_path: Path, fault: str
) -> None:
    """DMN-040: a checker that had failed three times was not asked again, and everything was allowed."""
    publication = local_publication(tmp_path)
    publication = publication.with_head(commit(publication, {**FIX, "a.py": f'TOKEN = "{SECRET}"\n'}))
    events = publication.folder / "publish-events.jsonl"
    broken = tmp_path / "broken"
    # The last check before the scan has just been told of: whatever git is asked now, the scan asks.
    last = f"while read -r line; do last=$line; done < '{events}'"
    write_script(
        tmp_path / "bin" / "git",
        f"real='{shutil.which('git')}'\n"
        f"if [ -e '{broken}' ] && [ -e '{events}' ]; then\n{last}\n"
        f"""case $last in *'"check":"packages"'*)\n{FAULTS[fault]}\n;; esac\nfi\n"""
        'exec "$real" "$@"',
    )
    path = f"{tmp_path / 'bin'}:/usr/local/bin:/usr/bin:/bin"
    broken.touch()
    for _ in range(3 if fault == "crashes" else 1):
        done = run_publisher(publication.with_spec(git_s=5), PATH=path)
        assert not published(publication)
        assert done.verdict["outcome"] == "verification-failed"
        assert "secrets" in done.verdict["message"]
        assert done.failed in ([], ["secrets"])
        assert SECRET not in str(done.verdict)
    broken.unlink()
    done = run_publisher(publication, PATH=path)
    assert not published(publication)
    assert "github-token" in done.reasons("secrets")
    assert run_publisher(publication.with_head(commit(publication, FIX)), PATH=path).failed == []
    assert published(publication)
