"""What the forge knows: bare repositories on disk, and pull requests in memory.

Branches are always asked of git, never remembered, so that a push is seen at once.
"""

import threading
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

from tests.support.gitcmd import git, has_ref
from tests.support.repo_traps import write_script
from tests.support.repos import commit_files, init_bare

PROTECTED_LIST: Final = "protected-branches"
_PRE_RECEIVE: Final = f"""\
while read -r old new ref; do
  if grep -qxF "$ref" {PROTECTED_LIST}; then
    echo "error: GH006: Protected branch update failed for $ref." >&2
    exit 1
  fi
done
exit 0"""


@dataclass(frozen=True, slots=True)
class Pull:
    """One pull request; `sha` is the head's commit when it was last known."""

    repo: str
    number: int
    title: str
    body: str | None
    head: str
    base: str
    draft: bool
    sha: str
    state: str = "open"
    is_merged: bool = False


class Repositories:
    """The forge's bare repositories, `owner/name` each."""

    def __init__(self, root: Path) -> None:
        self.root = root

    def path(self, full_name: str) -> Path | None:
        """Where a repository lies, or None when the forge has none of that name."""
        if ".." in full_name or full_name not in self.names():
            return None
        return self.root / f"{full_name}.git"

    def names(self) -> list[str]:
        found = self.root.glob("*/*.git")
        return sorted(f"{path.parent.name}/{path.name.removesuffix('.git')}" for path in found)

    def add(self, full_name: str, files: dict[str, str] | None = None, *, base: str = "main") -> Path:
        """A repository with one commit on `base`; pushing is allowed, nothing is protected."""
        path = init_bare(self.root / f"{full_name}.git", base)
        git(path, "config", "http.receivepack", "true")
        commit_files(path, base, files or {"README.md": "# seed\n"}, message="Initial commit")
        (path / PROTECTED_LIST).write_text("")
        write_script(path / "hooks" / "pre-receive", _PRE_RECEIVE)
        return path

    def protect(self, full_name: str, branch: str) -> None:
        """Refuse every push to a branch, as the real service does."""
        with (self.existing(full_name) / PROTECTED_LIST).open("a") as listed:
            listed.write(f"refs/heads/{branch}\n")

    def is_protected(self, full_name: str, branch: str) -> bool:
        listed = (self.existing(full_name) / PROTECTED_LIST).read_text().splitlines()
        return f"refs/heads/{branch}" in listed

    def existing(self, full_name: str) -> Path:
        path = self.path(full_name)
        assert path, f"the forge has no repository {full_name}"
        return path

    def default_branch(self, full_name: str) -> str:
        head = git(self.existing(full_name), "symbolic-ref", "HEAD")
        return head.removeprefix("refs/heads/")

    def tip(self, full_name: str, branch: str) -> str | None:
        """The commit of a branch, or None when there is no such branch."""
        path, ref = self.existing(full_name), f"refs/heads/{branch}"
        return git(path, "rev-parse", ref) if branch and has_ref(path, ref) else None

    def commits_between(self, full_name: str, base: str, head: str) -> int:
        span = f"refs/heads/{base}..refs/heads/{head}"
        return int(git(self.existing(full_name), "rev-list", "--count", span))

    def delete_branch(self, full_name: str, branch: str) -> None:
        git(self.existing(full_name), "update-ref", "-d", f"refs/heads/{branch}")


class Pulls:
    """All pull requests; every method may be called from any thread."""

    def __init__(self, repositories: Repositories) -> None:
        self._repositories = repositories
        self._pulls: dict[tuple[str, int], Pull] = {}
        self._lock = threading.Lock()

    def open_or_find(self, wanted: Pull) -> tuple[Pull, bool]:
        """Open a pull request; the flag tells whether it is new.

        An open one for the same head and base is returned instead of a second one.
        """
        with self._lock:
            for pull in self._pulls.values():
                same = (pull.repo, pull.head, pull.base) == (wanted.repo, wanted.head, wanted.base)
                if same and pull.state == "open":
                    return pull, False
            number = 1 + sum(1 for repo, _ in self._pulls if repo == wanted.repo)
            opened = replace(wanted, number=number)
            self._pulls[opened.repo, opened.number] = opened
            return opened, True

    def all(self, full_name: str) -> list[Pull]:
        """Newest first; the head's sha follows its branch while the request is open."""
        with self._lock:
            found = [pull for pull in self._pulls.values() if pull.repo == full_name]
        return [self._fresh(pull) for pull in reversed(found)]

    def get(self, full_name: str, number: int) -> Pull | None:
        with self._lock:
            pull = self._pulls.get((full_name, number))
        return self._fresh(pull) if pull else None

    def put(self, pull: Pull) -> Pull:
        with self._lock:
            self._pulls[pull.repo, pull.number] = pull
        return pull

    def _fresh(self, pull: Pull) -> Pull:
        if pull.state != "open":
            return pull
        return replace(pull, sha=self._repositories.tip(pull.repo, pull.head) or pull.sha)
