"""Runs inside: makes each attempt as a process of its own and writes down what it got.

    python -I -S driver.py ATTEMPTS.json REPORT.json

Must not import anything of ours. An attempt that ends with 0 got what it wanted.
"""

import json
import subprocess
import sys
from pathlib import Path

_PATIENCE_S = 15


def main(attempts_file: str, report_file: str) -> None:
    report = {}
    for attempt in json.loads(Path(attempts_file).read_text()):
        try:
            done = subprocess.run(
                attempt["argv"],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                timeout=_PATIENCE_S,
                check=False,
            )
            ended, said = done.returncode, done.stdout.decode("utf-8", "replace")
        except subprocess.TimeoutExpired:
            ended, said = -1, "it hung"
        except OSError as error:
            ended, said = -2, str(error)
        report[attempt["name"]] = {"code": ended, "said": said[-2000:]}
    Path(report_file).write_text(json.dumps(report))


if __name__ == "__main__":
    main(*sys.argv[1:])
