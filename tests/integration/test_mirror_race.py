"""Real runners that race for one mirror which does not exist yet, while the remote goes on."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from autopilot.daemon.store import queries_host, queries_runs
from autopilot.schemas.events import Event
from tests.support.gitcmd import git
from tests.support.house import House, Steps
from tests.support.repos import commit_files

RUNNERS = 4
SETTINGS = f"max_parallel_agents = {RUNNERS}\nper_repo_parallel = {RUNNERS}\n"
WAITS: Steps = [{"spend": {"usd": 0.01}}, {"hang": True}]


@pytest.fixture
def house(tmp_path: Path) -> Iterator[House]:
    house = House(tmp_path, settings=SETTINGS, waits=WAITS)
    yield house
    house.clean_up()


@pytest.mark.slow
@pytest.mark.field_report("GIT-020")
def test_git_020_runners_that_race_for_one_mirror_all_get_a_base_and_none_fails(house: House) -> None:
    """GIT-020: the loser of two fetches at once failed, and counted towards the breaker."""
    remote = house.repo.remote
    tips = [git(remote, "rev-parse", "refs/heads/main").strip()]
    tips += [commit_files(remote, "main", {"turn.txt": f"{turn}\n"}) for turn in range(100)]
    git(remote, "update-ref", "refs/heads/main", tips[0])
    over = threading.Event()

    def move() -> None:
        for tip in tips:
            if not over.wait(0.02):
                git(remote, "update-ref", "refs/heads/main", tip)

    pusher = threading.Thread(target=move)

    def tip() -> int:
        return tips.index(git(remote, "rev-parse", "refs/heads/main").strip())

    house.begin()
    pusher.start()
    first, names = [], []
    try:
        for number in range(RUNNERS):
            first.append(tip())
            names.append(house.add(f"Ticket {number}", agent="waits"))
        house.wait_for_journal(Event.AGENT_SPENT, count=RUNNERS)
        last = tip()
    finally:
        over.set()
        pusher.join()
    with closing(house.daemon.store()) as store, store.read() as conn:
        for name, added_at in zip(names, first, strict=True):
            (attempt,) = queries_runs.attempts_of(conn, name)
            made = json.loads((house.paths.run_dir(attempt.run_id) / "worktree.json").read_bytes())
            assert added_at <= tips.index(made["base_sha"]) <= last, "the base was no tip while the run began"
        assert queries_host.breaker(conn, "host").failures == 0
    assert Event.RUN_LOST not in {line["event"] for line in house.daemon.events()}
    assert len(list(house.paths.mirrors.glob("*.git"))) == 1
    assert not list(house.paths.mirrors.glob("*.git/FETCH_HEAD"))
