"""The one list of what is looked at: arming, `doctor` and each tick ask from it.

A new line is a function in the module of its subject, and an entry here. Must not look at anything itself.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from autopilot.daemon.checkup import (
    alive,
    base,
    bounds,
    cell,
    clocks,
    configured,
    forge,
    guarding,
    host,
    leases,
    money,
    notices,
    power,
    queue,
    registries,
    rehearsal,
    remote,
    room,
    service,
    signin,
    tracker,
    versions,
)
from autopilot.daemon.checkup.account import own_account
from autopilot.daemon.checkup.probe import ALWAYS, BEFORE_A_NIGHT, Probe, Purpose
from autopilot.schemas.checkup import Area

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from autopilot.config.clock import Clock
    from autopilot.config.paths import Paths
    from autopilot.config.repository import Repo
    from autopilot.daemon.checkup.probe import Limit
    from autopilot.daemon.checkup.scene import Scene
    from autopilot.schemas.checkup import Check

_DOCTOR = frozenset({Purpose.DOCTOR})
_SLOW_S = 120.0
_CHILD_S = 60.0


def of_machine(paths: Paths, clock: Clock) -> tuple[Probe, ...]:
    """Give what can be looked at without a configuration."""
    return (
        Probe(name="git", area=Area.MACHINE, look=_one(host.git_program)),
        Probe(
            name="database",
            area=Area.QUEUE,
            look=_one(partial(host.database, paths, clock)),
            within_s=_SLOW_S,
        ),
        Probe(name="leases", area=Area.QUEUE, look=lambda _: leases.overdue(paths, clock)),
        Probe(
            name="backups", area=Area.QUEUE, look=_one(partial(host.backups, paths, clock)), within_s=_SLOW_S
        ),
        Probe(
            name="sleep lock", area=Area.NIGHT, look=_one(partial(power.sleep_lock, clock)), is_vital=False
        ),
        Probe(name="sqlite", area=Area.QUEUE, look=_one(host.sqlite)),
        *_of_cells(paths, clock),
        Probe(name="account", area=Area.MACHINE, look=_one(own_account)),
        Probe(name="daemon", area=Area.SERVICE, look=_one(partial(host.daemon, paths))),
        Probe(
            name="installations",
            area=Area.SERVICE,
            look=lambda _: versions.versions(paths, clock),
            asked_by=_DOCTOR,
            is_vital=False,
        ),
        Probe(
            name="logs", area=Area.CONFIGURATION, look=_one(partial(notices.logs, paths)), asked_by=_DOCTOR
        ),
    )


def _limits(paths: Paths, clock: Clock) -> Probe:
    return Probe(
        name="limits",
        area=Area.MACHINE,
        look=_one(lambda: bounds.bounds(cell.wanted(paths), clock)),
        within_s=_CHILD_S,
        asked_by=_DOCTOR,
        is_vital=False,
    )


def _of_cells(paths: Paths, clock: Clock) -> tuple[Probe, ...]:
    """Give what is looked at of that in which agents and tests are locked up."""
    return (
        Probe(
            name="sandbox",
            area=Area.MACHINE,
            look=_one(partial(cell.sandbox, paths, clock)),
            within_s=_CHILD_S,
            asked_by=ALWAYS,
            hold="sandbox-broken",
        ),
        _limits(paths, clock),
        Probe(
            name="guard",
            area=Area.MACHINE,
            look=lambda limit: [guarding.guard(clock, limit)],
            within_s=_CHILD_S,
        ),
    )


def of_configuration(scene: Scene) -> tuple[Probe, ...]:
    """Give what a configuration promises, in the order in which it is shown."""
    settings, paths, clock = scene.settings, scene.paths, scene.clock
    return (
        Probe(
            name="configuration",
            area=Area.CONFIGURATION,
            look=_one(partial(configured.file, settings, paths)),
        ),
        Probe(name="identity", area=Area.CONFIGURATION, look=_one(partial(configured.identity, settings))),
        Probe(name="clock", area=Area.NIGHT, look=_one(partial(clocks.clock, scene))),
        Probe(name="time zone", area=Area.NIGHT, look=lambda _: clocks.time_zone(scene)),
        Probe(name="power", area=Area.NIGHT, look=lambda _: _power(scene), is_vital=False),
        Probe(name="budget", area=Area.MONEY, look=_one(partial(money.money, scene))),
        *(probe for name in configured.used_agents(settings) for probe in _agent(name, scene)),
        Probe(name="tickets", area=Area.QUEUE, look=partial(_tickets, scene), within_s=_SLOW_S),
        Probe(name="programs", area=Area.MACHINE, look=lambda _: configured.programs(settings)),
        *(probe for repo in settings.repos for probe in _repository(repo, scene)),
        *_credentials(scene),
        Probe(
            name="forge",
            area=Area.CREDENTIALS,
            look=lambda _: forge.forges(settings, paths, clock),
            within_s=_CHILD_S,
            is_vital=False,
        ),
        Probe(
            name="set-up",
            area=Area.REPOSITORIES,
            look=lambda _: registries.registries(settings, paths, clock),
            within_s=_CHILD_S,
            is_vital=False,
        ),
        Probe(name="room", area=Area.MACHINE, look=partial(room.room, scene)),
        Probe(name="notification", area=Area.NIGHT, look=_one(partial(notices.notification, scene))),
        Probe(name="channels", area=Area.CREDENTIALS, look=_one(partial(notices.channels, scene))),
        Probe(name="service", area=Area.SERVICE, look=lambda _: service.service(settings, paths, clock)),
        Probe(
            name="units",
            area=Area.SERVICE,
            look=lambda _: versions.units(scene),
            asked_by=_DOCTOR,
            is_vital=False,
        ),
        *_rehearsal(scene),
    )


def _agent(name: str, scene: Scene) -> Iterator[Probe]:
    settings, runner = scene.settings, scene.runner
    spec, scope = settings.agent(name), f"agent:{name}"
    yield Probe(
        name=f"agent {name}",
        area=Area.AGENTS,
        look=_one(partial(configured.agent, name, settings, runner)),
        asked_by=ALWAYS,
        scope=scope,
        hold="agent-not-ready",
    )
    yield Probe(
        name=f"release of {name}",
        area=Area.AGENTS,
        look=lambda _: configured.agent_release(name, settings, scene.clock, runner),
        within_s=_SLOW_S,
        scope=scope,
    )
    yield Probe(
        name=f"sign-in of {name}",
        area=Area.AGENTS,
        look=lambda _: signin.sign_in(spec, runner, now_ms=scene.clock.now_ms(), ends_ms=scene.ends_ms()),
        asked_by=ALWAYS,
        scope=scope,
        hold="agent-sign-in",
    )
    yield Probe(
        name=f"key of {name}",
        area=Area.AGENTS,
        look=lambda _: configured.key_kept(name, settings, runner),
        scope=scope,
        is_vital=False,
    )
    if settings.checkup.ask_agents:
        yield Probe(
            name=f"account of {name}",
            area=Area.AGENTS,
            look=lambda limit: alive.alive(spec, scene, limit),
            within_s=_SLOW_S,
            asked_by=ALWAYS,
            scope=scope,
            hold="agent-sign-in",
        )


def _repository(repo: Repo, scene: Scene) -> Iterator[Probe]:
    scope = f"repo:{repo.name}"
    yield Probe(
        name=f"repository {repo.name}",
        area=Area.REPOSITORIES,
        look=lambda limit: [remote.answers(repo, scene, limit)],
        within_s=_CHILD_S,
        asked_by=ALWAYS,
        scope=scope,
        hold="remote-unreachable",
    )
    yield Probe(
        name=f"push to {repo.name}",
        area=Area.REPOSITORIES,
        look=lambda limit: [remote.takes_our_branch(repo, scene, limit)],
        within_s=_CHILD_S,
        scope=scope,
    )
    yield Probe(
        name=f"base of {repo.name}",
        area=Area.REPOSITORIES,
        look=lambda limit: base.base(repo, scene, limit),
        within_s=_CHILD_S + scene.settings.checkup.baseline_s,
        scope=scope,
    )


def _credentials(scene: Scene) -> Iterator[Probe]:
    yield Probe(
        name="credentials",
        area=Area.CREDENTIALS,
        look=lambda _: configured.without_credential(scene.settings),
    )
    yield Probe(
        name="trackers",
        area=Area.CREDENTIALS,
        look=partial(tracker.reaches, scene),
        within_s=_CHILD_S,
        is_vital=False,
    )
    for repo in scene.settings.repos:
        if repo.credential:
            yield Probe(
                name=f"credential {repo.credential}",
                area=Area.CREDENTIALS,
                look=_one(partial(configured.credential, repo.credential, scene.runner)),
                asked_by=ALWAYS,
                scope=f"repo:{repo.name}",
                hold="credential",
            )


def _rehearsal(scene: Scene) -> Iterator[Probe]:
    if scene.settings.checkup.rehearse:
        yield Probe(
            name=rehearsal.NAME,
            area=Area.REHEARSAL,
            look=partial(rehearsal.rehearsal, scene),
            within_s=scene.settings.checkup.rehearsal_s,
            asked_by=BEFORE_A_NIGHT,
        )


def _tickets(scene: Scene, limit: Limit) -> Iterator[Check]:
    """Look at what tickets ask for, and at agents that nobody but a ticket names."""
    tickets = queue.waiting(scene)
    yield from queue.demands(scene, tickets)
    others = set(queue.agents_named(scene, tickets)) - set(configured.used_agents(scene.settings))
    for name in sorted(others & set(scene.settings.agents)):
        yield configured.agent(name, scene.settings, scene.runner)
        yield from configured.agent_release(name, scene.settings, scene.clock, scene.runner)
        spec, now_ms = scene.settings.agent(name), scene.clock.now_ms()
        yield from signin.sign_in(spec, scene.runner, now_ms=now_ms, ends_ms=scene.ends_ms())
        if scene.settings.checkup.ask_agents:
            yield from alive.alive(spec, scene, limit)


def _power(scene: Scene) -> Iterable[Check]:
    seen = power.facts(scene.clock)
    return (power.power(seen), *power.lid(seen, held_off=scene.settings.awake.lid))


def _one(look: Callable[[], Check]) -> Callable[[Limit], Iterable[Check]]:
    """Make a probe's question of a function that gives a single line and needs no limit."""
    return lambda _: (look(),)
