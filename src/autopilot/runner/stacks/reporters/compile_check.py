"""Compiles Python files without importing or writing any, and says which do not compile.

Started as a file, isolated: `python -I compile_check.py LIST REPORT`; LIST holds NUL-separated paths below
the working directory. It must import nothing but the standard library and run on Python 3.8 and newer.
"""

from __future__ import annotations

import json
import os
import sys
import warnings
from pathlib import Path


def fault_of(path: str) -> str | None:
    """Say why a file does not compile, or None when it does."""
    try:
        compile(Path(path).read_bytes(), path, "exec", dont_inherit=True)
    except (SyntaxError, ValueError, RecursionError, MemoryError) as exc:
        return f"{type(exc).__name__}: {exc}"
    except OSError as exc:
        return f"cannot be read: {exc.strerror}"
    return None


def main(argv: list[str]) -> int:
    """Check every listed file and write the report last."""
    warnings.simplefilter("ignore")
    paths = [os.fsdecode(name) for name in Path(argv[1]).read_bytes().split(b"\0") if name]
    faults = {path: fault for path in paths if (fault := fault_of(path)) is not None}
    for path, fault in faults.items():
        sys.stderr.write(f"{path}: {fault}\n".encode("ascii", "backslashreplace").decode())
    Path(argv[2]).write_text(json.dumps({"checked": len(paths), "faults": faults}), encoding="ascii")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv))
