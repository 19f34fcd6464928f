"""The list of what a configuration promises: arming, `doctor` and each tick ask from it.

A new line is a function in the module of its subject, and an entry here, or in `machine_lines.py` where it
needs no configuration. Must not look at anything itself.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from autopilot.daemon.checkup import (
    alive,
    base,
    clocks,
    configured,
    fetching,
    forge,
    money,
    notices,
    power,
    queue,
    registries,
    rehearsal,
    remote,
    room,
    service,
    session,
    signin,
    tracker,
    versions,
)
from autopilot.daemon.checkup.probe import ALWAYS, BEFORE_A_NIGHT, DOCTOR_ALONE, Probe, Takes, one
from autopilot.schemas.checkup import Area

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from autopilot.config.repository import Repo
    from autopilot.daemon.checkup.probe import Limit
    from autopilot.daemon.checkup.scene import Scene
    from autopilot.schemas.checkup import Check

_SLOW_S = 120.0
_CHILD_S = 60.0


def of_configuration(scene: Scene) -> tuple[Probe, ...]:
    """Give what a configuration promises, in the order in which it is shown."""
    settings = scene.settings
    probes = (
        *_itself(scene),
        *_of_the_night(scene),
        *(probe for name in configured.used_agents(settings) for probe in _agent(name, scene)),
        *_of_the_queue(scene),
        *(probe for repo in settings.repos for probe in _repository(repo, scene)),
        *_credentials(scene),
        *_of_the_service(scene),
        *_rehearsal(scene),
    )
    return (*probes, session.probe(scene.runner, probes))


def _itself(scene: Scene) -> tuple[Probe, ...]:
    settings, look = scene.settings, Takes.LOOK
    file, area = one(partial(configured.file, settings, scene.paths)), Area.CONFIGURATION
    identity = one(partial(configured.identity, settings))
    programs = partial(configured.programs, settings, scene.runner)
    return (
        Probe(name="configuration", takes=look, area=area, look=file),
        Probe(name="identity", takes=look, area=area, look=identity),
        Probe(name="programs", takes=look, area=Area.MACHINE, look=lambda _: programs()),
        Probe(name="room", takes=look, area=Area.MACHINE, look=partial(room.room, scene)),
    )


def _of_the_night(scene: Scene) -> tuple[Probe, ...]:
    look, area, digest = Takes.LOOK, Area.NIGHT, one(partial(notices.notification, scene))
    return (
        Probe(name="clock", takes=look, area=area, look=one(partial(clocks.clock, scene))),
        Probe(name="time zone", takes=look, area=area, look=lambda _: clocks.time_zone(scene)),
        Probe(
            name="power",
            takes=look,
            area=area,
            look=one(lambda: power.power(power.electricity())),
            asked_by=ALWAYS,
            hold="battery-low",
            is_vital=False,
        ),
        Probe(name="lid", takes=look, area=area, look=lambda _: _lid(scene), is_vital=False),
        Probe(name="notification", takes=look, area=area, look=digest),
    )


def _of_the_queue(scene: Scene) -> tuple[Probe, ...]:
    budget = one(partial(money.money, scene))
    return (
        Probe(name="budget", takes=Takes.QUEUE, area=Area.MONEY, look=budget),
        Probe(
            name="tickets",
            takes=Takes.QUEUE,
            area=Area.QUEUE,
            look=partial(_tickets, scene),
            within_s=_SLOW_S,
        ),
    )


def _of_the_service(scene: Scene) -> tuple[Probe, ...]:
    settings, paths, clock = scene.settings, scene.paths, scene.clock
    return (
        Probe(
            name="service",
            takes=Takes.LOOK,
            area=Area.SERVICE,
            look=lambda _: service.service(settings, paths, clock),
        ),
        Probe(
            name="units",
            takes=Takes.LOOK,
            area=Area.SERVICE,
            look=lambda _: versions.units(scene),
            asked_by=DOCTOR_ALONE,
            is_vital=False,
        ),
    )


def _agent(name: str, scene: Scene) -> Iterator[Probe]:
    settings, runner = scene.settings, scene.runner
    spec, scope = settings.agent(name), f"agent:{name}"
    yield Probe(
        name=f"agent {name}",
        takes=Takes.LOOK,
        area=Area.AGENTS,
        look=one(partial(configured.agent, name, settings, runner)),
        asked_by=ALWAYS,
        scope=scope,
        hold="agent-not-ready",
    )
    yield Probe(
        name=f"release of {name}",
        takes=Takes.PROGRAM,
        area=Area.AGENTS,
        look=lambda _: configured.agent_release(name, settings, scene.clock, runner),
        within_s=_SLOW_S,
        scope=scope,
    )
    yield Probe(
        name=f"sign-in of {name}",
        takes=Takes.LOOK,
        area=Area.AGENTS,
        look=lambda _: signin.sign_in(spec, runner, now_ms=scene.clock.now_ms(), ends_ms=scene.ends_ms()),
        asked_by=ALWAYS,
        scope=scope,
        hold="agent-sign-in",
    )
    yield Probe(
        name=f"key of {name}",
        takes=Takes.LOOK,
        area=Area.AGENTS,
        look=lambda _: configured.key_kept(name, settings, runner),
        scope=scope,
        is_vital=False,
    )
    if settings.checkup.ask_agents:
        yield Probe(
            name=f"account of {name}",
            takes=Takes.ACCOUNT,
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
        takes=Takes.NETWORK,
        area=Area.REPOSITORIES,
        look=lambda limit: [remote.answers(repo, scene, limit)],
        within_s=_CHILD_S,
        asked_by=ALWAYS,
        scope=scope,
        hold="remote-unreachable",
    )
    yield Probe(
        name=f"git sign-in of {repo.name}",
        takes=Takes.LOOK,
        area=Area.REPOSITORIES,
        look=lambda limit: fetching.sign_in(repo, scene, limit),
        scope=scope,
        is_vital=False,
    )
    yield Probe(
        name=f"push to {repo.name}",
        takes=Takes.NETWORK,
        area=Area.REPOSITORIES,
        look=lambda limit: [remote.takes_our_branch(repo, scene, limit)],
        within_s=_CHILD_S,
        scope=scope,
    )
    yield Probe(
        name=f"base of {repo.name}",
        takes=Takes.TESTS,
        area=Area.REPOSITORIES,
        look=lambda limit: base.base(repo, scene, limit),
        within_s=_CHILD_S + scene.settings.checkup.baseline_s,
        scope=scope,
    )


def _credentials(scene: Scene) -> Iterator[Probe]:
    settings, paths, clock = scene.settings, scene.paths, scene.clock
    yield Probe(
        name="credentials",
        takes=Takes.LOOK,
        area=Area.CREDENTIALS,
        look=lambda _: configured.without_credential(settings),
    )
    yield Probe(
        name="trackers",
        takes=Takes.NETWORK,
        area=Area.CREDENTIALS,
        look=partial(tracker.reaches, scene),
        within_s=_CHILD_S,
        is_vital=False,
    )
    for repo in settings.repos:
        if repo.credential:
            yield Probe(
                name=f"credential {repo.credential}",
                takes=Takes.LOOK,
                area=Area.CREDENTIALS,
                look=one(partial(configured.credential, repo.credential, scene.runner)),
                asked_by=ALWAYS,
                scope=f"repo:{repo.name}",
                hold="credential",
            )
    yield Probe(
        name="forge",
        takes=Takes.NETWORK,
        area=Area.CREDENTIALS,
        look=lambda _: forge.forges(settings, paths, clock),
        within_s=_CHILD_S,
        is_vital=False,
    )
    yield Probe(
        name="set-up",
        takes=Takes.MIRRORS,
        area=Area.REPOSITORIES,
        look=lambda _: registries.registries(settings, paths, clock),
        within_s=_CHILD_S,
        is_vital=False,
    )
    channels = one(partial(notices.channels, scene))
    yield Probe(name="channels", takes=Takes.LOOK, area=Area.CREDENTIALS, look=channels)


def _rehearsal(scene: Scene) -> Iterator[Probe]:
    if scene.settings.checkup.rehearse:
        yield Probe(
            name=rehearsal.NAME,
            takes=Takes.TRIAL,
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


def _lid(scene: Scene) -> Iterable[Check]:
    return power.lid(power.facts(scene.clock), held_off=scene.settings.awake.lid)
