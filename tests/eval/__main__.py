"""The command line of `script/eval`."""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path

from tests.eval import guard
from tests.eval.features import UnusableReportError, fresh_report, run_suite, score, table


def main(argv: list[str]) -> int:
    """Run one measure and print it."""
    parser = argparse.ArgumentParser(prog="script/eval")
    measures = parser.add_subparsers(dest="measure", required=True)
    features = measures.add_parser("features", help="feature rows that passing tests carry")
    features.add_argument("--json", action="store_true", help="one JSON object on stdout")
    features.add_argument(
        "--from",
        dest="report",
        type=Path,
        help="read the report of a test run on exactly this tree instead of running the suite "
        "(script/test leaves one in .cache/features.json)",
    )
    commands = measures.add_parser("guard", help="the command guard on labelled commands, as one JSON object")
    commands.add_argument("file", type=Path, help="JSON lines, as tests/guard_corpus/README.md says")
    options = parser.parse_args(argv)
    if options.measure == "guard":
        return _guard(options.file)
    try:
        report = fresh_report(options.report) if options.report else run_suite()
    except UnusableReportError as error:
        print(f"script/eval: {error}", file=sys.stderr)
        return 1
    result = score(report["rows"])
    print(json.dumps(result) if options.json else table(result))
    if report["exit"] != 0:
        print("script/eval: the suite did not pass; only passing tests count", file=sys.stderr)
        return 1
    return 0


def _guard(file: Path) -> int:
    try:
        rows = guard.rows_of(file)
    except (OSError, ValueError) as error:
        print(f"script/eval: {error}", file=sys.stderr)
        return 1
    print(json.dumps(guard.score(guard.judged(rows)), ensure_ascii=False))
    return 0


sys.exit(main(sys.argv[1:]))
