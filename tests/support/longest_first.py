"""The pytest plugin that deals the tests out to the workers of xdist: what may take longest comes first.

xdist gives each worker one stretch of the tests in their order, and who is done takes the tail of another's.
So each stretch begins with slow files and ends with quick tests: nobody sits idle while one worker plays what
it came to last.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby

import pytest

USUAL_LIMIT_S = 300.0


@pytest.hookimpl(trylast=True)  # what `-m` leaves out must be gone
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Deal, in a worker; every worker deals alike."""
    worker: dict[str, int] = getattr(config, "workerinput", {})
    if worker.get("workercount", 1) > 1:
        items[:] = deal(items, worker["workercount"])


def deal(items: Sequence[pytest.Item], workers: int) -> list[pytest.Item]:
    """Put slow files, whole and by what they may take at most, before the others, a share for each worker."""
    files = [list(file) for _, file in groupby(items, key=lambda item: item.nodeid.partition("::")[0])]
    slow = sorted((file for file in files if limit_s(file)), key=limit_s, reverse=True)
    quick = [item for file in files if not limit_s(file) for item in file]
    shares: list[list[pytest.Item]] = [[] for _ in range(workers)]
    loads_s = [0.0] * workers
    for file in slow:
        least = loads_s.index(min(loads_s))
        shares[least] += file
        loads_s[least] += limit_s(file)
    dealt: list[pytest.Item] = []
    for number, share in enumerate(shares):
        room = max(0, len(items) * (number + 1) // workers - len(dealt) - len(share))
        if number == workers - 1:
            room = len(quick)
        dealt += [*share, *quick[:room]]
        del quick[:room]
    return dealt


def limit_s(file: Sequence[pytest.Item]) -> float:
    """Add up what the slow tests of a file may take; 0 for a file of quick ones."""
    return sum(
        float(limit.args[0])
        if (limit := item.get_closest_marker("timeout")) and limit.args
        else USUAL_LIMIT_S
        for item in file
        if item.get_closest_marker("slow")
    )
