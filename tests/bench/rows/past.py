"""What a tick and a digest cost beside a long past: a million moves of tickets that ended long ago."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from functools import partial

from autopilot.daemon.digest import gather
from autopilot.daemon.loop import Loop
from tests.bench.house import folder
from tests.bench.measure import Bench, Finding, Row, Scale, Spent, ratio, spent_on, turn
from tests.bench.rows.idle import full_house
from tests.support.past import seed
from tests.support.shop import Stage

_TICK, _DIGEST = "tick, many moves", "digest, many moves"
_MOVES_PER_TICKET = 20
_FEW = 1000
_NIGHT_MS = 24 * 3_600_000
_ACTS = 10
"""Of each in a round: one alone is too short to be timed well."""


def _measure(scale: Scale) -> Iterator[Finding]:
    spent: dict[tuple[str, str], list[Spent]] = {}
    with folder() as place, ExitStack() as opened:
        actions: dict[tuple[str, str], Callable[[], object]] = {}
        for size, moves in (("few", min(_FEW, scale.many)), ("many", scale.many)):
            stage, loop, _ = opened.enter_context(full_house(place / size))
            seed(stage.store, moves // _MOVES_PER_TICKET, _MOVES_PER_TICKET - 1)
            actions[_TICK, size] = partial(_tick, stage, loop)
            actions[_DIGEST, size] = partial(_digest, stage)
        for round_ in range(-1, scale.rounds):
            for act in (_TICK, _DIGEST):
                for size in turn(["few", "many"], round_):
                    took = spent_on(actions[act, size])
                    if round_ >= 0:
                        spent.setdefault((act, size), []).append(took)
    for act in (_TICK, _DIGEST):
        yield ratio(act, spent[act, "many"], spent[act, "few"])


def _tick(stage: Stage, loop: Loop) -> None:
    for _ in range(_ACTS):
        loop.tick()
        stage.clock.advance(1)


def _digest(stage: Stage) -> None:
    for _ in range(_ACTS):
        gather.night(stage.desk(), since_ms=stage.clock.now_ms() - _NIGHT_MS)


_FEWER = "the same beside 1 k moves"
BENCH = Bench(
    (
        Row(_TICK, "an idle tick with every chore, beside 1 M moves of 50 k tickets", _FEWER, "x", 1.3),
        Row(_DIGEST, "the digest of a night, beside the same", _FEWER, "x", None),
    ),
    _measure,
)
