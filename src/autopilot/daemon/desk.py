"""The operator's desk: one function per thing a person may say or ask, for API and command line alike.

Must not print and must not wake the daemon: who calls does. Everything returned can become JSON.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

from pydantic import ValidationError

from autopilot.config.nearest import nearest
from autopilot.daemon import acts, arming, remains, transitions
from autopilot.daemon.phase_spend import of_run
from autopilot.daemon.results import sandbox_of
from autopilot.daemon.store import queries_runs, queries_tickets, steps, writes
from autopilot.daemon.store.mapping import unknown
from autopilot.schemas.cell import weakness
from autopilot.schemas.errors import ConfigError, RefusedError, TicketError
from autopilot.schemas.hidden import unseen_in
from autopilot.schemas.ids import canonical, source_name
from autopilot.schemas.machine import State
from autopilot.schemas.origin import distrust, text_digest
from autopilot.schemas.records import faults_of
from autopilot.schemas.ticket import Ticket, TicketDraft
from autopilot.schemas.units import MS_PER_S

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator, Mapping, Sequence

    from sqlalchemy import Connection

    from autopilot.config.clock import Clock
    from autopilot.config.paths import Paths
    from autopilot.config.settings import Settings
    from autopilot.daemon.store.engine import Store
    from autopilot.daemon.store.rows import Attempt, OffMode
    from autopilot.schemas.checkup import Check

Answer = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Desk:
    """What every function here works on."""

    store: Store
    settings: Settings
    paths: Paths
    clock: Clock


def draft_from(fields: Mapping[str, Any]) -> TicketDraft:
    """Read a ticket's fields.

    Raises:
        TicketError: `ticket-invalid`; it names each field that is wrong.
    """
    try:
        return TicketDraft.model_validate(dict(fields))
    except ValidationError as exc:
        what = "; ".join(faults_of(exc, whole="ticket"))
        raise TicketError("ticket-invalid", what, hint="mend the field and add it again") from exc


def add(desk: Desk, fields: Mapping[str, Any], *, by: str = "operator") -> Answer:
    """Queue a ticket; the same source key twice is one ticket. An issue that is named is read first.

    Raises:
        TicketError: a field is wrong, or names a repository, agent, ticket or issue that does not exist.
        RefusedError: `author-untrusted`: it says that it comes from somebody who is not trusted.
        ConfigError: the tracker of an issue is not set up.
        TransientError: the tracker of an issue does not answer.
    """
    if "reference" in fields:
        from autopilot.daemon import intake  # noqa: PLC0415 - an idle daemon reads no issue

        fields = intake.of_reference(fields, desk.settings, desk.clock)
    draft = draft_from(fields)
    _check_origin(desk.settings, draft)
    repo = _repo_for(desk.settings, draft.repo)
    if draft.agent is not None:
        _known_agent(desk.settings, draft.agent)
    if draft.source_key is not None:
        known_as = source_name(draft.source_key, repo=desk.settings.repo(repo).issues_of)
        draft = draft.model_copy(update={"source_key": known_as})
    enqueued = transitions.enqueue(desk.store, draft, repo=repo, by=by)
    return {
        "ticket": _ticket(enqueued.ticket),
        "is_new": enqueued.is_new,
        "hidden": unseen_in("\n".join((draft.title, draft.body, *draft.acceptance))),
    }


def _check_origin(settings: Settings, draft: TicketDraft) -> None:
    digest = text_digest(draft.title, draft.body, draft.acceptance)
    if why := distrust(draft.origin, digest, settings.intake.trust()):
        hint = (
            "read it; then add whoever wrote it to trusted_authors in [intake], or to the ticket an approval "
            f"of this very text: text_sha256 {digest}"
        )
        raise RefusedError("author-untrusted", f"the ticket is not taken in: {why}", hint=hint)


def tickets(
    desk: Desk, *, states: Collection[str] = (), repo: str | None = None, limit: int | None = None
) -> Answer:
    """List tickets, newest last. Raises as `listing` does."""
    return {"tickets": list(listing(desk, states=states, repo=repo, limit=limit))}


def listing(
    desk: Desk, *, states: Collection[str] = (), repo: str | None = None, limit: int | None = None
) -> Iterator[Answer]:
    """List tickets, newest last, one by one: all of a long queue at once would take tens of megabytes.

    Raises:
        RefusedError: a state that does not exist.
        TicketError: a repository that is not configured and has no tickets.
    """
    try:
        wanted = [State(state) for state in states]
    except ValueError as exc:
        known = ", ".join(State)
        raise RefusedError("state-unknown", str(exc), hint=f"states are: {known}") from exc
    names = [each.name for each in desk.settings.repos]
    if repo is not None and repo not in names:
        with desk.store.read() as conn:
            is_known = bool(queries_tickets.tickets(conn, states=wanted, repo=repo, limit=1))
        if not is_known:
            raise _unknown_repo(repo, names)
    return _listing(desk, partial(queries_tickets.each, states=wanted, repo=repo, limit=limit))


def _listing(desk: Desk, found: Callable[[Connection], Iterator[Ticket]]) -> Iterator[Answer]:
    with desk.store.read() as conn:
        yield from map(_ticket, found(conn))


def show(desk: Desk, ticket: str) -> Answer:
    """Give all that is known of one ticket."""
    name = canonical(ticket)
    with desk.store.read() as conn:
        seen = queries_tickets.ticket(conn, name)
        if seen is None:
            raise unknown(name)
        return {
            "ticket": _ticket(seen),
            "exchanges": [one.model_dump(mode="json") for one in queries_tickets.exchanges(conn, name)],
            "dependencies": [asdict(one) for one in queries_tickets.dependencies(conn, name)],
            "attempts": [_attempt(desk, name, one) for one in queries_runs.attempts_of(conn, name)],
            "gates": [one.model_dump(mode="json") for one in queries_runs.gates_of(conn, name)],
            "publications": [asdict(one) for one in queries_runs.publications_of(conn, name)],
            "history": [asdict(one) for one in queries_tickets.history(conn, name)],
            "worktree": remains.worktree_told(desk.paths, name, seen.run_id or _last_run(conn, name)),
            "saved_work": remains.saved_work(desk.paths, name),
        }


def _attempt(desk: Desk, ticket: str, one: Attempt) -> dict[str, Any]:
    phases = [asdict(each) for each in of_run(desk.paths, ticket, one.run_id)]
    kind = sandbox_of(desk.paths, ticket, one.run_id)
    left_open = weakness(kind) if kind or one.outcome else ""
    return {**asdict(one), "phases": phases, "sandbox": kind, "left_open": left_open}


def _last_run(conn: Connection, name: str) -> str | None:
    attempts = queries_runs.attempts_of(conn, name)
    return attempts[-1].run_id if attempts else None


def cancel(desk: Desk, ticket: str, *, by: str = "operator") -> Answer:
    """Stop a ticket; a running one is stopped by the daemon."""
    return {"ticket": _ticket(acts.cancel(desk.store, canonical(ticket), by=by))}


def retry(desk: Desk, ticket: str, *, by: str = "operator") -> Answer:
    """Give a ticket fresh attempts."""
    return {"ticket": _ticket(acts.retry(desk.store, canonical(ticket), by=by))}


def resume(desk: Desk, ticket: str, *, by: str = "operator") -> Answer:
    """Continue a parked ticket where it stopped."""
    return {"ticket": _ticket(acts.resume(desk.store, canonical(ticket), by=by))}


def answer(desk: Desk, ticket: str, answers: Sequence[str], *, by: str = "operator") -> Answer:
    """Answer a ticket's open questions, in their order, and continue it."""
    return {"ticket": _ticket(acts.answer(desk.store, canonical(ticket), answers, by=by))}


def turn_on(
    desk: Desk,
    *,
    until_ms: int | None = None,
    ignore_window: bool = False,
    forced: Sequence[Check] = (),
    by: str = "operator",
) -> Answer:
    """Let runs start; `forced` are the lines of the check-up that a person overruled."""
    arming.record(desk.paths, forced, by=by, now_ms=desk.clock.now_ms())
    switch = writes.turn_on(desk.store, by=by, ignore_window=ignore_window, until_ms=until_ms)
    return {"switch": asdict(switch)}


def turn_off(
    desk: Desk, *, mode: OffMode = "finish", drain_s: float | None = None, by: str = "operator"
) -> Answer:
    """Let no run start; running ones finish, finish within `drain_s` seconds, or stop now."""
    drain_until_ms = None
    if mode == "drain":
        steps.follow(desk.store)  # or a clock that was set just before would move what is said by it
        drain_until_ms = desk.clock.now_ms() + round((drain_s or 0.0) * MS_PER_S)
    switch = writes.turn_off(desk.store, by=by, mode=mode, drain_until_ms=drain_until_ms)
    return {"switch": asdict(switch)}


def reset_breaker(desk: Desk, scope: str, *, by: str = "operator") -> Answer:
    """Close a breaker by hand."""
    return {"breaker": asdict(writes.reset_breaker(desk.store, scope, by=by))}


def _repo_for(settings: Settings, name: str | None) -> str:
    names = [repo.name for repo in settings.repos]
    if not names:
        what = "repo: no repository is configured"
        raise TicketError("repo-needed", what, hint="run autopilot init inside one")
    if name is None and len(names) == 1:
        return names[0]
    if name is None:
        what = "repo: more than one repository could be meant"
        raise TicketError("repo-needed", what, hint=f"say which: {', '.join(names)}")
    if name in names:
        return name
    raise _unknown_repo(name, names)


def _unknown_repo(name: str, known: Sequence[str]) -> TicketError:
    hint = nearest(name, known) or f"known are {', '.join(known)}"
    return TicketError("repo-unknown", f"repo: {name!r} is not configured", hint=hint)


def _known_agent(settings: Settings, name: str) -> None:
    try:
        settings.agent(name)
    except ConfigError as exc:
        raise TicketError("agent-unknown", f"agent: {exc.what}", hint=exc.hint) from exc


def _ticket(ticket: Ticket) -> Answer:
    return ticket.model_dump(mode="json")
