"""The product's daemon, but that each of its runners, publishers and clean-ups is a stand-in.

    python -P tests/soak/light_daemon.py TEMPLATES daemon run

Nothing else is replaced: it starts, watches, judges and sweeps up after them as after real ones. A question
after drafts and a nightly clean-up are real.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Final

STAND_IN: Final = Path(__file__).with_name("stand_in.py").resolve()
ROLES: Final[Mapping[tuple[str, str], str]] = {
    ("autopilot.runner", "run"): "runner",
    ("autopilot.publish", "spec.json"): "publisher",
    ("autopilot.daemon.gc", "tidy"): "cleaner",
}


def main(templates: str, words: list[str]) -> int:
    """Be the daemon."""
    from autopilot.daemon import app, children  # noqa: F401 - what is patched must be there
    from autopilot.daemon.cli.main import run

    original = children._own_python  # noqa: SLF001 - the one seam where children are made

    def own_python(module: str, *arguments: str) -> tuple[str, ...]:
        role = ROLES.get((module, Path(arguments[0]).name))
        if role is None:
            return original(module, *arguments)
        return (sys.executable, "-I", "-S", str(STAND_IN), role, templates, *arguments)

    setattr(children, "_own_python", own_python)  # noqa: B010 - mypy refuses an assignment to a function
    return run(words)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], sys.argv[2:]))
