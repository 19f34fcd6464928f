"""What a remote's branches show now, asked by git: which there are, and what a base contains.

Each branch is fetched at most once, into a bare repository of ours that is thrown away. Must not change the
remote, and must not answer where git could not.
Source: git-ls-remote(1), git-merge-base(1) "--is-ancestor".
"""

from __future__ import annotations

import os
from dataclasses import replace
from typing import TYPE_CHECKING

from autopilot.config.git import GitError
from autopilot.publish.remote import translated
from autopilot.publish.staging import FETCH
from autopilot.publish.stops import Stop

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path
    from typing import Unpack

    from autopilot.config.git import Git, Where
    from autopilot.publish.askpass import Access

_SHA256_DIGITS = 64


class Heads:
    """One remote, looked at when it is first asked about."""

    def __init__(self, git: Git, place: Path, url: str, *, access: Access, mirror: Path | None) -> None:
        """Take git, where a repository may be made, the remote, and whose objects to borrow."""
        self._git = replace(git, env=access.env)
        self._place = place
        self._url = url
        self._access = access
        self._mirror = mirror
        self._listed: Mapping[str, str] | None = None
        self._fetched: dict[str, str] = {}

    def is_gone(self, branch: str) -> bool:
        """Tell whether a branch is not there."""
        return branch not in self._all()

    def holds(self, base: str, sha: str) -> bool:
        """Tell whether a base branch contains a commit.

        Raises:
            TransientError: the remote cannot be reached now.
            Stop: it has no such base, or refuses us.
        """
        ref = self._fetch(base)
        try:
            if not self._git.check("cat-file", "-e", sha, git_dir=self._place):
                return False  # the whole history of the base is here, and this is not in it
            return self._git.check("merge-base", "--is-ancestor", sha, ref, git_dir=self._place)
        except GitError as exc:
            raise translated(exc, self._access) from exc

    def _all(self) -> Mapping[str, str]:
        if self._listed is None:
            listed = self._ask("ls-remote", "--quiet", "--heads", "--", self._url)
            rows = (line.partition(b"\t") for line in listed.split(b"\n") if line)
            self._listed = {
                os.fsdecode(name.removeprefix(b"refs/heads/")): sha.decode("ascii", "replace")
                for sha, _, name in rows
            }
        return self._listed

    def _fetch(self, base: str) -> str:
        tip = self._all().get(base)
        if tip is None:
            raise Stop(
                "base-missing",
                f"the remote shows no base branch {base!r}",
                waiting_for="configuration",
                hint="check push_url in the configuration",
            )
        if base not in self._fetched:
            self._make(tip)
            ref = f"refs/asked/{len(self._fetched)}"
            self._ask(*FETCH, "--", self._url, f"refs/heads/{base}:{ref}", git_dir=self._place)
            self._fetched[base] = ref
        return self._fetched[base]

    def _make(self, sha: str) -> None:
        if self._place.exists():
            return
        kind = "sha256" if len(sha) == _SHA256_DIGITS else "sha1"
        self._ask("init", "--quiet", "--bare", "--template=", f"--object-format={kind}", str(self._place))
        if self._mirror is not None and (self._mirror / "objects").is_dir():
            info = self._place / "objects" / "info"
            info.mkdir(exist_ok=True)
            (info / "alternates").write_text(f"{self._mirror.resolve() / 'objects'}\n", encoding="utf-8")

    def _ask(self, *args: str, **where: Unpack[Where]) -> bytes:
        try:
            return self._git.run(*args, **where)
        except GitError as exc:
            raise translated(exc, self._access) from exc
