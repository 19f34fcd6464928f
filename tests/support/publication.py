"""One publication as the daemon would order it: mirror, run repository, request, spec.

The repository's gates are a shell script that writes its own report, so that they take
milliseconds; the publisher, git and the forge are real.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Final

from tests.support.gitcmd import AUTHOR_EMAIL, AUTHOR_NAME, git
from tests.support.repos import commit_files, init_bare

BRANCH: Final = "autopilot/t-3-split-the-bill"
TICKET: Final = "T-3"
RUN: Final = "T-3-a1-01234567"
CREDENTIAL: Final = "forge-token"
BASE_FILES: Final = {
    ".autopilot.toml": (
        'stack = "unknown"\nreport = "report.xml"\n'
        '[commands]\nbuild = ["sh", "-n", "check.sh"]\ntest = ["sh", "check.sh"]\n'
    ),
    "check.sh": (
        'read -r shares < shares.txt\nfail=""\n'
        '[ "$shares" = "334 333 333" ] || fail="<failure message=\'a cent is lost\'/>"\n'
        "cat > report.xml <<END\n"
        '<testsuite name="bill" tests="2"><testcase classname="bill" name="even"/>'
        '<testcase classname="bill" name="sum">$fail</testcase></testsuite>\nEND\n'
        '[ -z "$fail" ]\n'
    ),
    "shares.txt": "333 333 333\n",
    "README.md": "# bill\n",
}
FIX: Final = {"shares.txt": "334 333 333\n"}
MESSAGE: Final = "Share out every cent\n\nThe first people pay one more.\n\nRef: T-3\n"


@dataclass(frozen=True, slots=True)
class Publication:
    """Where everything of one publication lies; `spec` is its order as a JSON value."""

    root: Path
    remote: Path
    mirror: Path
    source: Path
    base_sha: str
    head: str
    forge: dict[str, Any]
    changed: dict[str, Any] = field(default_factory=dict)
    claims: dict[str, Any] = field(default_factory=dict)

    @property
    def folder(self) -> Path:
        """Where the spec, the verdict and the progress lines are."""
        return self.root / "state" / "publish"

    @property
    def spec_file(self) -> Path:
        return self.folder / "spec.json"

    @property
    def verdict_file(self) -> Path:
        return self.root / "state" / "pr-requests" / "P-3.verdict.json"

    @property
    def request_file(self) -> Path:
        return self.root / "state" / "pr-requests" / "P-3.json"

    def spec(self) -> dict[str, Any]:
        """The order, with what the test changed."""
        return {
            "id": "P-3",
            "ticket_id": TICKET,
            "ticket_ref": TICKET,
            "run_id": RUN,
            "request": str(self.request_file),
            "verdict": str(self.verdict_file),
            "workdir": str(self.folder / "work"),
            "source": str(self.source),
            "mirror": str(self.mirror),
            "forge": self.forge,
            "base": "main",
            "base_sha": self.base_sha,
            "branch": BRANCH,
            "head": self.head,
            "recorded_branch": BRANCH,
            "expected_remote_head": None,
            "idempotency_key": RUN,
            "identity": {"name": AUTHOR_NAME, "email": AUTHOR_EMAIL, "username": "bot"},
            "recorded_gates": [self._gate(name) for name in ("build", "test-summary", "evidence")],
            "gate_s": 60,
            "kill_grace_s": 1,
            "created_ms": 1,
            **self.changed,
        }

    def request(self) -> dict[str, Any]:
        """What the run claims, with what the test changed."""
        return {
            "id": "P-3",
            "ticket": TICKET,
            "run": RUN,
            "repo_id": "demo",
            "base": "main",
            "branch": BRANCH,
            "head": self.head,
            "title": "Share out every cent",
            "summary": "The first people pay one cent more.",
            "created_ms": 1,
            **self.claims,
        }

    def with_spec(self, **changed: Any) -> "Publication":  # noqa: ANN401 - any field of the order
        return replace(self, changed={**self.changed, **changed})

    def with_claims(self, **claims: Any) -> "Publication":  # noqa: ANN401 - any field of the request
        return replace(self, claims={**self.claims, **claims})

    def with_head(self, head: str) -> "Publication":
        return replace(self, head=head)

    def write(self) -> Path:
        """Put order and request in place; gives the order's path."""
        for path, value in ((self.spec_file, self.spec()), (self.request_file, self.request())):
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(json.dumps(value), encoding="utf-8")
        return self.spec_file

    def _gate(self, name: str) -> dict[str, Any]:
        counts = {"executed": 2, "passed": 2, "failed": 0, "errored": 0, "skipped": 0}
        return {
            "gate": name,
            "verdict": "passed",
            "mandatory": True,
            "head": self.head,
            "base": self.base_sha,
            "started_ms": 1,
            "duration_ms": 10,
            "counts": counts if name == "test-summary" else None,
        }


def commit(
    publication: Publication, files: Mapping[str, str | bytes], message: str = MESSAGE, *, onto: str = ""
) -> str:
    """Make a commit in the run's repository as the runner would; gives its sha."""
    git(publication.source, "update-ref", f"refs/heads/{BRANCH}", onto or publication.base_sha)
    return commit_files(publication.source, BRANCH, files, message=message)


def make_publication(
    root: Path,
    remote: Path,
    forge: dict[str, Any],
    files: Mapping[str, str | bytes] = FIX,
) -> Publication:
    """Fetch the remote's base into a mirror, and commit on top of it in a run's repository.

    Args:
        root: a folder for all of it.
        remote: the bare repository behind the forge, with `BASE_FILES` on main.
        forge: the spec's `forge` value.
        files: what the commit changes.
    """
    mirror = init_bare(root / "state" / "mirrors" / "demo.git")
    git(mirror, "fetch", "-q", str(remote), "refs/heads/main:refs/autopilot/base/main")
    base_sha = git(mirror, "rev-parse", "refs/autopilot/base/main")
    source = init_bare(root / "state" / "runs" / RUN / "judge.git")
    (source / "objects" / "info").mkdir(exist_ok=True)
    (source / "objects" / "info" / "alternates").write_text(f"{mirror / 'objects'}\n")
    made = Publication(root, remote, mirror, source, base_sha, "", forge)
    return made.with_head(commit(made, files))


def local_publication(root: Path, files: Mapping[str, str | bytes] = FIX) -> Publication:
    """A publication to the embedded forge."""
    remote = init_bare(root / "remote.git")
    commit_files(remote, "main", BASE_FILES, message="Initial commit")
    forge = {
        "kind": "local",
        "push_url": str(remote),
        "project": "demo",
        "record_dir": str(root / "state" / "forge" / "demo"),
    }
    return make_publication(root, remote, forge, files)
