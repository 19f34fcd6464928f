"""Virtual publishers and inquirers: processes around the product's own delivery and inquiry."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from autopilot.publish import inquiry, publisher, verdicts
from autopilot.publish.body import BaseMoved, Facts
from autopilot.publish.context import Context
from autopilot.publish.files import read_spec, write_report, write_verdict
from autopilot.publish.verdicts import Story
from autopilot.schemas.cell import OpenedKind
from autopilot.schemas.publication import CheckLine, PublishSpec, PublishVerdict, PullStateSpec
from tests.simulation.ends import BADLY, Script, badly_written
from tests.simulation.forge import OpenForge
from tests.simulation.strands import Strand
from tests.simulation.table import Process, ended, unread
from tests.simulation.virtual_git import VirtualGit

if TYPE_CHECKING:
    from autopilot.config.git import Git
    from autopilot.publish.progress import Progress
    from tests.simulation.world import World


class NoProgress:
    """Nobody reads a publisher's progress in here."""

    def note(self, event: object, **facts: object) -> None:
        """Forget it."""


def publish(world: World, process: Process, spec_file: Path) -> None:
    """Make a publisher of a process."""
    spec = read_spec(PublishSpec, spec_file)
    process.hold(spec.lease)
    world.table.disturb(process)
    process.strand = Strand(partial(_publisher, world, process, spec))
    process.script = unread() if world.is_fault(0.01) else process.strand.script()
    process.due_ms = world.clock.awake_ms + world.chance.between(50, 5000)
    process.on_term = None if world.is_fault(0.2) else _stopped(world, spec)


def inquire(world: World, process: Process, spec_file: Path) -> None:
    """Make an inquirer of a process."""
    process.strand = Strand(partial(_inquirer, world, spec_file))
    process.script = unread() if world.is_fault(0.01) else process.strand.script()
    process.due_ms = world.clock.awake_ms + world.chance.between(50, 2000)
    process.on_term = ended()


def _publisher(world: World, process: Process, spec: PublishSpec, strand: Strand) -> int:
    others = [each for each in world.table.living if each.mark == process.mark and each is not process]
    if any(each.kind == "publisher" for each in others):
        return 75  # the workspace is locked
    story = Story(spec=spec, now_ms=world.clock.wall_ms)
    if world.is_fault(0.06):
        bad = CheckLine(check="reverify", passed=False, reasons=("tests fail",))
        verdict = verdicts.refused(Story(spec=spec, now_ms=world.clock.wall_ms, checks=(bad,)))
    else:
        verdict = publisher.finish(_context(world, spec), story)
    strand.pause(world.chance.between(0, 500))
    _write(world, spec, verdict)
    strand.pause(world.chance.between(0, 200))
    return 0


def _stopped(world: World, spec: PublishSpec) -> Script:
    if not world.is_fault(0.3):
        _write(world, spec, verdicts.stopped(Story(spec=spec, now_ms=world.clock.wall_ms)))
    yield 5
    return 0


def _write(world: World, spec: PublishSpec, verdict: PublishVerdict) -> None:
    fate = world.chance.one_of(BADLY) if world.is_fault(0.12) else ""
    world.note(f"publisher of {spec.run_id}: {verdict.outcome} {verdict.code} {fate}".rstrip())
    other = "T-9-a9-00000000"
    left = badly_written(spec.verdict, verdict, fate=fate, chance=world.chance, other_id=other)
    if left is not None:
        write_verdict(spec.verdict, left)
    if not fate:
        world.verdicts.append((spec.id, spec.fence or 0, verdict))


def _context(world: World, spec: PublishSpec) -> Context:
    return Context(
        spec=spec,
        request=None,
        request_fault="",
        git=cast("Git", VirtualGit(world.forge, spec.forge.project)),
        clock=world.clock,
        progress=cast("Progress", NoProgress()),
        folder=spec.workdir,
    )


def _inquirer(world: World, spec_file: Path, strand: Strand) -> int:
    spec = read_spec(PullStateSpec, spec_file)
    report = inquiry.inquire(spec, clock=world.clock, folder=spec.workdir)
    strand.pause(world.chance.between(0, 100))
    if not world.is_fault(0.1):
        write_report(spec.report, report)
    strand.pause(5)
    return 0


def facts(ctx: Context, rerun: Any, *, sandbox: OpenedKind | None, moved: BaseMoved) -> Facts:
    """Stands in for `gather`, which reads the commit with git."""
    return Facts(
        title="A change", summary="", notes=(), changes=(), reasons={}, recorded=(), rerun=rerun, signals=(),
        manifests=(), ticket_ref=ctx.spec.ticket_ref, base=ctx.spec.base, base_sha=ctx.spec.base_sha,
        head=ctx.spec.head, moved=moved, sandbox=ctx.spec.run_sandbox, sandbox_again=sandbox,
        roots=(), key=ctx.spec.idempotency_key,
    )  # fmt: skip


def opener(world: World) -> Any:
    """Stands in for `registry.open_forge`."""

    @contextmanager
    def open_forge(spec: Any, access: Any, **_: Any) -> Iterator[OpenForge]:
        yield OpenForge(world.forge, spec)

    return open_forge
