"""Runs the gates over one commit, in a check-out of its own that neither agent nor earlier round has touched.

Must not show the code under test a path to the repository that the commit is published from.
"""

from __future__ import annotations

from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING

from autopilot.config.removal import remove_tree
from autopilot.runner.gates.context import GateContext
from autopilot.runner.gates.run import measure_baseline, run_gates
from autopilot.runner.stacks.tree import Tree
from autopilot.runner.verify import check_out
from autopilot.schemas.errors import TransientError

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from autopilot.runner.phases.init import Ready
    from autopilot.runner.shop import Shop
    from autopilot.schemas.gate import GateRecord
    from autopilot.schemas.run import Baseline


def check(shop: Shop, ready: Ready, *, head: str, round_no: int) -> tuple[GateRecord, ...]:
    """Run every gate over the commit.

    Raises:
        GitError: the commit cannot be checked out.
        TransientError: the gates found no room on the disk, or no sandbox.
        RunFailure: somebody asked us to stop.
    """
    name = f"round-{round_no}"
    checkout = shop.fresh_folder(name)
    check_out(shop.git, ready.judge.place, head, checkout)
    tree = Tree.at(shop.git, ready.judge.place, head)
    with _removed_afterwards(shop, checkout):
        records = run_gates(_context(shop, ready, head=tree, checkout=checkout, name=name))
    shop.go_on()
    return records


def measure(shop: Shop, ready: Ready) -> Baseline:
    """Run the base's own tests, before the agent.

    Raises:
        GitError: the base cannot be checked out.
        TransientError: its tests found no room on the disk, or no sandbox.
        RunFailure: somebody asked us to stop.
    """
    checkout = shop.fresh_folder("baseline")
    check_out(shop.git, shop.spec.repo.mirror, ready.base.sha, checkout)
    with _removed_afterwards(shop, checkout):
        context = _context(shop, ready, head=ready.base, checkout=checkout, name="baseline")
        baseline = measure_baseline(context)
    shop.go_on()
    return baseline


@contextmanager
def _removed_afterwards(shop: Shop, checkout: Path) -> Iterator[None]:
    """Give back the room that a check-out takes, also where there is none left.

    Before that it is counted: a run that has filled the disk by more than it may is ended for that.
    """
    try:
        yield
    except (TransientError, OSError):
        shop.footprint.settled()
        with suppress(OSError):
            remove_tree(checkout)
        raise
    remove_tree(checkout)


def _context(shop: Shop, ready: Ready, *, head: Tree, checkout: Path, name: str) -> GateContext:
    spec = shop.spec
    return GateContext(
        checkout=checkout,
        base=ready.base,
        head=head,
        policy=ready.policy,
        stack=ready.stack,
        sandbox=shop.sandbox,
        network=spec.network,
        reports=spec.run_dir / "gates" / name,
        root=spec.run_dir,
        scratch=spec.run_dir / "restored",
        env=shop.gate_environment(),
        clock=shop.clock,
        gate_s=spec.limits.gate_s,
        grace_s=spec.limits.kill_grace_s,
        on_event=shop.outbox.tell,
        on_blocked=shop.notebook.barrier.refused,
        should_stop=shop.stop,
    )
