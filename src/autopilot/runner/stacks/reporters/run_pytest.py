"""Starts the installed pytest, and only then lets the working directory be imported from.

Started as a file in place of `python -m pytest`, which puts the working directory first: there a `pytest.py`
of the branch would be run instead. It must import nothing but the standard library and pytest.
"""

from __future__ import annotations

import sys
from pathlib import Path


def main() -> int:
    """Import pytest from where packages are, then run as `python -m pytest` does."""
    del sys.path[0]
    import pytest  # noqa: PLC0415 - not before our own folder is off the path

    sys.path.insert(0, str(Path.cwd()))
    return int(pytest.main())


if __name__ == "__main__":
    sys.exit(main())
