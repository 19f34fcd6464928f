"""Publications: a committed ticket gets a publisher, the verdict becomes a decision and that becomes a move.

Must not decide (`decide_publish.py`), must not write ticket state (`transitions_publish.py`), must not load a
credential: the publisher does, in its own process.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from autopilot.config.atomic import make_folder, write_atomically
from autopilot.config.foreign_file import UnreadableError, read_plain
from autopilot.config.logs import logger
from autopilot.config.paths import PUBLISH_EVENTS_FILE, SPEC_FILE
from autopilot.config.proc import ProcessId, SpawnError
from autopilot.daemon import decide_publish, judge, results, specs, transitions_publish, verdicts
from autopilot.daemon.children import publisher_launch, publisher_order
from autopilot.daemon.store import queries_runs, queries_tickets, writes
from autopilot.daemon.store.rows import LiveRun
from autopilot.schemas.errors import ConfigError, InvariantError
from autopilot.schemas.events import Event
from autopilot.schemas.publication import PublishSpec, PublishVerdict
from autopilot.schemas.run import RunResult

if TYPE_CHECKING:
    from pathlib import Path

    from autopilot.daemon.shop import Shop
    from autopilot.daemon.store.rows import LivePublication, Publication
    from autopilot.daemon.watch import Watch
    from autopilot.schemas.gate import GateRecord
    from autopilot.schemas.ticket import Ticket

_MAX_SPEC_BYTES = 64 * 1024 * 1024


def begin(shop: Shop, seen: Ticket) -> None:
    """Start the publisher of a committed ticket; one that cannot start is lost, and judged at once.

    Raises:
        ConfigError: its repository is not configured any more, or what its run left cannot be read.
        InvariantError: what its run left is no longer what was believed.
    """
    shop.settings.repo(seen.repo)
    result, gates = _behind(shop, seen)
    # A verdict of an earlier try was dealt with; left here, a crash could take it for this one's.
    shop.paths.verdict(result.run_id).unlink(missing_ok=True)
    live = transitions_publish.begin_publish(
        shop.store, seen, base=result.base or "", base_sha=result.base_sha or "", rules=shop.rules
    )
    publication = live.publication
    try:
        process = _spawn(shop, live, result, gates)
    except (OSError, ConfigError, SpawnError) as error:
        _lost(shop, live, str(error))
        return
    _write_down(shop, publication, process)
    logger("daemon").info(
        Event.PUBLISH_STARTED,
        ticket=seen.id,
        publication=publication.id,
        tries=publication.tries,
        pid=process.pid,
    )


def adopt(shop: Shop, live: LivePublication) -> bool:
    """Watch a publisher that outlived the daemon; False when it is gone, and then all it started is too."""
    publication = live.publication
    is_ours = shop.is_of_this_boot(publication.boot)
    process = ProcessId(*publication.process) if publication.process and is_ours else None
    order = publisher_order(shop, publication.run_id, fence=publication.fence)
    if process is not None and shop.supervisor.adopt(order, process):
        logger("daemon").info(Event.PUBLISH_ADOPTED, ticket=live.ticket.id, pid=process.pid)
        return True
    return shop.supervisor.clear(order, process) is None


def step(shop: Shop, live: LivePublication) -> None:
    """Look at one publication: stop it, leave it, or judge its end."""
    watch = shop.supervisor.get(live.publication.id)
    if watch is not None and watch.ending is None:
        _mind(shop, live, watch)
        return
    ending = watch.ending if watch is not None else None
    verdict = verdicts.verdict_of(live, shop.paths.verdict(live.publication.run_id))
    if isinstance(verdict, str) and ending is not None and ending.asked:
        verdict = verdicts.stopped_verdict(live, ending.asked, shop.now_ms())
    elif isinstance(verdict, str) and live.ticket.cancel_requested:
        verdict = verdicts.stopped_verdict(live, f"cancelled; {verdict}", shop.now_ms())
    if isinstance(verdict, PublishVerdict) and live.ticket.cancel_requested:
        # No later try finds out how far this one came.
        verdict = verdicts.so_far(verdict, shop.paths.publish_dir(verdict.run_id) / PUBLISH_EVENTS_FILE)
    if isinstance(verdict, str):
        told = ending.told if ending else "the publisher was gone when the daemon started"
        _lost(shop, live, f"{told}; {verdict}")
    else:
        _judged(shop, live, verdict)
    shop.supervisor.forget(live.publication.id)


def _judged(shop: Shop, live: LivePublication, verdict: PublishVerdict) -> None:
    facts = {"publication": live.publication.id, "outcome": verdict.outcome, "code": verdict.code}
    logger("daemon").info(Event.PUBLISH_FINISHED, **facts)
    _apply(shop, live, verdict)


def _mind(shop: Shop, live: LivePublication, watch: Watch) -> None:
    """Take care of a publisher under way: stop it if asked to; write down its process if that was missed."""
    publication, process = live.publication, watch.process
    if live.ticket.cancel_requested and watch.stop("cancelled"):
        logger("daemon").info(Event.RUN_STOPPING, publication=publication.id, why="cancelled")
    if publication.process is None:
        _write_down(shop, publication, process)


def _write_down(shop: Shop, publication: Publication, process: ProcessId) -> None:
    writes.record_publisher(
        shop.store,
        publication.id,
        fence=publication.fence,
        pid=process.pid,
        pid_started_ms=process.started_ms,
        boot=shop.boot,
    )


def _lost(shop: Shop, live: LivePublication, reason: str) -> None:
    logger("daemon").warning(Event.PUBLISH_LOST, publication=live.publication.id, reason=reason)
    _apply(shop, live, None)


def _apply(shop: Shop, live: LivePublication, verdict: PublishVerdict | None) -> None:
    with shop.store.read() as conn:
        moves = queries_tickets.history(conn, live.ticket.id)
    decision = decide_publish.after_publish(
        verdict,
        tries=live.publication.tries,
        losses=live.publication.losses,
        before=decide_publish.deferred(moves, since_ms=live.publication.created_ms),
        rules=shop.rules,
        now_ms=shop.now_ms(),
        jitter=shop.jitter(),
    )
    transitions_publish.apply_publish(shop.store, live.ticket, verdict, decision)


def _behind(shop: Shop, seen: Ticket) -> tuple[RunResult, tuple[GateRecord, ...]]:
    """Give the result that was believed when the ticket came to rest as committed, and its gates.

    Raises:
        ConfigError: it is gone, or the disk does not give it.
        InvariantError: it is no longer what was believed.
    """
    with shop.store.read() as conn:
        attempt = queries_runs.attempt(conn, seen.run_id or "")
        gates = queries_runs.gates_of(conn, seen.id, head=seen.head)
    if attempt is None:
        raise InvariantError("attempt-missing", f"{seen.id} is committed, but no run of it is recorded")
    found = judge.Found(None, shop.now_ms(), shop.boot_ms, shop.boot)
    result = judge.result_of(LiveRun(seen, attempt), shop.paths.run_dir(attempt.run_id), found=found)
    if not isinstance(result, RunResult):
        what = f"the result of {attempt.run_id} cannot be read again: {result.reason}"
        hint = f"have it worked on again: autopilot cancel {seen.id}, then autopilot retry {seen.id}"
        raise ConfigError("result-gone", what, hint=hint)
    if (result.head, result.base_sha) != (seen.head, attempt.base_sha):
        raise InvariantError(
            "result-changed", f"the result of {attempt.run_id} names another commit than before"
        )
    sandbox = result.sandbox or results.told_sandbox(shop.paths, seen.id, result.run_id)
    return result.model_copy(update={"sandbox": sandbox}), gates


def _spawn(shop: Shop, live: LivePublication, result: RunResult, gates: tuple[GateRecord, ...]) -> ProcessId:
    spec = specs.publish_spec(
        live,
        behind=result,
        gates=gates,
        attempted=_attempted(shop, live),
        settings=shop.settings,
        paths=shop.paths,
        now_ms=shop.now_ms(),
    )
    spec_file = shop.paths.publish_dir(spec.run_id) / SPEC_FILE
    if live.publication.tries == 1 and os.path.lexists(spec_file.parent):
        spec = _taken_up(spec, spec_file)
    make_folder(spec_file.parent)
    write_atomically(spec_file, spec.model_dump_json(indent=1).encode())
    return shop.supervisor.start(publisher_launch(shop, spec, spec_file))


def _taken_up(spec: PublishSpec, spec_file: Path) -> PublishSpec:
    """Go on in a folder that an earlier publication of this run left: an older queue was put back by hand.

    What that one may have pushed is ours.

    Raises:
        InvariantError: the folder is not of this run.
    """
    try:
        if spec_file.parent.is_symlink():
            raise ValueError("it is a link")  # noqa: TRY301 - one way out for all that is not ours
        left = PublishSpec.model_validate_json(read_plain(spec_file, max_bytes=_MAX_SPEC_BYTES))
        if (left.run_id, left.ticket_id, left.branch) != (spec.run_id, spec.ticket_id, spec.branch):
            raise ValueError("it is of another run")  # noqa: TRY301 - as above
    except (UnreadableError, OSError, ValueError) as exc:
        what = f"{spec_file.parent} is there before we made it: {exc}"
        hint = "move it away; then: autopilot resume"
        raise InvariantError("publish-folder-foreign", what, hint=hint) from exc
    attempted = dict.fromkeys((*spec.attempted_heads, *left.attempted_heads, left.head))
    return spec.model_copy(update={"attempted_heads": tuple(attempted)})


def _attempted(shop: Shop, live: LivePublication) -> list[str]:
    """Give the commits of earlier publications that may have reached the branch, unheard of."""
    with shop.store.read() as conn:
        rows = queries_runs.publications_of(conn, live.ticket.id)
    here = live.publication
    return [
        row.head for row in rows if row.branch == here.branch and row.pushed is None and row.id != here.id
    ]
