"""The digest's text: Markdown that also reads well in a terminal. What waits on a person comes first.

Must not decide what belongs into a night; `night.py` and `gather.py` do that.
"""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from autopilot.config.plain import one_line
from autopilot.daemon.delivery import standing
from autopilot.daemon.digest import held, machine
from autopilot.daemon.next_command import close_hint, next_command, price_hint
from autopilot.schemas.cell import weakness
from autopilot.schemas.machine import State
from autopilot.schemas.units import format_usd, in_local_time, local_time

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from autopilot.daemon.digest.night import Draft, Money, Night
    from autopilot.daemon.store.deliveries import Delivery
    from autopilot.schemas.ticket import Hold, Ticket

MAX_TEXT_CHARS = 500
_MIB = 1024 * 1024
MAX_WAITING = 20
MAX_BLOCKED = 20
UNCONFINED = "**Sandbox: none** from now on, as configured: agents and tests can reach whatever you can."


def markdown(night: Night) -> str:
    """Write the night down. A night with nothing still says so."""
    span = f"From {_when(night, night.since_ms)} to {_when(night, night.until_ms)}."
    switch = "" if night.is_on else " The switch stands at off."
    blocks = [
        f"# Digest of {_when(night, night.until_ms)[:10]}",
        f"{_headline(night)} {span}{switch}{held.usual(night)}",
        *([UNCONFINED] if night.sandbox == "none" else ()),
        *_sandboxes(night),
        *_unserved(night),
        *_trouble(night),
        *_section("Waits on you", (_parked(ticket, night) for ticket in night.parked)),
        *_section("Drafts to review", (_draft(draft) for draft in night.drafts if draft.fate is None)),
        *_section("Drafts to close", (_stray(*stray) for stray in night.strays)),
        *_section("Failed", (_failed(ticket) for ticket in night.failed)),
        *_section("Holds", (_hold(hold, night) for hold in night.holds)),
        *_section("Held earlier", held.lines(night)),
        *_section("Forced", (f"{_plain(line.name)}: {_plain(line.evidence)}" for line in night.forced)),
        *_section("Did not run", _waiting(night)),
        *_section("Under way", (_working(ticket, night) for ticket in night.working)),
        *_section("Dealt with already", (_settled(draft) for draft in night.drafts if draft.fate)),
        *_section("Cancelled", (_with_reason(ticket) for ticket in night.cancelled)),
        *_section("What was blocked", _blocked(night)),
        *_section("Spend", _spend(night.money)),
        *_section("Not delivered", map(_undelivered, night.deliveries)),
        *_section("This machine", machine.lines(night)),
        *_section("Disk", _disk(night)),
    ]
    return in_local_time("\n\n".join(blocks), night.zone) + "\n"


def as_json(night: Night) -> dict[str, Any]:
    """Give the same night as plain values."""
    return {
        "since_ms": night.since_ms,
        "until_ms": night.until_ms,
        "is_on": night.is_on,
        "is_quiet": night.is_quiet,
        "is_served": night.is_served,
        "parked": [
            {**_dump(ticket), "questions": list(night.open_questions.get(ticket.id, ()))}
            for ticket in night.parked
        ],
        "drafts": [
            {
                "ticket": _dump(draft.ticket),
                "url": draft.url,
                "changed_files": draft.changed_files,
                "tests_executed": draft.tests_executed,
                "notes": list(draft.notes),
                "fate": draft.fate,
            }
            for draft in night.drafts
        ],
        **{
            name: [_dump(ticket) for ticket in getattr(night, name)]
            for name in ("failed", "cancelled", "waiting", "working")
        },
        "held_by": {name: list(holds) for name, holds in night.held_by.items()},
        "forced": [line.model_dump(mode="json") for line in night.forced],
        "sandbox": night.sandbox,
        "sandboxes": {kind or "not-recorded": list(tickets) for kind, tickets in night.sandboxes.items()},
        "strays": [{"ticket": _dump(ticket), "url": where} for ticket, where in night.strays],
        "trouble": asdict(night.trouble) if night.trouble else None,
        "blocked": {
            name: [each.model_dump(mode="json") for each in told] for name, told in night.blocked.items()
        },
        "holds": [hold.model_dump(mode="json") for hold in night.holds],
        "past_holds": [asdict(hold) for hold in night.past_holds],
        "money": asdict(night.money),
        "deliveries": [one.shown() for one in night.deliveries],
        "disk": asdict(night.disk) if night.disk else None,
        "sleeps": [asdict(each) for each in night.sleeps],
        "awake_locks": [asdict(each) for each in night.locks],
        "troubled_schedules": [asdict(each) for each in night.troubled],
    }


def _dump(ticket: Ticket) -> dict[str, Any]:
    return ticket.model_dump(mode="json")


def _headline(night: Night) -> str:
    if night.is_quiet:
        return "A quiet night: nothing was queued and nothing ran."
    parts = [
        (len(night.parked), "waits on you", "wait on you"),
        (sum(draft.fate is None for draft in night.drafts), "draft", "drafts"),
        (sum(draft.fate == "merged" for draft in night.drafts), "merged", "merged"),
        (len(night.failed), "failed", "failed"),
        (len(night.waiting), "did not run", "did not run"),
    ]
    over = [(len(night.drafts), "closed", "closed"), (len(night.cancelled), "cancelled", "cancelled")]
    return (_counted(parts) or ("Work is under way" if night.working else _counted(over))) + "."


def _counted(parts: Iterable[tuple[int, str, str]]) -> str:
    return ", ".join(f"{count} {one if count == 1 else many}" for count, one, many in parts if count)


def _sandboxes(night: Night) -> Iterator[str]:
    """Warn of what runs had, whatever is configured by now."""
    for kind, tickets in night.sandboxes.items():
        if told := weakness(kind):
            more = f" and {len(tickets) - MAX_WAITING} more" if len(tickets) > MAX_WAITING else ""
            names = ", ".join(tickets[:MAX_WAITING])
            yield f"**Sandbox: {kind or 'not recorded'}** in runs of {names}{more}: {told}."


def _section(title: str, lines: Iterable[str]) -> list[str]:
    items = "\n".join(f"- {line}" for line in lines)
    return [f"## {title}", items] if items else []


def _parked(ticket: Ticket, night: Night) -> str:
    questions = (each for each in night.open_questions.get(ticket.id, ()) if each not in ticket.reason)
    asked = "".join(f"\n  - {_plain(question)}" for question in questions)
    what = f"{_name(ticket)} waits for {ticket.waiting_for or 'a person'}: {_plain(ticket.reason)}"
    is_told_by_command = ticket.hint in (_command(ticket) or "")
    hint = "" if is_told_by_command else f" ({_plain(ticket.hint)})"
    return f"{what}{asked}\n  → `{_command(ticket)}`{hint}"


def _command(ticket: Ticket) -> str | None:
    """Name the command that moves a ticket on, if it is a person's turn."""
    return next_command(ticket.id, ticket.state, ticket.waiting_for)


def _draft(draft: Draft) -> str:
    where = draft.url or f"branch `{draft.ticket.branch}` is pushed; open the pull request yourself"
    tests = "" if draft.tests_executed is None else f", {draft.tests_executed} tests ran green"
    cost = format_usd(draft.ticket.spent_micro_usd)
    notes = "".join(f"\n  - {_plain(note)}" for note in draft.notes)
    files = "" if draft.changed_files is None else f"{draft.changed_files} files changed, "
    return f"{_name(draft.ticket)}: {where} ({files}{cost}{tests}){notes}\n  → `{_command(draft.ticket)}`"


def _settled(draft: Draft) -> str:
    """Say what a person has done; nothing is left to do."""
    where = draft.url or f"branch `{draft.ticket.branch}`"
    return f"{_name(draft.ticket)}: {draft.fate}, {where} ({format_usd(draft.ticket.spent_micro_usd)})"


def _stray(ticket: Ticket, where: str) -> str:
    return f"{_name(ticket)} is {ticket.state}, and its draft is open: {where}\n  → {close_hint(ticket.id)}"


def _failed(ticket: Ticket) -> str:
    return f"{_with_reason(ticket)}\n  → `{_command(ticket)}`"


def _waiting(night: Night) -> Iterator[str]:
    """Name for each ticket that did not run what holds it; a long queue is cut."""
    free = "nothing held it: it was next" if night.is_served else "nothing holds it, and no daemon runs"
    for ticket in night.waiting[:MAX_WAITING]:
        why = ", ".join(night.held_by.get(ticket.id, ())) or free
        reason = f"{_plain(ticket.reason)}; " if ticket.reason else ""
        yield f"{_name(ticket)}: {reason}{why}"
    if len(night.waiting) > MAX_WAITING:
        yield f"and {len(night.waiting) - MAX_WAITING} more: `autopilot list --state queued`"


def _working(ticket: Ticket, night: Night) -> str:
    """Say of a commit also why it is not published yet, and when or by what it goes on."""
    told = f"{_name(ticket)} is {ticket.state}"
    if ticket.state is not State.COMMITTED:
        return told
    reason = f": {_plain(ticket.reason)}" if ticket.reason else ""
    if not night.is_publishing:
        return f"{told}{reason}; it waits for the switch → `autopilot on`"
    is_ahead = ticket.not_before_ms > night.until_ms
    return f"{told}{reason}" + (f", tried again {_when(night, ticket.not_before_ms)}" if is_ahead else "")


def _with_reason(ticket: Ticket) -> str:
    hint = f" → {_plain(ticket.hint)}" if ticket.hint else ""
    return f"{_name(ticket)}: {_plain(ticket.reason) or ticket.state}{hint}"


def _hold(hold: Hold, night: Night) -> str:
    until = f", clears {_when(night, hold.clears_ms)}" if hold.clears_ms else ""
    scope = "" if hold.scope == "host" else f" ({hold.scope})"
    began = _when(night, hold.since_ms)
    return f"{hold.name}{scope}: {_plain(hold.cause)}, since {began}{until} → {_plain(hold.cure)}"


def _unserved(night: Night) -> Iterator[str]:
    """Say that nothing moves for want of a daemon, where something should."""
    if not night.is_served and (night.is_on or night.working):
        told = "**No daemon is running**, so nothing moves, and the holds are those of its last look"
        yield f"{told} → `autopilot on`"


def _trouble(night: Night) -> Iterator[str]:
    if (trouble := night.trouble) is not None:
        times = f", {trouble.ticks} times in a row" if trouble.ticks > 1 else ""
        yield (
            f"**The daemon's tick fails** since {_when(night, trouble.since_ms)}{times}; the holds are older:"
            f" {_plain(trouble.reason)} → {_plain(trouble.cure)}"
        )


def _blocked(night: Night) -> Iterator[str]:
    """Name what runs tried in vain; of many attempts only the first kinds."""
    lines = [
        f"**{ticket}** {each.by}: {_plain(each.what) or 'more of the kind'}"
        f" ({_plain(each.code) or 'refused'}{f', {each.count} times' if each.count > 1 else ''})"
        for ticket, told in night.blocked.items()
        for each in told
    ]
    yield from lines[:MAX_BLOCKED]
    if len(lines) > MAX_BLOCKED:
        yield f"and {len(lines) - MAX_BLOCKED} more kinds: `autopilot logs` of each ticket"


def _spend(money: Money) -> list[str]:
    used = (
        f"{format_usd(money.spent_micro_usd)} of {format_usd(money.ceiling_micro_usd)} in the last 24 hours"
    )
    lines = [
        used + (f", {format_usd(money.reserved_micro_usd)} reserved" if money.reserved_micro_usd else "")
    ]
    if money.has_unknown:
        lines.append("an agent ended without telling its cost: its whole reservation is counted as spent")
    lines += [
        f"phase {one.phase}: {format_usd(one.cost_micro_usd)}{'' if one.known else ' or more'},"
        f" {one.input_tokens:,} tokens in, {one.output_tokens:,} out, {one.cached_tokens:,} from cache"
        for one in money.phases
    ]
    models = dict.fromkeys(model for one in money.phases for model in one.unpriced)
    lines += [_plain(price_hint(model)) for model in models]
    return lines


def _disk(night: Night) -> Iterator[str]:
    disk = night.disk
    if disk is None:
        return
    sizes = ", ".join(f"{_plain(name)} {size / _MIB:.1f} MiB" for name, size in sorted(disk.mirrors.items()))
    if sizes:
        yield f"mirrors at {_when(night, disk.counted_ms)}: {sizes}"
    if disk.removable:
        yield f"{disk.removable} to clean up ({disk.removable_bytes / _MIB:.1f} MiB) → `autopilot gc`"
    yield from (f"could not be removed: {_plain(line)}" for line in disk.stays)


def _undelivered(one: Delivery) -> str:
    """Say what did not go out, and why; the ways out of the machine are looked at by doctor."""
    hint = f" → {_plain(one.hint)}" if one.hint else ""
    return f"{_plain(standing.sentence(one.shown()))}{hint}"


def _name(ticket: Ticket) -> str:
    return f"**{ticket.id}** {_plain(ticket.title)}"


def _plain(text: str) -> str:
    """Make a ticket's or an agent's text one line that is neither markup nor a terminal's command."""
    return one_line(text, max_chars=MAX_TEXT_CHARS).translate(machine.MARKDOWN_SPECIAL)


def _when(night: Night, epoch_ms: int) -> str:
    """Show a time as the clock on the operator's wall shows it."""
    return local_time(epoch_ms, night.zone)
