"""The command line of `script/bench`."""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections.abc import Iterator

from tests.bench.measure import FULL, QUICK, SMOKE, Scale
from tests.bench.registry import BENCHES, ROWS
from tests.bench.report import Result, amount, as_json, as_markdown, as_table, missed


def main(argv: list[str]) -> int:
    """Measure the chosen rows and print them; 1 when one of them is over its bar."""
    # Programs start from compiled bytecode, as an installed one does; only a first start compiles.
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
    options = _parser().parse_args(argv)
    if not any(_is_chosen(row.name, options.rows) for row in ROWS):
        print(f"no such row; there are: {', '.join(row.name for row in ROWS)}", file=sys.stderr)
        return 2
    scale = SMOKE if options.smoke else QUICK if options.quick else FULL
    results = list(_results(options.rows, scale))
    if options.json:
        print(json.dumps(as_json(results, scale)))
    else:
        print((as_markdown if options.markdown else as_table)(results, scale))
    over = missed(results)
    if over:
        print(f"over the bar: {', '.join(over)}", file=sys.stderr)
    return int(bool(over) and scale is not SMOKE)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="script/bench", description=__doc__)
    parser.add_argument("rows", nargs="*", help="parts of row names; all rows when none is given")
    parser.add_argument("--json", action="store_true", help="one JSON object on stdout")
    parser.add_argument("--markdown", action="store_true", help="the table of docs/performance.md")
    parser.add_argument("--quick", action="store_true", help="smaller queues and fewer rounds")
    parser.add_argument("--smoke", action="store_true", help="only whether every row still runs; no bars")
    return parser


def _results(wanted: list[str], scale: Scale) -> Iterator[Result]:
    for bench in BENCHES:
        rows = {row.name: row for row in bench.rows if _is_chosen(row.name, wanted)}
        if not rows:
            continue
        print(f"measuring {', '.join(rows)}", file=sys.stderr)
        for finding in bench.measure(scale):
            if finding.row in rows:
                result = Result(rows[finding.row], finding)
                print(f"  {finding.row}: {amount(result.row, result.value)}", file=sys.stderr)
                yield result


def _is_chosen(name: str, wanted: list[str]) -> bool:
    return not wanted or any(part in name for part in wanted)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
