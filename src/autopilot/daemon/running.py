"""Runs: a claimed ticket becomes a process, its end becomes a decision, the decision becomes a move.

Must not decide (`decide.py`) and must not write ticket state (`transitions.py`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from autopilot.config.atomic import sync_folder, write_atomically
from autopilot.config.logs import logger
from autopilot.config.paths import SPEC_FILE
from autopilot.config.proc import ProcessId, SpawnError
from autopilot.config.room import memory_short
from autopilot.daemon import breaker, decide, demand, judge, sleeping, specs, transitions
from autopilot.daemon.children import renew_handed, runner_launch, runner_order
from autopilot.daemon.store import queries_host, queries_tickets, writes
from autopilot.schemas.errors import ConfigError
from autopilot.schemas.events import Event
from autopilot.schemas.machine import Trigger
from autopilot.schemas.run import RunResult

if TYPE_CHECKING:
    from collections.abc import Sequence

    from autopilot.daemon.shop import Shop
    from autopilot.daemon.store.rows import Attempt, Claim, LiveRun
    from autopilot.daemon.watch import Ending, Order, Watch
    from autopilot.schemas.ticket import Exchange, Ticket


def start(shop: Shop, claim: Claim) -> None:
    """Start the runner of a ticket just claimed; one that cannot start is a loss, judged at once."""
    attempt = claim.attempt
    with shop.store.read() as conn:
        exchanges = queries_tickets.exchanges(conn, claim.ticket.id)
    try:
        process = _spawn(shop, claim, exchanges)
    except (OSError, ConfigError, SpawnError, MemoryError) as exc:
        error = memory_short() if isinstance(exc, MemoryError) else exc
        loss = decide.Loss(attempt.run_id, attempt.fence, str(error), "never-started", shop.now_ms())
        _apply(shop, claim.ticket, loss, agent=attempt.agent)
        return
    _write_down(shop, attempt, process)
    logger("daemon").info(
        Event.RUN_STARTED, ticket=claim.ticket.id, run=attempt.run_id, agent=attempt.agent, pid=process.pid
    )


def adopt(shop: Shop, live: LiveRun) -> bool:
    """Watch a runner that outlived the daemon; False when it is gone, and then all it started is too."""
    attempt = live.attempt
    order = runner_order(shop, attempt.run_id, fence=attempt.fence)
    process = _process_of(shop, attempt, order)
    if process is not None and shop.supervisor.adopt(order, process):
        logger("daemon").info(Event.RUN_ADOPTED, ticket=live.ticket.id, run=attempt.run_id, pid=process.pid)
        return True
    killed = shop.supervisor.clear(order, process)
    if killed is None:
        return True
    if killed:
        logger("daemon").warning(Event.RUN_KILLED, run=attempt.run_id, processes=killed, why="leftovers")
    return False


def _process_of(shop: Shop, attempt: Attempt, order: Order) -> ProcessId | None:
    """Give the runner of an attempt: as written down, or by its mark where the daemon died before that.

    Its agent may be at work by now: to end it and start another would pay the model twice.
    """
    if attempt.process is None:
        return shop.supervisor.find(order)
    return ProcessId(*attempt.process) if shop.is_of_this_boot(attempt.boot) else None


def step(shop: Shop, live: LiveRun) -> None:
    """Look at one running ticket: cancel it, leave it, or judge its end."""
    watch = shop.supervisor.get(live.attempt.run_id)
    if watch is not None and watch.ending is None:
        _mind(shop, live, watch)
        return
    finish(shop, live, watch.ending if watch is not None else None)
    shop.supervisor.forget(live.attempt.run_id)


def _mind(shop: Shop, live: LiveRun, watch: Watch) -> None:
    """Take care of a run under way: stop it when asked to; write down its process where that was missed."""
    attempt = live.attempt
    if live.ticket.cancel_requested and watch.stop("cancelled"):
        logger("daemon").info(Event.RUN_STOPPING, run=attempt.run_id, why="cancelled")
    if attempt.process is None:
        _write_down(shop, attempt, watch.process)


def _write_down(shop: Shop, attempt: Attempt, process: ProcessId) -> None:
    writes.record_process(
        shop.store,
        attempt.run_id,
        fence=attempt.fence,
        pid=process.pid,
        pid_started_ms=process.started_ms,
        boot=shop.boot,
    )


def finish(shop: Shop, live: LiveRun, ending: Ending | None) -> None:
    """Turn what a run left into a move."""
    found = judge.Found(ending, shop.now_ms(), shop.boot_ms, shop.boot)
    attempt = live.attempt
    report = judge.result_of(live, shop.paths.run_dir(attempt.run_id), found=found)
    slept = sleeping.of_run(shop, attempt.run_id, since_ms=attempt.started_ms)
    judged = sleeping.fair(report, slept, silence_s=shop.settings.timeouts.silence_s)
    _apply(shop, live.ticket, judged, agent=attempt.agent)


def _apply(shop: Shop, seen: Ticket, report: RunResult | decide.Loss, *, agent: str) -> None:
    decision = decide.after_run(
        seen,
        report,
        rules=shop.rules,
        now_ms=shop.now_ms(),
        jitter=shop.jitter(),
        was_refused=decide.may_be_renewed(report) and _was_refused(shop, seen, report.run_id, agent=agent),
    )
    transitions.apply_run(shop.store, seen, report, decision, rules=shop.rules)
    log = logger("daemon")
    if isinstance(report, RunResult):
        log.info(Event.RUN_FINISHED, run=report.run_id, outcome=report.outcome, code=report.code)
    else:
        log.warning(Event.RUN_LOST, run=report.run_id, cause=report.cause, reason=report.reason)


def _was_refused(shop: Shop, seen: Ticket, run_id: str, *, agent: str) -> bool:
    """Tell whether the credential has been read again once already; what we were handed is read again.

    By the ticket's run before this one, or by any run of an agent that signs in as this one does.
    """
    renew_handed(shop.paths)
    scopes = {f"agent:{name}" for name in (agent, *demand.account_of(agent, shop.settings))}
    with shop.store.read() as conn:
        rows = (row for row in queries_host.breakers(conn) if row.scope in scopes)
        if any(breaker.is_renewal_spent(row, run_id) for row in rows):
            return True
        return decide.refused(queries_tickets.history(conn, seen.id), later=Trigger.RELEASE)


def _spawn(shop: Shop, claim: Claim, exchanges: Sequence[Exchange]) -> ProcessId:
    spec = specs.run_spec(claim, exchanges, settings=shop.settings, paths=shop.paths, now_ms=shop.now_ms())
    spec.run_dir.mkdir(mode=0o700)
    sync_folder(spec.run_dir.parent)  # or a power cut takes the result away and leaves the ticket committed
    write_atomically(spec.run_dir / SPEC_FILE, spec.model_dump_json(indent=1).encode())
    return shop.supervisor.start(runner_launch(shop, spec))
