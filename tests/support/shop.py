"""A daemon's shop in a temporary folder, with children that a test plays itself."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from autopilot.config.load import load
from autopilot.config.paths import Paths
from autopilot.config.proc import ProcessId
from autopilot.config.settings import Settings
from autopilot.daemon.desk import Desk
from autopilot.daemon.inbox import Inbox
from autopilot.daemon.processes import SystemProcesses
from autopilot.daemon.shop import Current, Shop
from autopilot.daemon.store import queries_host, queries_runs
from autopilot.daemon.store.engine import Store
from autopilot.daemon.store.rows import Claim, Publication
from autopilot.daemon.supervisor import Launch, Supervisor
from autopilot.daemon.watch import Ending, Order, Watch
from autopilot.schemas.machine import State
from autopilot.schemas.publication import PublishOutcome, PublishSpec, PublishVerdict
from autopilot.schemas.run import RunResult, RunSpec
from tests.support import canary, queue
from tests.support.clock import FakeClock
from tests.support.template import open_laid

CONFIG = """
max_parallel_agents = 2
launch_stagger_s = 0
min_free_disk_gib = 0
min_free_memory_gib = 0
max_load_per_cpu = 0
default_agent = "scripted"
[schedule]
window = ""
timezone = "UTC"
[identity]
name = "Pat Doe"
email = "pat@example.org"
[agents.scripted]
kind = "scripted"
[agents.other]
kind = "scripted"
[[repo]]
name = "shop"
url = "https://forge.example/o/shop.git"
base = "main"
[[repo]]
name = "till"
url = "https://forge.example/o/till.git"
"""
CHECKUP = "autopilot.daemon.checkup"
GONE = Ending("the process was killed by signal 9")


class PlayedWatch(Watch):
    """A child that lives until the test says otherwise."""

    def __init__(self, order: Order, process: ProcessId, *, clock: FakeClock, inbox: Inbox) -> None:
        super().__init__(
            order, process, child=None, processes=SystemProcesses(clock), clock=clock, inbox=inbox
        )
        self.stops: list[str] = []

    def stop(self, why: str) -> bool:
        self.stops.append(why)
        return len(self.stops) == 1

    def join(self, timeout_s: float) -> None:
        """No thread to wait for."""


class PlayedSupervisor(Supervisor):
    """Starts nothing; the test ends what was started."""

    def __init__(self, *, clock: FakeClock, inbox: Inbox) -> None:
        super().__init__(clock=clock, inbox=inbox)
        self.fake_clock = clock
        self.inbox = inbox
        self.launches: list[Launch] = []
        self.swept: list[str] = []
        self.alive: set[ProcessId] = set()
        self.fault: Callable[[Launch], BaseException | None] = lambda launch: None

    def start(self, launch: Launch) -> ProcessId:
        self.launches.append(launch)
        # git asks the agent of ssh; and whoever looks the machine over is given all that the daemon has.
        env = {name: each for name, each in launch.env.items() if name != "SSH_AUTH_SOCK"}
        told = [] if CHECKUP in launch.argv else [f"{name}={each}" for name, each in env.items()]
        given = [*launch.argv, *told]
        assert not [word for word in given if canary.holds(word)], "a child is told a person's secret"
        if (error := self.fault(launch)) is not None:
            raise error
        process = ProcessId(1_000_000 + len(self.launches), len(self.launches))
        self.alive.add(process)
        self._play(launch.order, process)
        return process

    def adopt(self, order: Order, process: ProcessId) -> bool:
        if process in self.alive:
            self._play(order, process)
        return process in self.alive

    def find(self, order: Order) -> ProcessId | None:
        """The one that lives and is not under watch: here only one is started at a time."""
        return next(iter(self.alive), None) if order.key not in self._watches else None

    def sweep(self, key: str, process: ProcessId | None) -> int:
        self.swept.append(key)
        return 0

    def watch(self, key: str) -> PlayedWatch:
        """The played child of this name."""
        watch = self.get(key)
        assert isinstance(watch, PlayedWatch), f"{key} is not under watch"
        return watch

    def end(self, key: str, ending: Ending = GONE) -> None:
        """Let a child end."""
        watch = self.watch(key)
        self.alive.discard(watch.process)
        watch.ending = ending

    def _play(self, order: Order, process: ProcessId) -> None:
        self._watches[order.key] = PlayedWatch(order, process, clock=self.fake_clock, inbox=self.inbox)


class Stage:
    """The shop and everything a test moves it with."""

    def __init__(self, folder: Path, *, config: str = "") -> None:
        self.paths = Paths(state=folder / "state", config_file=folder / "config.toml", logs=folder / "logs")
        self.paths.ensure()
        self.clock = FakeClock()
        self.inbox = Inbox()
        self.store: Store = open_laid(self.paths.database, self.clock)
        self.supervisor = PlayedSupervisor(clock=self.clock, inbox=self.inbox)
        self.paths.config_file.write_text(config + CONFIG)
        self.current = Current(
            load(self.paths), config_file=self.paths.config_file, reload=lambda: load(self.paths)
        )
        self.shop = Shop(self.store, self.paths, self.clock, self.supervisor, self.current, boot_ms=0)

    @property
    def settings(self) -> Settings:
        return self.current.settings

    def run_specs(self) -> list[RunSpec]:
        """What the runners were told, in the order of their start."""
        files = [Path(launch.argv[-1]) for launch in self.supervisor.launches if "run" in launch.argv]
        return [RunSpec.model_validate_json(file.read_bytes()) for file in files]

    def publish_specs(self) -> list[PublishSpec]:
        """What the publishers were told, in the order of their start."""
        files = [
            Path(launch.argv[-1]) for launch in self.supervisor.launches if "autopilot.publish" in launch.argv
        ]
        return [PublishSpec.model_validate_json(file.read_bytes()) for file in files]

    def claim_of(self, ticket_id: str) -> Claim:
        """The ticket's latest attempt as the claim gave it."""
        ticket = queue.look(self.store, ticket_id)
        return Claim(ticket, queue.attempts(self.store, ticket)[-1])

    def hand_in(self, result: RunResult) -> None:
        """Let a run leave its result and end."""
        (self.paths.run_dir(result.run_id) / "result.json").write_text(result.model_dump_json())
        self.supervisor.end(result.run_id, Ending("the process ended with code 0"))

    def state(self, ticket_id: str = "T-1") -> State:
        """Where a ticket is."""
        return queue.look(self.store, ticket_id).state

    def hold_names(self) -> set[str]:
        """The holds that stood at the last tick."""
        with self.store.read() as conn:
            return {hold.name for hold in queries_host.holds(conn)}

    def publication(self, ticket_id: str = "T-1") -> Publication:
        """The ticket's latest publication."""
        with self.store.read() as conn:
            return queries_runs.publications_of(conn, ticket_id)[-1]

    def commit(self, ticket_id: str = "T-1") -> None:
        """Let a run end with a green commit."""
        self.hand_in(queue.result(self.claim_of(ticket_id), base="main"))

    def publish(self, outcome: PublishOutcome = PublishOutcome.PR_OPENED) -> None:
        """Let the publisher under way end with this verdict."""
        with self.store.read() as conn:
            live = queries_runs.publishing(conn)[0]
        self.judge(queue.verdict(live, outcome))

    def desk(self) -> Desk:
        """The operator's desk."""
        return Desk(self.store, self.settings, self.paths, self.clock)

    def judge(self, verdict: PublishVerdict) -> None:
        """Let a publisher leave its verdict and end."""
        self.paths.verdict(verdict.run_id).write_text(verdict.model_dump_json())
        self.supervisor.end(verdict.id, Ending("the process ended with code 0"))
