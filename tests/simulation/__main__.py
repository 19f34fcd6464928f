"""The command line of the simulation: `python -m tests.simulation --seeds 1-100`."""

from __future__ import annotations

import argparse
import gc
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from autopilot.config.heap import loading, share_one_heap

with loading():  # as the daemon does: a fifth of the start would go into looking for garbage
    from tests.simulation import many
    from tests.simulation.channel_mutants import OF_CHANNELS
    from tests.simulation.ends import Patch
    from tests.simulation.mutants import BY_NAME
    from tests.simulation.play import Played, Stage
    from tests.simulation.week_mutants import OF_WEEK

_TIDY_EVERY = 100
_TMPFS = Path("/dev/shm")
_HOW = {
    (False, False): "script/soak",
    (True, False): "script/soak --week",
    (False, True): "python -m tests.simulation --channels",
}
ALL = BY_NAME | OF_WEEK | OF_CHANNELS


def main(argv: list[str]) -> int:
    """Play seeds; 1 when any invariant was broken."""
    parser = argparse.ArgumentParser(prog="python -m tests.simulation", description=__doc__)
    parser.add_argument("--seeds", default="1-100", help="first-last, or how many from 1 on (1-100)")
    parser.add_argument("--jobs", type=int, default=1, help="processes that play at once (1)")
    parser.add_argument("--replay", help="play this seed alone and print the digest of all that happened")
    parser.add_argument("--queue", type=Path, help="the file of a new queue (one is made)")
    kinds = parser.add_mutually_exclusive_group()
    kinds.add_argument("--week", action="store_true", help="play a week of nights instead (10 s a seed)")
    kinds.add_argument("--channels", action="store_true", help="let digests and reports go out, too")
    parser.add_argument("--mutant", choices=ALL, help="plant this fault, and stop where it is found")
    parser.add_argument("--digests", action="store_true", help="print the digest of each seed")
    parser.add_argument("-v", "--verbose", action="store_true", help="print everything that happened")
    options = parser.parse_args(argv)
    seeds = many.span(f"{options.replay}-{options.replay}" if options.replay else options.seeds)
    if options.jobs > 1:
        if options.digests or options.replay:
            parser.error("digests and one seed again are asked of one process: leave --jobs out")
        return many.play_all(seeds, options.jobs, _passed_on(options))
    patches = ALL[options.mutant]() if options.mutant else ()
    share_one_heap()
    bad, ticks, started_s = 0, 0, time.process_time()
    for played in _played(options, seeds, patches):
        bad, ticks = bad + bool(played.fault), ticks + played.ticks
        if options.verbose:
            print("\n".join(played.trace))
        if played.fault:
            print(told(played, how=_HOW[options.week, options.channels]))
            if options.mutant:
                break
        if options.digests or options.replay:
            print(f"seed {played.seed}: trace {played.digest}")
    spent_ms = (time.process_time() - started_s) * 1000
    if not options.digests:
        print(f"{len(seeds)} seeds, {bad} broken; {ticks} ticks, {spent_ms:.0f} ms of CPU", flush=True)
    return int(bad > 0)


def _passed_on(options: argparse.Namespace) -> tuple[str, ...]:
    """Give the words that say what each of several processes plays."""
    week = ("--week",) if options.week else ("--channels",) if options.channels else ()
    mutant = ("--mutant", options.mutant) if options.mutant else ()
    return (*week, *mutant, *(("--verbose",) if options.verbose else ()))


def told(played: Played, *, how: str) -> str:
    """The one line about a broken seed."""
    return f"seed {played.seed}: {played.fault.splitlines()[0]} | replay: {how} --replay {played.seed} -v"


def _played(options: argparse.Namespace, seeds: range, patches: tuple[Patch, ...]) -> Iterator[Played]:
    """Play one seed after the other; what each leaves in memory is looked for now and then."""
    with tempfile.TemporaryDirectory(dir=_TMPFS if _TMPFS.is_dir() else None) as folder:
        stage = Stage(Path(folder), None if options.queue is None else options.queue.read_bytes())
        gc.freeze()
        gc.disable()
        for seed in seeds:
            yield stage.play(seed, patches, is_week=options.week, has_channels=options.channels)
            if seed % _TIDY_EVERY == 0:
                gc.collect()


sys.exit(main(sys.argv[1:]))
