"""How soon the daemon takes up a ticket, and how soon its runner is there."""

from __future__ import annotations

import multiprocessing
import os
import shutil
import signal
import sqlite3
import statistics
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import closing
from functools import partial
from pathlib import Path
from typing import Any

from autopilot.config.clock import SystemClock
from autopilot.config.journal import read_lines
from autopilot.config.load import load
from autopilot.config.paths import paths_below
from autopilot.config.proc import ProcessId
from autopilot.daemon import app
from autopilot.daemon.api import client
from autopilot.daemon.inbox import Ended
from autopilot.daemon.store import writes
from autopilot.daemon.store.engine import open_store
from autopilot.daemon.supervisor import Launch
from autopilot.daemon.watch import Ending
from autopilot.schemas.checkup import Checkup
from autopilot.schemas.errors import AutopilotError
from autopilot.schemas.events import Event
from autopilot.schemas.run import Outcome, RunSpec, Usage
from tests.bench.house import NOWHERE, configured, daemon, folder
from tests.bench.measure import Bench, Finding, Row, Scale, Spent, ratio, spent_on
from tests.support import words
from tests.support.daemon import Daemon
from tests.support.gitcmd import git
from tests.support.repos import Repo, make_repo
from tests.support.shop import CHECKUP, PlayedSupervisor
from tests.support.wait import wait_until

_CLAIM, _RUNNER, _FIRST_WORD = "enqueue to claim", "enqueue to runner", "enqueue to runner, first word"
_HAS_PROCESS = "SELECT 1 FROM attempts WHERE ticket = ? AND pid IS NOT NULL"
_BARE = 'python -c "import pydantic", then git worktree add'
_PATIENCE_S = 60
_LOOK_S = 0.0003
_FORK = multiprocessing.get_context("fork")


# --- to the claim: the daemon's own loop and socket, with runners that end at once -----------------


class _Hollow(PlayedSupervisor):
    """Starts no process: each run asks a question at once, so that nothing else takes the processors."""

    def start(self, launch: Launch) -> ProcessId:
        process = super().start(launch)
        if CHECKUP in launch.argv:
            Path(launch.argv[-1]).write_text(Checkup.of(()).model_dump_json())
            self.end(launch.order.key, Ending("the process ended with code 0"))
            return process
        spec = RunSpec.model_validate_json(Path(launch.argv[-1]).read_bytes())
        named = {
            "run_id": spec.run_id,
            "ticket_id": spec.ticket_id,
            "fence": spec.fence,
            "branch": spec.branch,
        }
        asked = words.result(Outcome.ASKED, **named, questions=("Which?",), usage=Usage(known=True))
        (spec.run_dir / "result.json").write_text(asked.model_dump_json())
        self.end(spec.run_id, Ending("the process ended with code 0"))
        self.inbox.put(Ended(spec.run_id))
        return process


def _serve(home: Path) -> None:
    """Be the daemon, but for its supervisor; in a process of its own, so that nobody else meets that."""
    paths, clock = paths_below(home), SystemClock()
    vars(app)["Supervisor"] = _Hollow
    app.run_daemon(paths, load(paths), clock)


def _measure_claim(scale: Scale) -> Iterator[Finding]:
    with folder() as home:
        paths = paths_below(home)
        paths.ensure()
        paths.config_file.write_text(configured(NOWHERE))
        with closing(open_store(paths.database, SystemClock())) as store:
            writes.turn_on(store, by="bench", ignore_window=True)
        process = _FORK.Process(target=_serve, args=(home,))
        process.start()
        try:
            wait_until(lambda: _answers(paths.control_socket), _PATIENCE_S, "the daemon answers")
            with closing(_opened(paths.database)) as raw, closing(_plain(home / "plain.db")) as plain:
                both = [
                    (_to_claim(paths.control_socket, raw), spent_on(partial(_commit_twice, plain)).wall_s)
                    for _ in range(scale.samples + 1)
                ][1:]
        finally:
            os.kill(process.pid or 0, signal.SIGTERM)
            process.join()
    took_ms, plain_ms = ([1000 * seconds for seconds in side] for side in zip(*both, strict=True))
    notes = {
        "median_ms": statistics.median(took_ms),
        "two_commits_p99_ms": _p99(plain_ms),
        "two_commits_median_ms": statistics.median(plain_ms),
    }
    share = -(-len(took_ms) // scale.few)
    rounds = [took_ms[start : start + share] for start in range(0, len(took_ms), share)]
    yield Finding(_CLAIM, tuple(_p99(round_) for round_ in rounds if len(round_) > 1), notes)


def _p99(values: list[float]) -> float:
    return statistics.quantiles(values, n=100, method="inclusive")[-1]


def _plain(database: Path) -> sqlite3.Connection:
    """A database in which nothing but the disk costs time."""
    raw = _opened(database)
    raw.execute("PRAGMA journal_mode=WAL")
    raw.execute("PRAGMA synchronous=FULL")
    raw.execute("CREATE TABLE item (id INTEGER PRIMARY KEY)")
    return raw


def _commit_twice(plain: sqlite3.Connection) -> None:
    """What the disk must do for a ticket that is queued and claimed, and no more."""
    for _ in range(2):
        plain.execute("INSERT INTO item DEFAULT VALUES")


def _answers(control: Path) -> bool:
    try:
        return bool(client.call(control, "GET", "/v1/health"))
    except AutopilotError:
        return False


def _to_claim(control: Path, raw: sqlite3.Connection) -> float:
    """Queue a ticket as the command line does, and wait until anybody can see that it is claimed; seconds."""
    start_s = time.perf_counter()
    number = client.call(control, "POST", "/v1/tickets", {"title": "Now"})["ticket"]["short_id"]
    while _state(raw, number) == "queued":
        if time.perf_counter() - start_s > _PATIENCE_S:
            raise TimeoutError(f"after {_PATIENCE_S:g} s nobody has claimed the ticket")
        _pause()
    took_s = time.perf_counter() - start_s
    wait_until(lambda: _state(raw, number) == "parked", _PATIENCE_S, "the run has asked its question")
    return took_s


def _state(raw: sqlite3.Connection, number: int) -> str:
    (state,) = raw.execute("SELECT state FROM tickets WHERE short_id = ?", (number,)).fetchone()
    return str(state)


def _pause() -> None:
    multiprocessing.connection.wait([], _LOOK_S)


# --- to the runner: everything real ----------------------------------------------------------------


def _measure_runner(scale: Scale) -> Iterator[Finding]:
    started, spoke, bare = list[Spent](), list[Spent](), list[Spent]()
    with folder() as place:
        repo = make_repo(place)
        with daemon(url=repo.url) as up, closing(_opened(up.paths.database)) as raw:
            up.call("POST", "/v1/switch", on=True, ignore_window=True)
            for round_ in range(scale.rounds + 1):
                ours, yardstick = _to_runner(up, raw), _bare(repo, place / "bare", up.environment())
                if round_:
                    started.append(ours[0])
                    spoke.append(ours[1])
                    bare.append(yardstick)
            up.call("POST", "/v1/switch", on=False)
    yield ratio(_RUNNER, started, bare)
    yield ratio(_FIRST_WORD, spoke, bare)


def _opened(database: Path) -> sqlite3.Connection:
    return sqlite3.connect(database, isolation_level=None)


def _to_runner(up: Daemon, raw: sqlite3.Connection) -> tuple[Spent, Spent]:
    """From queueing a ticket until its runner's process is known, and until that one speaks."""
    start_ms, start_s = time.time_ns() / 1e6, time.perf_counter()
    ticket = up.call("POST", "/v1/tickets", title="Now")["ticket"]
    while not raw.execute(_HAS_PROCESS, (ticket["short_id"],)).fetchone():
        _pause()
    started_s, name = time.perf_counter() - start_s, ticket["id"]
    told = wait_until(lambda: _first_word(up.paths.runs, name), _PATIENCE_S, "the runner says that it runs")
    up.call("POST", f"/v1/tickets/{name}/cancel")
    up.wait_for_state(name, "cancelled", "parked", "failed", "published")
    assert told is not None
    return Spent(started_s, 0.0), Spent((told["ts"] - start_ms) / 1000, 0.0)


def _first_word(runs: Path, ticket: str) -> Mapping[str, Any] | None:
    for file in runs.glob(f"{ticket}-*/events.jsonl"):
        return next((line for line in read_lines(file).entries if line["event"] == Event.RUN_STARTED), None)
    return None


def _bare(repo: Repo, place: Path, environment: Mapping[str, str]) -> Spent:
    def act() -> None:
        subprocess.run([sys.executable, "-P", "-c", "import pydantic"], env=environment, check=True)
        git(repo.remote, "worktree", "add", "-q", "--detach", str(place), repo.base_sha)

    took = spent_on(act)
    shutil.rmtree(place)
    git(repo.remote, "worktree", "prune")
    return took


CLAIM = Bench(
    (Row(_CLAIM, "p99 from the call that queues it, daemon up and idle", "a limit in ms", "ms", 10.0),),
    _measure_claim,
)
RUNNER = Bench(
    (
        Row(_RUNNER, "from the call that queues it until its runner's process is known", _BARE, "x", 1.5),
        Row(_FIRST_WORD, "the same to the runner's first event, all its phases imported", _BARE, "x", 6.0),
    ),
    _measure_runner,
)
