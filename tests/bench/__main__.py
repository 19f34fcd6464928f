"""The command line of `script/bench`."""

from __future__ import annotations

import argparse
import json
import sys

from tests.bench.registry import ROWS
from tests.bench.report import Result, as_json, as_table


def main(argv: list[str]) -> int:
    """Measure the chosen rows and print them; the exit code tells of bars only with --strict."""
    parser = argparse.ArgumentParser(prog="script/bench", description=__doc__)
    parser.add_argument("rows", nargs="*", help="parts of row names; all rows when none is given")
    parser.add_argument("--json", action="store_true", help="one JSON object on stdout")
    parser.add_argument("--rounds", type=int, default=15, help="measured rounds per row (15)")
    parser.add_argument("--strict", action="store_true", help="exit 1 when a row is over its bar")
    options = parser.parse_args(argv)
    chosen = [row for row in ROWS if not options.rows or any(part in row.name for part in options.rows)]
    if not chosen:
        parser.error(f"no such row; there are: {', '.join(row.name for row in ROWS)}")
    results = [Result(row, row.measure(options.rounds)) for row in chosen]
    print(json.dumps(as_json(results)) if options.json else as_table(results))
    return int(options.strict and not all(result.is_within for result in results))


sys.exit(main(sys.argv[1:]))
