"""Command line, environment and watch of our children: a runner per attempt, a publisher per publication.

Must not hand the forge's credential to a runner, nor an agent's to a publisher.
"""

from __future__ import annotations

import sys
from contextlib import contextmanager, nullcontext
from typing import TYPE_CHECKING

from autopilot.config import environ, handed, installed
from autopilot.config.logs import logger
from autopilot.config.paths import (
    CLEAN_UP_OUTPUT_FILE,
    EVENTS_FILE,
    LEASE_FILE,
    PUBLISH_EVENTS_FILE,
    RUNNER_LOG,
    SPEC_FILE,
)
from autopilot.config.proc import RUN_ID_VARIABLE
from autopilot.daemon.errand import Errand
from autopilot.daemon.own_lock import more_than_sleep
from autopilot.daemon.supervisor import Launch
from autopilot.daemon.version import own_code
from autopilot.daemon.watch import Order
from autopilot.launchd import awake, scope
from autopilot.launchd.service import MARK
from autopilot.runner.sandbox.bounds import Bounds
from autopilot.schemas.errors import ConfigError
from autopilot.schemas.events import Event

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
    from contextlib import AbstractContextManager
    from pathlib import Path

    from autopilot.config.paths import Paths
    from autopilot.config.proc import ProcessId
    from autopilot.config.settings import Settings
    from autopilot.daemon.shop import Shop
    from autopilot.launchd.awake import AwakeLock
    from autopilot.schemas.cell import SandboxSpec
    from autopilot.schemas.publication import PublishSpec
    from autopilot.schemas.run import Limits, RunSpec

BACKSTOP_MARGIN_S = 60.0
OWN_MEMORY_BYTES = 2 << 30
OWN_THREADS = 512
CLEAN_UP_S = 4 * 3600.0
CHECKUP_S = 150.0
CHECKUP_GRACE_S = 5.0
_NETWORK = (
    *("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "NO_PROXY"),
    *("http_proxy", "https_proxy", "all_proxy", "no_proxy"),
    *("SSL_CERT_FILE", "SSL_CERT_DIR", "TMPDIR"),
)
_KEYRING = ("DBUS_SESSION_BUS_ADDRESS", "XDG_RUNTIME_DIR", "XDG_DATA_HOME", "XDG_CONFIG_HOME")
_SSH_KEYS = ("SSH_AUTH_SOCK",)


def runner_launch(shop: Shop, spec: RunSpec) -> Launch:
    """Say how the runner of a spec is started; its agent's credential is in its environment."""
    from autopilot.runner.agents.registry import own_variables  # noqa: PLC0415 - an idle daemon needs no agent

    renew_handed(shop.paths)
    base = environ.current()
    env = environ.agent_environment(
        base,
        home=environ.home_of(base),
        passed=spec.repo.env_pass,
        own=own_variables(spec.agent),
        extra={**_some(base, (*_NETWORK, *_SSH_KEYS)), **_own_code(), RUN_ID_VARIABLE: spec.run_id},
    )
    argv = _own_python("autopilot.runner", "run", str(spec.run_dir / SPEC_FILE))
    argv, env = scope.apart(argv, env, key=spec.run_id, ours=base, most=_most(spec.sandbox))
    return Launch(
        argv=argv,
        cwd=spec.run_dir,
        env=env,
        output=spec.run_dir / RUNNER_LOG,
        order=runner_order(shop, spec.run_id, fence=spec.fence),
    )


def publisher_launch(shop: Shop, spec: PublishSpec, spec_file: Path) -> Launch:
    """Say how the publisher of a spec is started; the forge's credential is within its reach alone."""
    renew_handed(shop.paths)
    env = publisher_environment(spec.id, Errand.to_forge(spec.forge), passed=spec.env_pass)
    argv = _own_python("autopilot.publish", str(spec_file))
    argv, env = scope.apart(argv, env, key=spec.id, ours=environ.current(), most=_most(spec.sandbox))
    return Launch(
        argv=argv,
        cwd=spec_file.parent,
        env=env,
        output=spec_file.parent / "publisher.log",
        order=publisher_order(shop, spec.id, fence=spec.fence or 0),
    )


def side_publisher(
    act: str, spec_file: Path, *, key: str, errand: Errand, log: str, limit_s: float, grace_s: float
) -> Launch:
    """Say how a publisher beside the tickets is started and watched: the machine may sleep meanwhile.

    Args:
        act: what it is asked to do.
        spec_file: its instruction; what it writes lies beside that.
        key: the mark that it and whatever it starts carries.
        errand: where it is sent.
        log: the file of its own words.
        limit_s: how long it takes at most by its own limits.
        grace_s: how long it is asked to end before it is killed.
    """
    return Launch(
        argv=publisher_question(act, spec_file),
        cwd=spec_file.parent,
        env=publisher_environment(key, errand),
        output=spec_file.parent / log,
        order=side_order(
            key,
            journal=spec_file.parent / PUBLISH_EVENTS_FILE,
            wall_s=limit_s + grace_s + BACKSTOP_MARGIN_S,
            grace_s=grace_s,
        ),
    )


def verification(
    spec_file: Path, result_file: Path, *, passed: Sequence[str], base: Mapping[str, str] | None
) -> tuple[tuple[str, ...], dict[str, str]]:
    """Give command line and environment of a child that runs a commit's gates: no credential is in reach."""
    argv = _own_python("autopilot.runner", "verify", str(spec_file), str(result_file))
    return argv, environ.verifier_environment(base, passed=passed, extra=_own_code())


def checkup_launch(key: str, report: Path) -> Launch:
    """Say how the machine is looked over: by a child that has all that the daemon itself was given."""
    return Launch(
        argv=_own_python("autopilot.daemon.checkup", str(report)),
        cwd=report.parent,
        env={**environ.current(), **_own_code(), RUN_ID_VARIABLE: key},
        output=report.with_suffix(".log"),
        order=side_order(
            key,
            journal=report.with_suffix(".events.jsonl"),
            wall_s=CHECKUP_S,
            grace_s=CHECKUP_GRACE_S,
        ),
    )


def clean_up_launch(shop: Shop, key: str, what: str) -> Launch:
    """Say how cleaning up is started: with no credential in reach, and the machine may sleep meanwhile."""
    base, paths = environ.current(), shop.paths
    places = (str(paths.state), str(paths.config_file), str(paths.logs))
    return Launch(
        argv=_own_python("autopilot.daemon.gc", what, *places),
        cwd=paths.state,
        env=environ.child_environment(
            base,
            home=environ.home_of(base),
            extra={**environ.UNATTENDED, **_own_code(), RUN_ID_VARIABLE: key},
        ),
        output=paths.logs / CLEAN_UP_OUTPUT_FILE,
        order=side_order(
            key,
            journal=paths.state / "gc-events.jsonl",
            wall_s=CLEAN_UP_S,
            grace_s=shop.settings.timeouts.kill_grace_s,
        ),
    )


def renew_handed(paths: Paths) -> None:
    """Read again what the operator handed to the service, for the children to come."""
    if not environ.current().get(MARK):
        return
    try:
        handed.take_in(handed.file_beside(paths.config_file))
    except ConfigError as error:  # what was read before goes on; the look over the machine tells
        logger("daemon").warning(Event.HANDED_UNUSABLE, reason=error.code, detail=error.what)


def runner_order(shop: Shop, run_id: str, *, fence: int) -> Order:
    """Say how a runner is watched, also one that an earlier daemon started."""
    return _order(shop, run_id, journal=shop.paths.run_dir(run_id) / EVENTS_FILE, fence=fence)


def publisher_order(shop: Shop, publication_id: str, *, fence: int) -> Order:
    """Say how a publisher is watched, also one that an earlier daemon started."""
    journal = shop.paths.publish_dir(publication_id) / PUBLISH_EVENTS_FILE
    return _order(shop, publication_id, journal=journal, fence=fence)


def side_order(key: str, *, journal: Path, wall_s: float, grace_s: float) -> Order:
    """Say how a child beside the tickets is watched: it has no fence, and the machine may sleep meanwhile."""
    return Order(key=key, journal=journal, fence=0, wall_s=wall_s, grace_s=grace_s, keep_awake=_without_lock)


def backstop_s(limits: Limits) -> float:
    """Give the seconds awake after which a child that should have ended itself is killed."""
    gates_s = (limits.rounds + 1) * 2 * limits.gate_s
    return limits.wall_s + gates_s + 2 * limits.git_s + limits.kill_grace_s + BACKSTOP_MARGIN_S


def _most(spec: SandboxSpec) -> scope.Most:
    """Bound a child of ours further out than what it locks up: git and its own memory have to fit in."""
    bounds = Bounds.of_spec(spec)
    return scope.Most((bounds.memory_bytes or 0) + OWN_MEMORY_BYTES, (bounds.threads or 0) + OWN_THREADS)


def publisher_question(act: str, spec_file: Path) -> tuple[str, ...]:
    """Say how a publisher is started for another act than a publication, by the act's name."""
    return _own_python("autopilot.publish", act, str(spec_file))


def publisher_environment(
    mark: str, errand: Errand, *, passed: Sequence[str] = (), base: Mapping[str, str] | None = None
) -> dict[str, str]:
    """Build what a publisher runs with: as any child, and its errand's one credential is in reach."""
    base = environ.current() if base is None else base
    return environ.child_environment(
        base,
        home=environ.home_of(base),
        passed=passed,
        extra={
            **environ.UNATTENDED,
            **_some(base, (*_NETWORK, *_KEYRING, "AUTOPILOT_HOME")),
            **errand.lent(base),
            **_own_code(),
            RUN_ID_VARIABLE: mark,
        },
    )


def _order(shop: Shop, key: str, *, journal: Path, fence: int) -> Order:
    limits = shop.settings.limits()
    return Order(
        key=key,
        journal=journal,
        fence=fence,
        wall_s=backstop_s(limits),
        grace_s=limits.kill_grace_s,
        keep_awake=_keeper(key, shop.settings),
        lease=journal.with_name(LEASE_FILE),
        lease_s=shop.settings.daemon.lease_s,
    )


def _without_lock(process: ProcessId) -> AbstractContextManager[AwakeLock | None]:
    del process
    return nullcontext()


def _keeper(key: str, settings: Settings) -> Callable[[ProcessId], AbstractContextManager[AwakeLock | None]]:
    """Give what keeps the machine awake for exactly as long as one child lives."""

    @contextmanager
    def keep(process: ProcessId) -> Iterator[AwakeLock | None]:
        if not settings.awake.enabled:
            yield None
            return
        log = logger("daemon")
        try:
            lock = awake.hold(reason=f"autopilot {key}", pid=process.pid, more=more_than_sleep(settings))
        except OSError as exc:  # a full disk, say: the run matters more than its lock
            lock = awake.AwakeLock("none", "awake-not-started", str(exc))
        if lock.warning:
            log.warning(Event.AWAKE_UNAVAILABLE, key=key, reason=lock.warning, detail=lock.detail)
        if lock.kind != "none":
            log.info(Event.AWAKE_HELD, key=key, kind=lock.kind)
        try:
            yield lock
        finally:
            lock.release()
            log.debug(Event.AWAKE_RELEASED, key=key)

    return keep


def _own_python(module: str, *arguments: str) -> tuple[str, ...]:
    """Give the command line of a part of ours; `-P` keeps the modules of a repository out of it."""
    return (sys.executable, "-P", "-m", module, *arguments)


def _own_code() -> dict[str, str]:
    """Let a child find the code we run, where that is a checkout; else notice where it is no more."""
    return {**own_code(), **installed.noted()}


def _some(base: Mapping[str, str], names: Iterable[str]) -> dict[str, str]:
    return {name: base[name] for name in names if name in base}
