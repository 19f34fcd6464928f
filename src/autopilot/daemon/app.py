"""The daemon: one process in the foreground that judges until it is asked to stop.

Must not judge anything itself. The order matters: lock, store, recovery, and only then the control socket
and the first claim. Where the store is large the socket opens before it is read, and tells only that we live.
"""

from __future__ import annotations

import os
import threading
from contextlib import ExitStack
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

import psutil

from autopilot.config import environ, installed, logs, procinfo
from autopilot.config.logs import logger
from autopilot.config.room import memory_short
from autopilot.daemon import faults, signals, starts
from autopilot.daemon.api.control import ControlServer
from autopilot.daemon.api.routes import Routes
from autopilot.daemon.backups import Backups
from autopilot.daemon.clockwork import Clockwork
from autopilot.daemon.delivery.courier import Courier
from autopilot.daemon.doors import Doors
from autopilot.daemon.drafts import Drafts
from autopilot.daemon.gc.chore import Cleaner
from autopilot.daemon.inbox import Inbox, Woken
from autopilot.daemon.interim import leases_kept_up
from autopilot.daemon.lock import daemon_lock
from autopilot.daemon.loop import Loop
from autopilot.daemon.nightly import write_digest_if_due
from autopilot.daemon.outlasting import Outlasting
from autopilot.daemon.own_lock import OwnLock, ServiceAndLid, lid_alone, more_than_sleep
from autopilot.daemon.probing import Probing
from autopilot.daemon.reconcile import Reconcile
from autopilot.daemon.retention import Retention
from autopilot.daemon.shop import Current, Shop
from autopilot.daemon.statedir import check_state_dir
from autopilot.daemon.store.engine import open_store
from autopilot.daemon.supervisor import Supervisor
from autopilot.daemon.turns import Turns
from autopilot.daemon.upkeep import Upkeep
from autopilot.daemon.version import program_version
from autopilot.daemon.vigil import Vigil, Wakeful
from autopilot.daemon.vitals import Vitals
from autopilot.launchd import heartbeat, keeper
from autopilot.launchd.service import MARK
from autopilot.schemas.errors import AutopilotError, ExitCode
from autopilot.schemas.events import Event
from autopilot.schemas.units import MS_PER_S

if TYPE_CHECKING:
    from collections.abc import Callable

    from autopilot.config.clock import Clock
    from autopilot.config.paths import Paths
    from autopilot.config.settings import Settings
    from autopilot.daemon.desk import Desk
    from autopilot.daemon.inbox import Message
    from autopilot.daemon.lock import DaemonLock
    from autopilot.daemon.trouble import Trouble

    Chore = Callable[[Shop], int | None]

LONGEST_WAIT_S = 60.0
"""The scheduler wakes the loop; this is for the day it does not."""
_LAST_STEPS_S = 2.0
"""Calls wait so long for what lies between the open socket and the end of the start: milliseconds."""
_GIVEN_UP = "check-given-up"
_CAN_PASS = frozenset({"database-full", "database-unwritable"})


def run_daemon(
    paths: Paths, settings: Settings, clock: Clock, *, reload: Callable[[], Settings] | None = None
) -> ExitCode:
    """Run until TERM or INT; a second one does not wait for what is running.

    Args:
        paths: where everything is.
        settings: the configuration as loaded.
        clock: the time.
        reload: loads the configuration again; asked when its file changed.

    Returns:
        OK after a clean stop, or when asked to end while it read a large store; LATER or CONFIG when state
            could not be saved.

    Raises:
        RefusedError: another daemon runs here.
        ConfigError: the state folder, the database or the control socket cannot be used.
    """
    installed.note()
    paths.ensure()
    check_state_dir(paths.state)
    with ExitStack() as open_things:
        lock = open_things.enter_context(daemon_lock(paths.daemon_lock))
        logs.setup(paths.logs, clock=clock, stderr=True, **settings.logs.model_dump())
        logger("daemon").info(Event.DAEMON_STARTED, state=str(paths.state))
        if lock.left:
            logger("daemon").info(Event.LOCK_INHERITED, file=str(paths.daemon_lock), why=lock.left)
        starts.begin(paths, clock)
        end_interim = open_things.enter_context(leases_kept_up(paths))
        store = open_store(paths.database, clock, role="daemon")
        open_things.callback(store.close)
        inbox = Inbox()
        current = Current(settings, config_file=paths.config_file, reload=reload)
        supervisor = Supervisor(clock=clock, inbox=inbox)
        probing = Probing(Supervisor(clock=clock, inbox=inbox))
        boot = procinfo.boot_id()
        shop = Shop(store, paths, clock, supervisor, current, _boot_ms(), boot, probing=probing)
        open_things.callback(probing.close)
        open_things.enter_context(signals.told_to(inbox))
        return _serve(shop, inbox, lock, end_interim)


def _serve(shop: Shop, inbox: Inbox, lock: DaemonLock, end_interim: Callable[[], None]) -> ExitCode:
    """Recover, open the doors, and judge until it is done."""
    log, ready, turns = logger("daemon"), threading.Event(), Turns()
    drafts, backups = Drafts(Supervisor(clock=shop.clock, inbox=inbox)), Backups(inbox, turns)
    cleaner = Cleaner(Supervisor(clock=shop.clock, inbox=inbox), turns)
    courier = Courier(Supervisor(clock=shop.clock, inbox=inbox))
    about = {"pid": os.getpid(), "version": program_version(), "started_ms": shop.now_ms()}
    routes = Routes(
        shop.store,
        desk=partial(_desk, shop),
        inbox=inbox,
        about=lambda: {
            **about,
            "is_draining": loop.is_draining,
            "is_replaced": installed.is_replaced(),
            "trouble": loop.complaints.troubles.shown,
        },
        is_ready=partial(ready.wait, 0 if shop.store.owes_check else _LAST_STEPS_S),
    )
    control = ControlServer(
        shop.paths.control_socket,
        routes,
        on_fault=lambda error: log.error(Event.CALL_FAILED, **faults.told(error)),
    )
    vigil = Vigil(_wakeful(shop, is_service=bool(environ.current().get(MARK))))
    own = Hands(drafts, backups, cleaner, courier, vigil, turns)
    looked_after = chores(Doors(lock, control), own, trouble=lambda: loop.complaints.troubles.now)
    loop = Loop(shop, chores=(*looked_after, *filter(None, [shop.probing])))
    clockwork = Clockwork(inbox, clock=shop.clock, poll_s=shop.settings.daemon.poll_s)
    try:
        with ExitStack() as doors:
            for close in (
                *(drafts.close, cleaner.close, backups.close),
                *(courier.close, control.stop, vigil.close),
            ):
                doors.callback(close)
            _begin(shop, loop, control, inbox=inbox)
            end_interim()  # recovery has put whatever lives under watch
            clockwork.start()
            doors.callback(clockwork.stop)
            starts.is_up(shop.paths)
            log.info(Event.DAEMON_READY, **about)
            heart = heartbeat.find(environ.current(), shop.clock)
            heart.ready(f"version {about['version']} is ready")
            ready.set()
            judge_until_done(loop, inbox, clockwork, Vitals(shop, heart))
    except (AutopilotError, MemoryError) as exc:
        return _failed(shop, memory_short() if isinstance(exc, MemoryError) else exc)
    log.info(Event.DAEMON_STOPPED)
    return ExitCode.OK


def _wakeful(shop: Shop, *, is_service: bool) -> Wakeful:
    """Give who keeps the machine awake from on to off."""
    if is_service:
        return ServiceAndLid(keeper.find(shop.clock), OwnLock(lambda: lid_alone(shop.settings)))
    return OwnLock(lambda: more_than_sleep(shop.settings))


def _desk(shop: Shop) -> Desk:
    from autopilot.daemon.desk import Desk  # noqa: PLC0415 - when somebody asks for more than our health

    return Desk(shop.store, shop.settings, shop.paths, shop.clock)


def _failed(shop: Shop, error: AutopilotError) -> ExitCode:
    """Say why it ended; a check that somebody asked us to leave is no failure."""
    starts.fail(shop.paths, shop.clock, error)
    if error.code == _GIVEN_UP:
        logger("daemon").info(Event.DAEMON_STOPPED)
        return ExitCode.OK
    logger("daemon").error(Event.DAEMON_FAILED, code=error.code, hint=error.hint, **faults.told(error))
    return ExitCode.LATER if error.code in _CAN_PASS else error.exit_code


@dataclass(frozen=True, slots=True)
class Hands:
    """What is at work beside the loop, each for its own chore."""

    drafts: Drafts
    backups: Backups
    cleaner: Cleaner
    courier: Courier
    vigil: Vigil
    turns: Turns


def chores(doors: Chore, own: Hands, *, trouble: Callable[[], Trouble | None]) -> tuple[Chore, ...]:
    """Give what is looked after on every tick, in its order: what is overdue has its turn in this one too.

    `trouble` tells what ticks fail at.
    """
    digest = partial(write_digest_if_due, is_ready=own.drafts.are_told, trouble=trouble, turns=own.turns)
    daily = (digest, own.backups, Reconcile(own.turns), Retention(own.turns), own.cleaner)
    return doors, own.drafts, *daily, own.courier, Upkeep(), own.vigil


def _begin(shop: Shop, loop: Loop, control: ControlServer, *, inbox: Inbox) -> None:
    """Recover, then open the control socket; it opens first where the store is large, and only says so.

    Reading a large store through may take minutes: who asks the daemon to end meanwhile is heard. Who calls
    where it is small waits for the last steps of the start: a daemon that has answered is up.
    """
    is_large = shop.store.owes_check
    if is_large:
        control.start()
        shop.store.check(is_asked_to_end=lambda: inbox.is_stop_asked)
        logger("daemon").info(Event.STORE_CHECKED, state=str(shop.paths.state))
    with loop.patience():
        loop.recover()
    if not is_large:
        control.start()


def judge_until_done(loop: Loop, inbox: Inbox, clockwork: Clockwork, vitals: Vitals) -> None:
    """Tick whenever somebody told something or the clock says so, until the loop is done.

    A tick that came to its end is a beat of the heart; nothing else is.
    """
    messages: tuple[Message, ...] = (Woken("start"),)
    tick = Outlasting(loop)
    while True:
        tick.heed(clockwork.passed())
        clockwork.appoint(tick(messages))
        if loop.is_done:
            return
        vitals.tell(loop)
        messages = inbox.take(min(LONGEST_WAIT_S, loop.patience_s, tick.patience_s, vitals.patience_s))


def _boot_ms() -> int:
    return round(psutil.boot_time() * MS_PER_S)
