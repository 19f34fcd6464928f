"""What is delivered, written out: a night, and one draft. Plain text, short enough for any channel.

Must not read anything, and must not decide what may leave: the publisher's gate does.
"""

from __future__ import annotations

from collections import Counter
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from autopilot.config.plain import one_line
from autopilot.daemon.digest import held
from autopilot.schemas.machine import State
from autopilot.schemas.units import MS_PER_S, in_local_time

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from autopilot.daemon.delivery.catalogue import Catalogue
    from autopilot.daemon.digest.night import Draft, Night
    from autopilot.daemon.store.deliveries import Delivery
    from autopilot.daemon.store.rows import Publication
    from autopilot.schemas.gate import GateRecord
    from autopilot.schemas.ticket import Ticket

MAX_BYTES = 3500
"""ntfy makes a file of what is longer than 4096 bytes."""
MAX_LINES = 8
"""Of one section."""
_MAX_CHARS = 200


def digest(night: Night, said: Catalogue) -> str:
    """Write a night down: what waits on a person comes first, and what does not fit is counted."""
    when = _when(night, night.until_ms)
    span = said.say("digest.span", since=_when(night, night.since_ms), until=when)
    head = [said.say("digest.title", day=when[:10]), span, *_remarks(night, said)]
    tail = [
        "",
        said.say(
            "digest.spend",
            spent=said.usd(night.money.spent_micro_usd),
            ceiling=said.usd(night.money.ceiling_micro_usd),
        ),
        said.say("digest.rest"),
    ]
    sections = [[in_local_time(line, night.zone) for line in lines] for lines in _sections(night, said)]
    room = MAX_BYTES - _size([*head, *tail])
    body: list[str] = []
    for number, lines in enumerate(sections):
        left = len(sections) - number
        if _size([*body, "", *lines]) > room - _size(["", said.say("digest.more", count="00")]):
            body += ["", said.say("digest.more", count=said.number(left))]
            break
        body += ["", *lines]
    return "\n".join([*head, *body, *tail]) + "\n"


def draft(ticket: Ticket, publication: Publication, gates: Sequence[GateRecord], said: Catalogue) -> str:
    """Write down that a draft is open: what of, where, what it cost, and what the gates said."""
    lines = (
        said.say("draft.title", ticket=_name(ticket)),
        said.say("draft.url", url=publication.pr_url or publication.branch),
        said.say("draft.state"),
        said.say("draft.repo", repo=publication.repo, branch=publication.branch),
        said.say("draft.cost", cost=said.usd(ticket.spent_micro_usd)),
        said.say("draft.gates", gates=_gates(gates, said)),
    )
    return "\n".join(lines) + "\n"


def comment(publication: Publication, gates: Sequence[GateRecord], said: Catalogue) -> str:
    """Write the comment on a draft's issue: where it is, and what the gates said; of money, nothing."""
    lines = (
        said.say("draft.ready", url=publication.pr_url or publication.branch),
        said.say("draft.state"),
        said.say("draft.gates", gates=_gates(gates, said)),
    )
    return "\n".join(lines) + "\n"


def _gates(gates: Sequence[GateRecord], said: Catalogue) -> str:
    """Count what the gates said; each counts as it was found last."""
    last = {record.gate: record.verdict for record in gates}
    counts = Counter(last.values())
    told = [f"{said.number(count)} {said.word('gate', verdict)}" for verdict, count in counts.most_common()]
    return ", ".join(told) or said.say("draft.no_gates")


def _remarks(night: Night, said: Catalogue) -> Iterator[str]:
    if night.is_quiet:
        yield said.say("digest.quiet")
    if not night.is_on:
        yield said.say("digest.off")
    if night.sandbox == "none":
        yield said.say("digest.unconfined")
    if night.trouble is not None:
        since = _when(night, night.trouble.since_ms)
        yield said.say("digest.trouble", since=since, reason=_plain(night.trouble.reason))


def _sections(night: Night, said: Catalogue) -> Iterator[list[str]]:
    """Give each section that has something to say, the most urgent first."""
    to_review = [one for one in night.drafts if one.fate is None]
    settled = [one for one in night.drafts if one.fate is not None]
    lines: tuple[tuple[str, Iterable[str]], ...] = (
        ("waits", (_parked(ticket, said) for ticket in night.parked)),
        ("drafts", (_draft(one, said) for one in to_review)),
        ("strays", (said.say("digest.stray", ticket=_name(who), where=where) for who, where in night.strays)),
        ("failed", (_because(ticket, said) for ticket in night.failed)),
        ("holds", _holds(night, said)),
        ("held", _held(night, said)),
        ("idle", (_waiting(ticket, night, said) for ticket in night.waiting)),
        ("working", (_at_work(ticket, said) for ticket in night.working)),
        ("settled", (_settled(one, said) for one in settled)),
        ("undelivered", (_undelivered(one, said) for one in night.deliveries)),
    )
    for title, each in lines:
        if shown := list(each):
            more = len(shown) - MAX_LINES
            rest = [said.say("digest.more", count=said.number(more))] if more > 0 else []
            head = f"{said.say(f'digest.{title}')} ({said.number(len(shown))})"
            yield [head, *(f"- {line}" for line in (*shown[:MAX_LINES], *rest))]


def _parked(ticket: Ticket, said: Catalogue) -> str:
    what = said.word("waiting_for", ticket.waiting_for or "")
    return said.say("digest.parked", ticket=_name(ticket), what=what, reason=_plain(ticket.reason))


def _draft(one: Draft, said: Catalogue) -> str:
    where = one.url or said.say("digest.branch", branch=one.ticket.branch)
    cost = said.usd(one.ticket.spent_micro_usd)
    return said.say("digest.draft", ticket=_name(one.ticket), where=where, cost=cost)


def _because(ticket: Ticket, said: Catalogue) -> str:
    return said.say("digest.plain", ticket=_name(ticket), reason=_plain(ticket.reason))


def _holds(night: Night, said: Catalogue) -> Iterator[str]:
    for hold in night.holds:
        yield said.say("digest.hold", name=hold.name, scope=hold.scope, cause=_plain(hold.cause))


def _held(night: Night, said: Catalogue) -> Iterator[str]:
    for hold in held.untoward(night):
        span = {"since": _when(night, hold.since_ms), "until": _when(night, hold.until_ms)}
        yield said.say("digest.past_hold", name=hold.name, scope=hold.scope, cause=_plain(hold.cause), **span)


def _waiting(ticket: Ticket, night: Night, said: Catalogue) -> str:
    holds = ", ".join(night.held_by.get(ticket.id, ())) or said.say("digest.free")
    return said.say("digest.waiting", ticket=_name(ticket), holds=holds)


def _at_work(ticket: Ticket, said: Catalogue) -> str:
    """Say of a commit also why it is not published yet."""
    why = f"; {_plain(ticket.reason)}" if ticket.state is State.COMMITTED and ticket.reason else ""
    reason = f"{said.word('ticket', ticket.state)}{why}"
    return said.say("digest.plain", ticket=_name(ticket), reason=reason)


def _settled(one: Draft, said: Catalogue) -> str:
    fate = said.word("fate", one.fate or "")
    return said.say("digest.plain", ticket=_name(one.ticket), reason=fate)


def _undelivered(one: Delivery, said: Catalogue) -> str:
    state = said.word("delivery", one.state)
    if one.kind == "issue":
        told = {"ticket": one.ticket or "", "issue": one.channel, "state": state}
        return said.say("digest.uncommented", **told, reason=_plain(one.reason))
    what = said.word("kind", one.kind) + (f" {one.ticket}" if one.ticket else "")
    return said.say(
        "digest.undelivered_line", what=what, channel=one.channel, state=state, reason=_plain(one.reason)
    )


def _name(ticket: Ticket) -> str:
    return f"{ticket.id} {_plain(ticket.title)}"


def _plain(text: str) -> str:
    return one_line(text, max_chars=_MAX_CHARS)


def _when(night: Night, epoch_ms: int) -> str:
    return f"{datetime.fromtimestamp(epoch_ms / MS_PER_S, tz=UTC).astimezone(night.zone):%Y-%m-%d %H:%M}"


def _size(lines: Sequence[str]) -> int:
    return len("\n".join(lines).encode()) + 1
