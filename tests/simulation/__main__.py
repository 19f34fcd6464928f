"""The command line of the simulation: `python -m tests.simulation --seeds 1-100`."""

from __future__ import annotations

import argparse
import gc
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from tests.simulation import many
from tests.simulation.mutants import BY_NAME
from tests.simulation.play import Patch, Played, Stage

_TIDY_EVERY = 50
_TMPFS = Path("/dev/shm")


def main(argv: list[str]) -> int:
    """Play seeds; 1 when any invariant was broken."""
    parser = argparse.ArgumentParser(prog="python -m tests.simulation", description=__doc__)
    parser.add_argument("--seeds", default="1-100", help="first-last, or how many from 1 on (1-100)")
    parser.add_argument("--jobs", type=int, default=1, help="processes that play at once (1)")
    parser.add_argument("--replay", help="play this seed alone and print the digest of all that happened")
    parser.add_argument("--mutant", choices=BY_NAME, help="plant this fault, and stop where it is found")
    parser.add_argument("--digests", action="store_true", help="print the digest of each seed")
    parser.add_argument("-v", "--verbose", action="store_true", help="print everything that happened")
    options = parser.parse_args(argv)
    seeds = many.span(f"{options.replay}-{options.replay}" if options.replay else options.seeds)
    if options.jobs > 1:
        return many.play_all(seeds, options.jobs)
    patches = BY_NAME[options.mutant]() if options.mutant else ()
    bad, ticks, started_s = 0, 0, time.process_time()
    for played in _played(seeds, patches):
        bad, ticks = bad + bool(played.fault), ticks + played.ticks
        if options.verbose:
            print("\n".join(played.trace))
        if played.fault:
            print(told(played))
            if options.mutant:
                break
        if options.digests or options.replay:
            print(f"seed {played.seed}: trace {played.digest}")
    spent_ms = (time.process_time() - started_s) * 1000
    if not options.digests:
        print(f"{len(seeds)} seeds, {bad} broken; {ticks} ticks, {spent_ms:.0f} ms of CPU", flush=True)
    return int(bad > 0)


def told(played: Played) -> str:
    """The one line about a broken seed."""
    return (
        f"seed {played.seed}: {played.fault.splitlines()[0]} | replay: script/soak --replay {played.seed} -v"
    )


def _played(seeds: range, patches: tuple[Patch, ...]) -> Iterator[Played]:
    """Play one seed after the other; what each leaves in memory is looked for now and then."""
    with tempfile.TemporaryDirectory(dir=_TMPFS if _TMPFS.is_dir() else None) as folder:
        stage = Stage(Path(folder))
        gc.freeze()
        gc.disable()
        for seed in seeds:
            yield stage.play(seed, patches)
            if seed % _TIDY_EVERY == 0:
                gc.collect()


sys.exit(main(sys.argv[1:]))
