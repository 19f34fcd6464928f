"""What a delivery asks git for, answered from the virtual remote."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from autopilot.config.gitfault import GitError
from autopilot.schemas.errors import TransientError

if TYPE_CHECKING:
    from tests.simulation.forge import VirtualForge


@dataclass(slots=True)
class VirtualGit:
    """One publisher's git."""

    forge: VirtualForge
    project: str
    seen: dict[str, str] = field(default_factory=dict)
    """What this publisher was last shown of each branch."""

    def run(self, *args: str, **_: Any) -> bytes:
        match args[0]:
            case "ls-remote":
                return self._heads(args[-2:])
            case "push":
                return self._push(args)
            case "rev-list":
                return b"1"
            case _:
                return b""

    def check(self, *args: str, **_: Any) -> bool:
        return True

    def lines_z(self, *args: str, **_: Any) -> list[bytes]:
        return []

    def _heads(self, names: tuple[str, ...]) -> bytes:
        remote = self.forge.remote(self.project)
        with self._transient("ls-remote"):
            shown = {"refs/heads/main": remote.base_sha}
            shown |= {f"refs/heads/{name}": sha for name, sha in remote.branches.items()}
            remote.asked_about |= {name.removeprefix("refs/heads/") for name in names[:1]}
            self.seen = shown
            lines = [f"{shown[name]}\t{name}" for name in names if name in shown]
            return "\n".join(["ref: refs/heads/main\tHEAD", *lines]).encode()

    def _push(self, args: tuple[str, ...]) -> bytes:
        remote = self.forge.remote(self.project)
        leases = [arg.rpartition(":")[2] for arg in args if arg.startswith("--force-with-lease=")]
        sha, _, ref = args[-1].lstrip("+").partition(":")
        branch = ref.removeprefix("refs/heads/")
        with self._transient(f"push {branch}"):
            there = remote.branches.get(branch, "")
            if any(there != expected for expected in leases):
                raise GitError("git-rejected", "stale info")
            if there in remote.of_persons or there not in {"", sha, self.seen.get(ref, "")}:
                remote.written_over.append(f"{there[:12]} of {branch} was written over by {sha[:12]}")
            remote.pushed.add((branch, sha))
            remote.arrive(branch, sha)
        return b""

    @contextmanager
    def _transient(self, deed: str) -> Iterator[None]:
        try:
            with self.forge.across(deed):
                yield
        except TransientError as exc:
            raise GitError("git-network", exc.what, stderr_tail=exc.what) from exc
