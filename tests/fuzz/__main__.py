"""The command line of `script/soak --guard`: as many random command lines as one has patience for."""

from __future__ import annotations

import argparse
import sys
import tempfile
from pathlib import Path

from tests.fuzz.oracle import accepted, unseen
from tests.fuzz.strings import lines

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
        known = accepted(lines(options.seed + tried // _PORTION, count))
        with tempfile.TemporaryDirectory() as folder:
            for one in unseen(known, Path(folder) / "bash"):
                missed += 1
                print(f"{one.text!r}: {one.what}")
        tried, ran = tried + count, ran + len(known)
        print(f"{tried:>9} lines, {ran} accepted and run, {missed} not seen", flush=True)
    return int(bool(missed))


sys.exit(main(sys.argv[1:]))
