"""The command line of `script/soak --guard`: as many random command lines as one has patience for."""

from __future__ import annotations

import argparse
import sys
import tempfile
from pathlib import Path

from tests.fuzz.oracle import accepted, unseen
from tests.fuzz.seeds import WILDCARDS
from tests.fuzz.strings import lines
from tests.fuzz.wildcards import matched, unsaid, words

_PORTION = 12_000


def main(argv: list[str]) -> int:
    """Try lines by seed and print what the guard did not see; 1 when there was any."""
    parser = argparse.ArgumentParser(prog="script/soak", description=__doc__)
    parser.add_argument("--guard", type=int, required=True, metavar="N", help="how many lines")
    parser.add_argument("--seed", type=int, default=1, help="where to begin (1)")
    options = parser.parse_args(argv)
    tried = ran = missed = 0
    while tried < options.guard:
        count = min(_PORTION, options.guard - tried)
        seed = options.seed + tried // _PORTION
        known, wild = accepted(lines(seed, count)), words(seed, WILDCARDS)
        with tempfile.TemporaryDirectory() as folder:
            for one in unseen(known, Path(folder) / "bash"):
                missed += 1
                print(f"seed {seed}: {one.text!r}: {one.what}")
            for word, name in unsaid(wild, matched(wild, Path(folder) / "wildcards")):
                missed += 1
                print(f"seed {seed}: {word!r}: bash takes it for {name!r}")
        tried, ran = tried + count, ran + len(known)
        print(f"{tried:>9} lines, {ran} accepted and run, {missed} not seen", flush=True)
    return int(bool(missed))


sys.exit(main(sys.argv[1:]))
