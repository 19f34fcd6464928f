"""The embedded forge: a bare repository to push to, and one JSON record per pull request.

`autopilot review` shows the records. Must not run git: what the repository holds is asked through staging.
"""

from __future__ import annotations

import fcntl
import os
from contextlib import contextmanager
from typing import TYPE_CHECKING, Literal, Protocol

from pydantic import Field, ValidationError

from autopilot.config.atomic import make_folder, write_atomically
from autopilot.publish.forges.forge import Known, Wanted
from autopilot.publish.stops import Stop
from autopilot.schemas.publication import PullRequest
from autopilot.schemas.records import EpochMs, Record, Sha

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from autopilot.config.clock import Clock

_PATTERN = "pr-*.json"


class LocalPullRequest(Record):
    """One record, `pr-<number>.json`."""

    record_version: Literal[1] = 1
    number: int = Field(ge=1)
    project: str
    state: Literal["open", "closed", "merged"] = "open"
    draft: bool = True
    title: str
    body: str
    branch: str
    base: str
    head: Sha
    created_ms: EpochMs
    updated_ms: EpochMs

    @property
    def url(self) -> str:
        """Name it; the embedded forge has no web pages."""
        return f"local://{self.project}/pull/{self.number}"


def read_records(folder: Path) -> tuple[LocalPullRequest, ...]:
    """Read every pull request of one repository, oldest first; unreadable files are left out."""
    found = (_read(path) for path in folder.glob(_PATTERN))
    return tuple(sorted((each for each in found if each is not None), key=lambda each: each.number))


def record_path(folder: Path, number: int) -> Path:
    """Name the file of a pull request."""
    return folder / f"pr-{number}.json"


class Shown(Protocol):
    """What git must be asked about the remote. Each may raise: then nothing is known."""

    def holds(self, base: str, sha: str) -> bool:
        """Tell whether a base branch contains a commit."""
        ...

    def is_gone(self, branch: str) -> bool:
        """Tell whether a person has deleted a branch of ours."""
        ...


class LocalForge:
    """Pull requests in a folder."""

    def __init__(self, folder: Path, project: str, *, clock: Clock, remote: Shown) -> None:
        """Take the folder, the repository's name, the clock, and who knows what the remote shows."""
        self._folder = folder
        self._project = project
        self._clock = clock
        self._remote = remote

    def protection(self, branch: str) -> str | None:
        """Nothing to tell: a bare repository protects no branch."""
        del branch
        return None

    def find(self, branch: str) -> Known | None:
        """Find the record of a branch; one whose commit has reached the base counts as merged.

        Raises:
            Stop: `record-unreadable`: no open one is found, and one that cannot be read may be it.
        """
        records = [each for each in read_records(self._folder) if each.branch == branch]
        found = next((each for each in records if each.state == "open"), None)
        if found is None:
            for number in sorted(_numbers(self._folder)):
                self._record(number)
        return self._known(found or records[-1]) if found or records else None

    def get(self, number: int) -> Known:
        """Read the record of this number."""
        return self._known(self._record(number))

    def create(self, wanted: Wanted) -> PullRequest:
        """Write a record under the next number, or give the one that is there."""
        with self._locked():
            known = self.find(wanted.branch)
            if known is not None:
                return known.pr
            number = 1 + max(_numbers(self._folder), default=0)
            now_ms = self._clock.now_ms()
            record = LocalPullRequest(
                number=number,
                project=self._project,
                title=wanted.title,
                body=wanted.body,
                branch=wanted.branch,
                base=wanted.base,
                head=wanted.head,
                created_ms=now_ms,
                updated_ms=now_ms,
            )
            self._write(record)
        return PullRequest(number=number, url=record.url, draft=True)

    def weaknesses(self, branch: str) -> tuple[str, ...]:
        """There is no token, and what it records holds nobody."""
        del branch
        return ()

    def update(self, known: Known, *, body: str, head: str) -> None:
        """Replace the text of a record, and the commit that it shows."""
        with self._locked():
            record = self._record(known.pr.number)
            changed = {"body": body, "head": head, "updated_ms": self._clock.now_ms()}
            self._write(record.model_copy(update=changed))

    def _known(self, record: LocalPullRequest) -> Known:
        state = record.state
        if state == "open" and self._remote.holds(record.base, record.head):
            state = "merged"
        elif state == "open" and self._remote.is_gone(record.branch):
            state = "closed"
        shown = PullRequest(number=record.number, url=record.url, draft=record.draft, state=state)
        return Known(shown, record.head, record.base, record.body, author="", branch=record.branch)

    def _record(self, number: int) -> LocalPullRequest:
        path = record_path(self._folder, number)
        record = _read(path)
        if record is None:
            raise Stop(
                "record-unreadable",
                f"the record of pull request {number} cannot be read",
                waiting_for="configuration",
                hint=f"look at {path}: mend it, or move it away if it is of no branch that is open",
            )
        return record

    def _write(self, record: LocalPullRequest) -> None:
        path = record_path(self._folder, record.number)
        write_atomically(path, (record.model_dump_json(indent=1) + "\n").encode())

    @contextmanager
    def _locked(self) -> Iterator[None]:
        make_folder(self._folder)
        handle = os.open(self._folder / ".lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            fcntl.flock(handle, fcntl.LOCK_EX)
            yield
        finally:
            os.close(handle)


def _numbers(folder: Path) -> Iterator[int]:
    """Give every number that is taken, also by a record that cannot be read."""
    for path in folder.glob(_PATTERN):
        number = path.stem.removeprefix("pr-")
        if number.isdecimal():
            yield int(number)


def _read(path: Path) -> LocalPullRequest | None:
    try:
        return LocalPullRequest.model_validate_json(path.read_bytes())
    except (OSError, ValidationError):
        return None
