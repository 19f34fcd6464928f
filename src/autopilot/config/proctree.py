"""Everything that one call has started, found again and ended.

Must not end a process it cannot prove to be of the tree: by walk, session, mark, adoption, or control group.
"""

from __future__ import annotations

import os
import signal
import threading
from contextlib import suppress
from typing import TYPE_CHECKING

from autopilot.config import procinfo
from autopilot.config.cgroup import cell_marks, cell_of
from autopilot.config.orphans import is_adopting
from autopilot.config.procinfo import ProcessId

if TYPE_CHECKING:
    from collections.abc import Callable

    from autopilot.config.cgroup import Group
    from autopilot.config.clock import Clock
    from autopilot.config.procinfo import Seen

_POLL_S = 0.02
_SLOWEST_POLL_S = 0.25
UNDYING_S = 5.0
"""Who lives so long after KILL waits in the kernel for a device: it does nothing more."""
FLEEING_S = 60.0
"""Who makes others faster than we find them, for so long and without a control group, is not to be caught."""


class Tree:
    """What hangs below one root. Remembers whom it has seen, so that a change of parent hides nobody."""

    def __init__(
        self,
        root: ProcessId,
        *,
        mark: str | None,
        before: frozenset[int] = frozenset(),
        group: Group | None = None,
    ) -> None:
        """Take the root, its mark, who ran already when it was started, and the control group it is in."""
        self._root = root
        self._mark = mark
        self._before = before
        self._group = group
        self._known: dict[int, ProcessId] = {root.pid: root}
        self._out_of_reach: set[ProcessId] = set()
        self.killed: set[ProcessId] = set()

    def look(self, *, thoroughly: bool = False, among: frozenset[int] | None = None) -> list[Seen]:
        """Find the living members.

        Args:
            thoroughly: also read marks, which a mere walk does not need.
            among: the only processes that can be members; None = any.
        """
        pids = procinfo.all_pids() if among is None else among
        rows = procinfo.look_at(pids)
        strangers = self._strangers(rows)
        found = {pid for pid, row in rows.items() if self._is_known(row)} | self._session(rows)
        if self._group is not None:
            found |= self._group.members() & rows.keys()
        if thoroughly:
            adopting = is_adopting()
            rest = [row for pid, row in rows.items() if pid not in found and pid not in strangers]
            found |= {row.id.pid for row in rest if self._is_marked(row, adopting=adopting)}
        found = with_descendants(found, rows) - strangers
        self._known.update((pid, rows[pid].id) for pid in found)
        members = [rows[pid] for pid in found if not rows[pid].is_zombie]
        return [row for row in members if row.id not in self._out_of_reach]

    def look_for_leftovers(self) -> list[Seen]:
        """Find living members among those that did not run yet when the root was started.

        Only right while no process number can have come round again, that is within seconds.
        """
        newer = procinfo.all_pids() - self._before - {self._root.pid}
        return self.look(thoroughly=True, among=newer) if newer else []

    def has_left_something(self, *, numbers_are_fresh: bool) -> bool:
        """Tell whether anybody lives but the root, which has ended."""
        if self._group is not None and self._group.is_populated:
            return True
        return bool(self.look_for_leftovers() if numbers_are_fresh else self.look(thoroughly=True))

    def end(
        self, *, grace_s: float, clock: Clock, pause: Callable[[float], object] | None = None
    ) -> frozenset[ProcessId]:
        """TERM all, wait, KILL all until none is left but those that nothing ends.

        Args:
            grace_s: seconds between TERM and KILL.
            clock: measures the grace.
            pause: waits for about so many seconds; the caller may use the time to drain pipes.

        Returns:
            Those that this user may not signal (a set-uid program), that outlived KILL, or that fled before
            it; empty as a rule.
        """
        wait = pause or _idle
        deadline_s = clock.monotonic_s() + grace_s
        members = self.look(thoroughly=True)
        self._signal([member for member in members if not member.is_sandbox], signal.SIGTERM)
        while members and self.look() and clock.monotonic_s() < deadline_s:
            wait(_POLL_S)
        pause_s, since_s, began_s = _POLL_S, dict[ProcessId, float](), clock.monotonic_s()
        while (members := self.look(thoroughly=True)) or self._is_populated():
            self._signal(members, signal.SIGKILL)
            self._kill_groups(members)
            now_s = clock.monotonic_s()
            if now_s - began_s >= FLEEING_S:
                return frozenset(self._out_of_reach | {row.id for row in members})
            self._give_up(
                {row.id for row in members if now_s - since_s.setdefault(row.id, now_s) >= UNDYING_S}
            )
            wait(pause_s)
            pause_s = min(pause_s * 2, _SLOWEST_POLL_S)
        return frozenset(self._out_of_reach)

    def _is_populated(self) -> bool:
        """Tell whether the group holds somebody whom no look finds, for it is another process each moment."""
        return self._group is not None and not self._out_of_reach and self._group.is_populated

    def _kill_groups(self, members: list[Seen]) -> None:
        """End all that is in the group, or in the cells of those who carry our mark in the name of theirs."""
        if self._group is not None:
            self._group.kill()
        elif self._mark is not None:
            for group in {each for row in members if (each := cell_of(row.id.pid, self._mark)) is not None}:
                group.kill()
                group.remove()

    def _give_up(self, undying: set[ProcessId]) -> None:
        self._out_of_reach |= undying
        self.killed -= undying

    def reap(self) -> None:
        """Collect members that became our own children and are dead. The root belongs to its starter."""
        for row in procinfo.look_at(self._known).values():
            is_adopted = row.is_zombie and row.parent == os.getpid() and row.id.pid != self._root.pid
            if is_adopted and self._is_known(row):
                with suppress(ChildProcessError):
                    os.waitpid(row.id.pid, os.WNOHANG)

    def _is_known(self, row: Seen) -> bool:
        return self._known.get(row.id.pid) == row.id

    def _session(self, rows: dict[int, Seen]) -> set[int]:
        """Find who shares the root's session.

        Its number stays taken while a member lives: only a leader that is not the root shows a re-use.
        """
        if self._root.pid <= 0:  # nobody; the kernel and the first process are of session 0
            return set()
        leader = rows.get(self._root.pid) or procinfo.look(self._root.pid)
        if leader is not None and leader.id != self._root:
            return set()
        return {
            pid
            for pid, row in rows.items()
            if row.session == self._root.pid and row.id.started_ms >= self._root.started_ms
        }

    def _is_marked(self, row: Seen, *, adopting: bool) -> bool:
        """Tell by the mark; an orphan that shows none is claimed when it came to us from elsewhere."""
        if row.is_zombie or row.id.started_ms < self._root.started_ms:
            return False
        if self._mark is not None and self._mark in cell_marks(row.id.pid):
            return True
        marks = procinfo.marks_of(row.id.pid)
        if marks is not None and self._mark is not None and self._mark in marks:
            return True
        is_ours_now = adopting and row.parent == os.getpid() and row.session != os.getsid(0)
        # One that lets nobody read its marks came to us all the same, and nobody else's orphans do.
        return is_ours_now and not marks and (marks is None or _is_unmarked_still(row))

    @staticmethod
    def _strangers(rows: dict[int, Seen]) -> set[int]:
        """Name whom we never touch: ourselves, those who started us, and the first process."""
        pid, chain = os.getpid(), {1}
        while pid > 1 and pid not in chain:
            chain.add(pid)
            row = rows.get(pid) or procinfo.look(pid)
            pid = row.parent if row else 0
        return chain

    def _signal(self, members: list[Seen], number: signal.Signals) -> None:
        """Signal each member once; a group at one blow where a member leads it, so that no fork slips by."""
        groups = {pid: _group_of(pid) for pid in (member.id.pid for member in members)}
        for member in members:
            pid = member.id.pid
            if not procinfo.is_alive(member.id):
                continue
            try:
                if groups[pid] == pid:
                    os.killpg(pid, number)
                elif groups[pid] not in groups:
                    os.kill(pid, number)
            except ProcessLookupError:
                continue
            except PermissionError:
                self._out_of_reach.add(member.id)
                continue
            self.killed.add(member.id)


def kill_tree(
    root: ProcessId,
    *,
    grace_s: float,
    clock: Clock,
    marker: str | None = None,
    on_survivors: Callable[[frozenset[ProcessId]], object] | None = None,
) -> int:
    """End a process and all it started, also when the process itself is long gone.

    Args:
        root: whom to end; a later process of the same number is left alone.
        grace_s: seconds between TERM and KILL.
        clock: measures the grace.
        marker: the mark given to `spawn`; finds those who left the tree and its session.
        on_survivors: told once of those that nothing ends, if there are any.

    Returns:
        How many processes were ended. All of them are gone by then.
    """
    tree = Tree(root, mark=marker)
    survivors = tree.end(grace_s=grace_s, clock=clock)
    if survivors and on_survivors is not None:
        on_survivors(survivors)
    tree.reap()
    return len(tree.killed)


def with_descendants(found: set[int], rows: dict[int, Seen]) -> set[int]:
    """Give these and everything below them."""
    children: dict[int, list[int]] = {}
    for pid, row in rows.items():
        children.setdefault(row.parent, []).append(pid)
    result, todo = set(found), list(found)
    while todo:
        fresh = [pid for pid in children.get(todo.pop(), ()) if pid not in result]
        result.update(fresh)
        todo.extend(fresh)
    return result


def _is_unmarked_still(row: Seen) -> bool:
    """Look again: in the middle of exec a process has no environment yet, and may be another call's child."""
    _idle(_POLL_S)
    return procinfo.is_alive(row.id) and procinfo.marks_of(row.id.pid) == frozenset()


def _group_of(pid: int) -> int:
    try:
        return os.getpgid(pid)
    except ProcessLookupError:
        return 0


def _idle(duration_s: float) -> None:
    threading.Event().wait(duration_s)
