"""The virtual forge: branches, pull requests, and a network that fails before or after the deed."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

from autopilot.config.gitfault import GitError
from autopilot.publish.forges.forge import Known, Wanted
from autopilot.publish.stops import Stop
from autopilot.schemas.errors import TransientError
from autopilot.schemas.publication import ForgeSpec, PullRequest
from tests.simulation.ends import ChildHangs, ChildKilled

if TYPE_CHECKING:
    from tests.simulation.world import World

FIRST_BASE = "b" * 40
_RATE_LIMIT_S = 45.0


@dataclass
class Pull:
    """A pull request."""

    number: int
    branch: str
    base: str
    head: str
    body: str
    state: Literal["open", "closed", "merged"] = "open"
    is_draft: bool = True
    is_deleted: bool = False


@dataclass
class Remote:
    """One repository at the forge."""

    base_sha: str = FIRST_BASE
    branches: dict[str, str] = field(default_factory=dict)
    pulls: list[Pull] = field(default_factory=list)
    pushed: set[tuple[str, str]] = field(default_factory=set)
    """Every (branch, commit) that ever arrived."""
    touched: set[str] = field(default_factory=set)
    """Branches that a person changed or removed."""


class VirtualForge:
    """Everything beyond the network."""

    def __init__(self, world: World) -> None:
        self._world = world
        self.remotes: dict[str, Remote] = {}

    def remote(self, project: str) -> Remote:
        return self.remotes.setdefault(project, Remote())

    @contextmanager
    def across(self, deed: str) -> Iterator[None]:
        """The network: what is inside may not happen, or happen without anybody hearing of it."""
        world = self._world
        self._fail(f"before {deed}", 0.05)
        yield
        world.note(f"forge: {deed}")
        self._fail(f"after {deed}", 0.15)

    def _fail(self, when: str, probability: float) -> None:
        world = self._world
        if not world.is_fault(probability):
            return
        fate = world.chance.one_of(["network", "network", "rate", "killed", "killed", "hangs"])
        world.note(f"forge: {fate} {when}")
        match fate:
            case "rate":
                raise TransientError("rate-limited", "ask later", retry_after_s=_RATE_LIMIT_S)
            case "killed":
                raise ChildKilled
            case "hangs":
                raise ChildHangs
            case _:
                raise TransientError("forge-unreachable", f"no answer {when}")

    def somebody_acts(self) -> None:
        """A person, or another program, does something at the forge."""
        world = self._world
        remote = world.chance.one_of([self.remote(name) for name in ("shop", "till")])
        open_ones = [pull for pull in remote.pulls if pull.state == "open" and not pull.is_deleted]
        deeds = ["base moves", "merges", "merges", "closes", "deletes", "readies", "pushes", "drops branch"]
        deed = world.chance.one_of(deeds)
        world.note(f"somebody at the forge: {deed}")
        if deed == "base moves":
            remote.base_sha = world.new_sha()
            return
        if not open_ones:
            return
        pull = world.chance.one_of(open_ones)
        if deed in {"merges", "closes", "deletes", "readies"}:
            pull.state = "merged" if deed == "merges" else "closed" if deed == "closes" else pull.state
            pull.is_deleted = deed == "deletes"
            pull.is_draft = pull.is_draft and deed != "readies"
            return
        remote.touched.add(pull.branch)
        if deed == "pushes":
            pull.head = remote.branches[pull.branch] = world.new_sha()
        else:
            remote.branches.pop(pull.branch, None)

    def merge_all(self) -> None:
        """The reviewer has come to work."""
        for remote in self.remotes.values():
            for pull in remote.pulls:
                pull.state = "merged" if pull.state == "open" else pull.state


class OpenForge:
    """Fulfils the publisher's Forge protocol."""

    def __init__(self, forge: VirtualForge, spec: ForgeSpec) -> None:
        self._forge = forge
        self._remote = forge.remote(spec.project)

    def protection(self, branch: str) -> str | None:
        return None

    def find(self, branch: str) -> Known | None:
        with self._forge.across(f"find {branch}"):
            mine = [pull for pull in self._remote.pulls if pull.branch == branch and not pull.is_deleted]
            chosen = [pull for pull in mine if pull.state == "open"] or mine
            return _known(chosen[-1]) if chosen else None

    def get(self, number: int) -> Known:
        with self._forge.across(f"get {number}"):
            pull = self._remote.pulls[number - 1]
            if pull.is_deleted:
                raise Stop("no-such-pull-request", "it is gone", waiting_for="configuration")
            return _known(pull)

    def create(self, wanted: Wanted) -> PullRequest:
        """Open one more, however many there are: asking first is the publisher's duty."""
        with self._forge.across(f"create {wanted.branch}"):
            number = len(self._remote.pulls) + 1
            pull = Pull(number, wanted.branch, wanted.base, wanted.head, wanted.body)
            self._remote.pulls.append(pull)
            return _known(pull).pr

    def update(self, known: Known, *, body: str, head: str) -> None:
        with self._forge.across(f"update {known.branch}"):
            pull = self._remote.pulls[known.pr.number - 1]
            pull.body, pull.head = body, head


def _known(pull: Pull) -> Known:
    url = f"https://forge.test/pull/{pull.number}"
    shown = PullRequest.model_construct(number=pull.number, url=url, draft=pull.is_draft, state=pull.state)
    return Known(shown, pull.head, pull.base, pull.body, "", pull.branch)


@dataclass(frozen=True, slots=True)
class VirtualGit:
    """What the delivery asks git for, answered from the virtual remote."""

    forge: VirtualForge
    project: str

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
            lines = [f"{shown[name]}\t{name}" for name in names if name in shown]
            return "\n".join(["ref: refs/heads/main\tHEAD", *lines]).encode()

    def _push(self, args: tuple[str, ...]) -> bytes:
        remote = self.forge.remote(self.project)
        lease = next(arg for arg in args if arg.startswith("--force-with-lease="))
        ref, _, expected = lease.removeprefix("--force-with-lease=").partition(":")
        branch, sha = ref.removeprefix("refs/heads/"), args[-1].partition(":")[0]
        with self._transient(f"push {branch}"):
            if remote.branches.get(branch, "") != expected:
                raise GitError("git-rejected", "stale info")
            remote.branches[branch] = sha
            remote.pushed.add((branch, sha))
            for pull in remote.pulls:
                if pull.branch == branch and pull.state == "open":
                    pull.head = sha
        return b""

    @contextmanager
    def _transient(self, deed: str) -> Iterator[None]:
        try:
            with self.forge.across(deed):
                yield
        except TransientError as exc:
            raise GitError("git-network", exc.what, stderr_tail=exc.what) from exc
