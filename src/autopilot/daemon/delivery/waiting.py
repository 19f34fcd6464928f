"""What is to go out, and what a publisher is told of it.

Must not send anything, and must not decide what may leave: the publisher's gate does.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, assert_never

from autopilot.daemon.issues import tracker_of
from autopilot.daemon.store import deliveries, queries_runs, queries_tickets
from autopilot.daemon.store.unit import in_one
from autopilot.schemas.delivery import ChannelSpec, DeliverySpec, IssueTarget
from autopilot.schemas.units import MS_PER_S

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from sqlalchemy import Connection

    from autopilot.config.channel import Channel
    from autopilot.config.paths import Paths
    from autopilot.config.settings import Settings
    from autopilot.daemon.shop import Shop
    from autopilot.daemon.store.deliveries import Delivery
    from autopilot.daemon.store.rows import Publication
    from autopilot.daemon.store.unit import Unit
    from autopilot.daemon.trouble import Trouble

REPORT_FILE = "report.json"
MARK_FILE = "mark"
_DAY_MS = 24 * 3600 * MS_PER_S
_NAME_CHARS = 16


@dataclass(frozen=True, slots=True)
class Places:
    """Where one try tells how it went, and by which name."""

    id: str
    report: Path
    mark: Path


@dataclass(frozen=True, slots=True)
class _Wanted:
    """A text about a draft that is to go out."""

    subject: str
    channel: str
    kind: Literal["draft", "issue"]
    about: Publication


def fill(shop: Shop) -> bool:
    """Let what is said of drafts wait for its turn; say whether anything may go out at all.

    A draft that was opened more than a day ago is in a digest by now.
    """
    settings = shop.settings
    if not (settings.report_issue_updates or (settings.report_channels and settings.report_drafts)):
        return bool(settings.report_channels)
    with shop.store.read() as conn:
        opened = deliveries.opened_drafts(conn, shop.now_ms() - _DAY_MS)
        wanted = [
            each
            for one in opened
            for each in _wanted(conn, one, settings)
            if not deliveries.is_known(conn, each.subject, each.channel)
        ]
        texts = [_text(conn, each, settings) for each in wanted]

    def work(unit: Unit) -> None:
        for each, text in zip(wanted, texts, strict=True):
            if text is not None:
                ticket = each.about.ticket_id
                deliveries.enqueue(unit, each.subject, each.channel, kind=each.kind, text=text, ticket=ticket)

    if wanted:
        in_one(shop.store, work)
    return True


def digest_waits(shop: Shop, day: str, *, trouble: Trouble | None = None) -> Callable[[Unit], None] | None:
    """Give what lets a date's digest wait for its turn, in the transaction that says it is written.

    `trouble` is what keeps the daemon's ticks from ending well.
    """
    channels = shop.settings.report_channels
    if not channels:
        return None
    from autopilot.daemon.delivery import wording  # noqa: PLC0415 - once a day, as the digest itself
    from autopilot.daemon.delivery.catalogue import catalogue  # noqa: PLC0415 - as above
    from autopilot.daemon.desk import Desk  # noqa: PLC0415 - as above
    from autopilot.daemon.digest import gather  # noqa: PLC0415 - as above

    desk = Desk(shop.store, shop.settings, shop.paths, shop.clock)
    night = gather.night(desk, since_ms=shop.now_ms() - _DAY_MS, trouble=trouble)
    text = wording.digest(night, catalogue(shop.settings.output_language))

    def work(unit: Unit) -> None:
        for channel in channels:
            deliveries.enqueue(unit, f"digest {day}", channel, kind="digest", text=text)

    return work


def unwanted(settings: Settings, seen: Delivery, to: ChannelSpec | IssueTarget | None) -> str:
    """Say why it is not to be sent any more; empty while it is, which it never is with nowhere to go."""
    match seen.kind:
        case "issue" if not settings.report_issue_updates:
            return "report_issue_updates was turned off"
        case "issue":
            return "" if to is not None else f"no tracker is configured for {seen.channel} any more"
        case "digest" | "draft" if to is None or seen.channel not in settings.report_channels:
            return "the channel is not in report_channels any more"
        case "draft" if not settings.report_drafts:
            return "report_drafts was turned off"
        case "digest" | "draft":
            return ""
        case _:
            assert_never(seen.kind)


def spec(shop: Shop, seen: Delivery, to: ChannelSpec | IssueTarget) -> DeliverySpec:
    """Say what a publisher is to do."""
    places = places_of(shop.paths, seen)
    return DeliverySpec(
        id=places.id,
        report=places.report,
        workdir=places.report.with_name("work"),
        mark=places.mark,
        to=to,
        text=seen.text,
        roots=roots(shop.paths),
        kill_grace_s=shop.settings.timeouts.kill_grace_s,
        created_ms=seen.created_ms,
    )


def target(shop: Shop, seen: Delivery) -> ChannelSpec | IssueTarget | None:
    """Say where it goes, by the configuration as it is now; None where there is no such place any more."""
    if seen.kind != "issue":
        known = shop.settings.channels.get(seen.channel)
        return None if known is None else channel_spec(seen.channel, known)
    with shop.store.read() as conn:
        about = queries_runs.publication(conn, seen.subject.partition(" ")[2])
        ticket = None if about is None else queries_tickets.ticket(conn, about.ticket_id)
    if about is None or about.pr_url is None or ticket is None:
        return None
    found = tracker_of(shop.settings, ticket.source_key, ticket.repo)
    if found is None:
        return None
    return IssueTarget(tracker=found.tracker, reference=found.number, known_by=about.pr_url)


def channel_spec(name: str, channel: Channel) -> ChannelSpec:
    """Give a channel as a publisher is told of it."""
    return ChannelSpec(
        name=name,
        kind=channel.kind,
        argv=channel.argv,
        credential=channel.credential or "",
        format=channel.form,
        limit_s=channel.limit_s,
    )


def roots(paths: Paths) -> tuple[str, ...]:
    """Name the folders whose paths must not leave this machine."""
    return tuple(dict.fromkeys(map(str, (paths.state, paths.config_file.parent, paths.logs))))


def folder_of(paths: Paths, seen: Delivery) -> Path:
    """Name the folder of a delivery by what it is about: also a queue that was restored finds its mark."""
    known_by = hashlib.sha256(f"{seen.subject}\0{seen.channel}".encode()).hexdigest()[:_NAME_CHARS]
    return paths.deliveries / f"{seen.kind}-{known_by}"


def places_of(paths: Paths, seen: Delivery) -> Places:
    """Say where its last try tells how it went, wherever it was to go."""
    folder = folder_of(paths, seen)
    return Places(f"{seen.id}-{seen.tries}", folder / REPORT_FILE, folder / MARK_FILE)


def may_be_sent(places: Places) -> bool:
    """Tell by the mark whether a try that told nothing may have sent something."""
    return places.mark.exists()


def _wanted(conn: Connection, one: Publication, settings: Settings) -> Iterator[_Wanted]:
    """Give where a draft is told of: each channel, and the issue that its ticket came from."""
    if settings.report_drafts:
        for channel in settings.report_channels:
            yield _Wanted(f"draft {one.id}", channel, "draft", one)
    ticket = queries_tickets.ticket(conn, one.ticket_id) if settings.report_issue_updates else None
    target = None if ticket is None else tracker_of(settings, ticket.source_key, ticket.repo)
    if target is not None and one.pr_url:
        yield _Wanted(f"issue {one.id}", target.name, "issue", one)


def _text(conn: Connection, wanted: _Wanted, settings: Settings) -> str | None:
    """Write it; None where the ticket is gone."""
    from autopilot.daemon.delivery import wording  # noqa: PLC0415 - a few times a night
    from autopilot.daemon.delivery.catalogue import catalogue  # noqa: PLC0415 - as above

    one = wanted.about
    ticket = queries_tickets.ticket(conn, one.ticket_id)
    if ticket is None:
        return None
    gates, said = (
        queries_runs.gates_of(conn, one.ticket_id, head=one.head),
        catalogue(settings.output_language),
    )
    if wanted.kind == "issue":
        return wording.comment(one, gates, said)
    return wording.draft(ticket, one, gates, said)
