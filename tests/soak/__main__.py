"""The command line of `script/soak`."""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

from tests.soak.light import soak_light
from tests.soak.play import Play, play, summary
from tests.soak.runs import Sample, faults, soak


def main(argv: list[str]) -> int:
    """Play until the time is up, at least once; 1 when any play went wrong."""
    parser = argparse.ArgumentParser(prog="script/soak", description=__doc__)
    parser.add_argument("--minutes", type=float, default=10.0, help="how long to go on (10)")
    parser.add_argument("--runs", type=int, help="play so many runs through one daemon instead")
    parser.add_argument("--every", type=int, default=20, help="look at that daemon after so many runs (20)")
    parser.add_argument("--light", action="store_true", help="one run is real, the others leave what it left")
    options = parser.parse_args(argv)
    if options.light and options.runs is None:
        parser.error("--light goes with --runs N")
    if options.runs is not None:
        return watch(soak_light if options.light else soak, runs=options.runs, every=options.every)
    end_s = time.monotonic() + options.minutes * 60
    plays: list[Play] = []
    while not plays or time.monotonic() < end_s:
        with tempfile.TemporaryDirectory() as folder:
            one = play(Path(folder) / "home")
        plays.append(one)
        print(f"{len(plays):>5}  {'ok' if one.is_good else 'BAD':<4}{one.seconds:>7.1f} s", flush=True)
        if not one.is_good:
            print("\n".join([one.output, *(f"still running: {line}" for line in one.left_running)]))
    print(summary(plays))
    return int(not all(one.is_good for one in plays))


def watch(soaked: Callable[..., Iterator[Sample]], *, runs: int, every: int) -> int:
    """Print each look at the daemon; 1 when it held more and more."""
    samples: list[Sample] = []
    with tempfile.TemporaryDirectory() as folder:
        for sample in soaked(Path(folder), runs=runs, every=every):
            samples.append(sample)
            print(sample.line(), flush=True)
    found = faults(samples)
    print("\n".join(found) or "nothing grew that should not")
    return int(bool(found))


sys.exit(main(sys.argv[1:]))
