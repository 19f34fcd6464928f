"""The virtual forge: branches, pull requests, and a network that fails before or after the deed."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal

from autopilot.publish.forges.forge import Known, Wanted
from autopilot.publish.stops import Stop
from autopilot.schemas.errors import TransientError
from autopilot.schemas.publication import ForgeSpec, PullRequest
from tests.simulation.ends import ChildHangs, ChildKilled
from tests.simulation.strands import Strand, here

if TYPE_CHECKING:
    from tests.simulation.world import World

FIRST_BASE = "b" * 40
_RATE_LIMIT_S = 45.0
_FATES = ("network", "network", "rate", "killed", "sent", "sent", "frozen", "frozen", "hangs")
_STORM = 2
_PAUSE_MS, _LONG_PAUSE_MS = 400, 90_000


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
    asked_about: set[str] = field(default_factory=set)
    """Branches that a publisher has looked for."""
    of_persons: set[str] = field(default_factory=set)
    """Commits that a person pushed."""
    written_over: list[str] = field(default_factory=list)
    """What a push took away that must not be: of a person, or of somebody whom the pusher had not seen."""

    def arrive(self, branch: str, sha: str) -> None:
        """A commit is at a branch now, and open pull requests show it."""
        self.branches[branch] = sha
        for pull in self.pulls:
            if pull.branch == branch and pull.state == "open":
                pull.head = sha


class VirtualForge:
    """Everything beyond the network."""

    def __init__(self, world: World) -> None:
        self._world = world
        self.remotes: dict[str, Remote] = {}
        self._under_way: list[Strand] = []
        """Of publishers that are dead: what they had sent has not arrived yet."""

    def remote(self, project: str) -> Remote:
        return self.remotes.setdefault(project, Remote())

    @contextmanager
    def across(self, deed: str) -> Iterator[None]:
        """The network: what is inside may not happen, or happen without anybody hearing of it."""
        world, strand = self._world, here()
        if strand is not None and strand.is_orphan:
            raise ChildKilled
        self._fail(f"before {deed}", 0.05)
        if strand is not None and not strand.is_orphan:
            self._send(strand)
        yield
        world.note(f"forge: {deed}")
        if strand is not None and strand.is_orphan:
            raise ChildKilled
        self._fail(f"after {deed}", 0.15)

    def _send(self, strand: Strand) -> None:
        """Between a look and its deed everybody may act; and the deed may outlive who sent it."""
        world = self._world
        if not world.chance.is_hit(world.weave):
            return
        strand.is_sending = True
        strand.pause(world.chance.between(1, _LONG_PAUSE_MS if world.is_fault(0.1) else _PAUSE_MS))
        strand.is_sending = False

    def outlive(self, strand: Strand) -> None:
        """A child is killed: what it was about to do far away is lost, or is on its way there."""
        is_gone = strand.is_over or strand.is_orphan
        if strand.is_sending and not is_gone and self._world.is_fault(0.3):
            self._outlive(strand)

    def _outlive(self, strand: Strand) -> None:
        strand.is_orphan = True
        self._under_way.append(strand)

    def _land(self) -> None:
        self._world.note("forge: what a dead publisher sent arrives")
        with suppress(ChildKilled):
            self._under_way.pop(0).go_on()

    def settle(self) -> None:
        """Everything that is on its way arrives."""
        while self._under_way:
            self._land()

    def close(self) -> None:
        """The world is over."""
        for strand in self._under_way:
            strand.kill()

    def _fail(self, when: str, probability: float) -> None:
        world = self._world
        if not world.is_fault(probability * (_STORM if world.is_stormy else 1)):
            return
        fate = world.chance.one_of(_FATES)
        world.note(f"forge: {fate} {when}")
        strand = here()
        match fate:
            case "rate":
                raise TransientError("rate-limited", "ask later", retry_after_s=_RATE_LIMIT_S)
            case "sent" if strand is not None and when.startswith("before"):
                self._outlive(strand)
                strand.pause(None)
            case "killed" | "sent":
                raise ChildKilled
            case "frozen" if strand is not None:
                strand.wants_frozen = True
                strand.pause(0)
            case "hangs" if strand is not None:
                strand.pause(None)
            case "hangs" | "frozen":
                raise ChildHangs
            case _:
                raise TransientError("forge-unreachable", f"no answer {when}")

    def somebody_acts(self) -> None:
        """A person, or another program, does something at the forge."""
        world = self._world
        if self._under_way and world.chance.is_hit(0.5):
            self._land()
            return
        remote = world.chance.one_of([self.remote(name) for name in ("shop", "till")])
        open_ones = [pull for pull in remote.pulls if pull.state == "open" and not pull.is_deleted]
        deeds = ["base moves", "merges", "merges", "closes", "deletes", "readies", "pushes", "pushes"]
        deeds.append("drops branch")
        deed = world.chance.one_of(deeds)
        world.note(f"somebody at the forge: {deed}")
        if deed == "base moves":
            remote.base_sha = world.new_sha()
            return
        if deed in {"pushes", "drops branch"}:
            self._at_a_branch(remote, deed)
        elif open_ones:
            pull = world.chance.one_of(open_ones)
            pull.state = "merged" if deed == "merges" else "closed" if deed == "closes" else pull.state
            pull.is_deleted = deed == "deletes"
            pull.is_draft = pull.is_draft and deed != "readies"

    def _at_a_branch(self, remote: Remote, deed: str) -> None:
        """Also at one that a publisher has looked for and is about to push."""
        if not remote.asked_about:
            return
        branch = self._world.chance.one_of(sorted(remote.asked_about))
        if deed == "pushes":
            remote.of_persons.add(sha := self._world.new_sha())
            remote.arrive(branch, sha)
        else:
            remote.branches.pop(branch, None)

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
        self._has_none: set[str] = set()

    def protection(self, branch: str) -> str | None:
        return None

    def find(self, branch: str) -> Known | None:
        with self._forge.across(f"find {branch}"):
            found = self._find(branch)
            if found is None:
                self._has_none.add(branch)
            return None if found is None else _known(found)

    def _find(self, branch: str) -> Pull | None:
        mine = [pull for pull in self._remote.pulls if pull.branch == branch and not pull.is_deleted]
        chosen = [pull for pull in mine if pull.state == "open"] or mine
        return chosen[-1] if chosen else None

    def get(self, number: int) -> Known:
        with self._forge.across(f"get {number}"):
            pull = self._remote.pulls[number - 1]
            if pull.is_deleted:
                raise Stop("no-such-pull-request", "it is gone", waiting_for="configuration")
            return _known(pull)

    def create(self, wanted: Wanted) -> PullRequest:
        """Open one more, however many there are: asking first is the publisher's duty.

        Who has asked, and was overtaken since, is given the one that is open, as by every forge.
        """
        with self._forge.across(f"create {wanted.branch}"):
            there = self._find(wanted.branch)
            if there is not None and there.state == "open" and wanted.branch in self._has_none:
                return _known(there).pr
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
