"""Sends what waits, each through a publisher of its own, and writes down how that ended.

Must not send anything itself, and nothing twice: what was cut off may have been sent, unless its mark is
missing. Nothing of this holds a ticket up. Source: docs/decisions/0166.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, assert_never

from pydantic import ValidationError

from autopilot.config.atomic import make_folder, write_atomically
from autopilot.config.foreign_file import UnreadableError, read_plain
from autopilot.config.logs import logger
from autopilot.config.paths import SPEC_FILE
from autopilot.config.proc import SpawnError
from autopilot.daemon.children import renew_handed
from autopilot.daemon.decide import backoff_ms
from autopilot.daemon.delivery import child, waiting
from autopilot.daemon.store import deliveries
from autopilot.schemas.delivery import DeliveryReport
from autopilot.schemas.errors import StaleTransitionError, TransientError
from autopilot.schemas.events import Event

if TYPE_CHECKING:
    from autopilot.daemon.delivery.waiting import Places
    from autopilot.daemon.shop import Shop
    from autopilot.daemon.store.deliveries import Delivery
    from autopilot.daemon.supervisor import Supervisor
    from autopilot.schemas.delivery import ChannelSpec, IssueTarget

MAX_AT_ONCE = 2
MOST_TRIES = 12
"""By the usual back-off that is some four hours: a network that is away in the morning comes back by then."""
_MAX_REPORT_BYTES = 64 * 1024


@dataclass(frozen=True, slots=True)
class _Errand:
    """What one child was started for."""

    key: str
    places: Places
    seen: Delivery


class Rounds:
    """A courier at work: knows which children are under way. A restart forgets that, and asks the marks."""

    def __init__(self, supervisor: Supervisor) -> None:
        """Take who watches these children alone: no draining daemon waits for them."""
        self._supervisor = supervisor
        self._under_way: dict[int, _Errand] = {}
        self._owes_look = True

    def __call__(self, shop: Shop) -> int | None:
        """Write down what became of what was sent, and send what is due; give when to look again."""
        for errand in tuple(self._under_way.values()):
            self._take_up(shop, errand)
        is_wanted = waiting.fill(shop)
        if not (is_wanted or self._owes_look or self._under_way):
            return None
        with shop.store.read() as conn:
            unfinished = deliveries.unfinished(conn)
        self._owes_look = bool(unfinished)
        for seen in unfinished:
            if seen.id not in self._under_way:
                self._move(shop, seen)
        waits = [seen.not_before_ms for seen in unfinished if seen.not_before_ms > shop.now_ms()]
        return min(waits, default=None)

    def close(self) -> None:
        """End what is under way: its mark tells the next daemon how far it came."""
        self._supervisor.stop_all("the daemon stops")
        for errand in self._under_way.values():
            self._supervisor.forget(errand.key)

    def _move(self, shop: Shop, seen: Delivery) -> None:
        """Take one further, whatever an earlier daemon left of it; a fault waits for the next look."""
        try:
            if seen.state == "sending":
                seen = self._left_over(shop, seen)
            if seen.state != "waiting":
                return
            to = waiting.target(shop, seen)
            why = waiting.unwanted(shop.settings, seen, to)
            if why or to is None:
                _ended(shop, seen, "failed", code="not-wanted", reason=why)
            elif seen.not_before_ms <= shop.now_ms() and len(self._under_way) < MAX_AT_ONCE:
                self._send(shop, seen, to)
        except StaleTransitionError:
            return  # it changed meanwhile: the next look sees how
        except (OSError, SpawnError) as error:
            _tell(Event.DELIVERY_POSTPONED, seen, "not-started", str(error))

    def _left_over(self, shop: Shop, seen: Delivery) -> Delivery:
        """Judge what an earlier daemon was sending; its child may live, and is ended first."""
        self._supervisor.sweep(_key(shop, seen), None)
        return _judged(shop, seen, waiting.places_of(shop.paths, seen), "the daemon ended meanwhile")

    def _send(self, shop: Shop, seen: Delivery, to: ChannelSpec | IssueTarget) -> None:
        under_way = deliveries.begin(shop.store, seen)
        spec = waiting.spec(shop, under_way, to)
        key = _key(shop, under_way)
        try:
            make_folder(spec.report.parent)
            spec.report.unlink(missing_ok=True)
            spec_file = spec.report.with_name(SPEC_FILE)
            write_atomically(spec_file, spec.model_dump_json(indent=1).encode())
            renew_handed(shop.paths)
            self._supervisor.start(child.launch(key, spec, spec_file))
        except (OSError, SpawnError) as error:
            _put_off(shop, under_way, "not-started", str(error))
            return
        self._under_way[seen.id] = _Errand(key, waiting.places_of(shop.paths, under_way), under_way)
        logger("daemon").debug(Event.DELIVERY_STARTED, delivery=seen.id, channel=seen.channel)

    def _take_up(self, shop: Shop, errand: _Errand) -> None:
        """Write down how one ended, once it has."""
        watch = self._supervisor.get(errand.key)
        if watch is None or watch.ending is None:
            return
        _judged(shop, errand.seen, errand.places, watch.ending.told)
        del self._under_way[errand.seen.id]
        self._supervisor.forget(errand.key)


def _key(shop: Shop, seen: Delivery) -> str:
    return shop.paths.mark(f"deliver-{seen.id}")


def _judged(shop: Shop, seen: Delivery, places: Places, told: str) -> Delivery:
    """Write down what the report says, or, without one, what the mark says."""
    report = _report(places)
    if report is None and waiting.may_be_sent(places) and seen.kind == "issue":
        # Its publisher finds the mark, sends nothing, and looks whether the comment is there.
        return _put_off(shop, seen, "interrupted", f"{told}: it is looked for")
    if report is None and waiting.may_be_sent(places):
        return _ended(shop, seen, "unsure", code="interrupted", reason=f"{told}: it may have been sent")
    if report is None:
        return _put_off(shop, seen, "interrupted", f"{told}; nothing was sent")
    facts = {"code": report.code, "reason": report.message, "hint": report.hint}
    match report.outcome:
        case "sent":
            return _ended(shop, seen, "sent", **facts)
        case "refused":
            return _ended(shop, seen, "refused", **facts)
        case "rejected":
            return _ended(shop, seen, "failed", **facts)
        case "unsure":
            return _ended(shop, seen, "unsure", **facts)
        case "not-sent":
            return _put_off(shop, seen, report.code, report.message, hint=report.hint)
        case _:
            assert_never(report.outcome)


def _report(places: Places) -> DeliveryReport | None:
    """Read what this very try told; None where it told nothing.

    Raises:
        TransientError: `reading-short`: nothing can be read now, so that nobody can say what it told.
    """
    try:
        report = DeliveryReport.model_validate_json(read_plain(places.report, max_bytes=_MAX_REPORT_BYTES))
    except UnreadableError as exc:
        if exc.is_our_want:
            hint = "nothing to do: it is read again"
            raise TransientError("reading-short", f"{places.report.name}: {exc}", hint=hint) from exc
        return None
    except ValidationError:
        return None
    return report if report.id == places.id else None


def _put_off(shop: Shop, seen: Delivery, code: str, reason: str, *, hint: str = "") -> Delivery:
    """Let it be tried again, if it may: nothing of it was sent."""
    if seen.tries >= MOST_TRIES:
        why = f"given up after {seen.tries} tries: {reason}"
        return _ended(shop, seen, "failed", code=code, reason=why, hint=hint)
    again_ms = shop.now_ms() + backoff_ms(seen.tries, shop.rules, shop.jitter())
    _tell(Event.DELIVERY_POSTPONED, seen, code, reason)
    return deliveries.put_off(shop.store, seen, not_before_ms=again_ms, code=code, reason=reason)


def _ended(
    shop: Shop,
    seen: Delivery,
    state: deliveries.EndState,
    *,
    code: str,
    reason: str,
    hint: str = "",
) -> Delivery:
    done = deliveries.end(shop.store, seen, state, code=code, reason=reason, hint=hint)
    if state == "sent":
        logger("daemon").info(
            Event.DELIVERY_SENT, delivery=seen.id, subject=seen.subject, channel=seen.channel
        )
    else:
        event = Event.DELIVERY_DOUBTED if state == "unsure" else Event.DELIVERY_FAILED
        _tell(event, seen, code, reason)
    return done


def _tell(event: Event, seen: Delivery, code: str, reason: str) -> None:
    log = logger("daemon")
    write = log.error if event is Event.DELIVERY_FAILED else log.warning
    write(event, delivery=seen.id, subject=seen.subject, channel=seen.channel, code=code, reason=reason)
