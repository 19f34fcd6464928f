"""Things that may be done in one place only."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import NamedTuple

from tests.architecture.source import Breach, Check, Module, Rule, imports

SRC = "src/autopilot/"
EDGES = (
    f"{SRC}daemon/loop.py",
    f"{SRC}daemon/checkup/side_by_side.py",
    f"{SRC}daemon/cli/main.py",
    f"{SRC}runner/__main__.py",
    f"{SRC}publish/__main__.py",
)
# What `decide` and its like may import: values and rules, nothing that reaches outside.
JUDGES = (
    "decide",
    "decide_publish",
    "admission",
    "admission_host",
    "budget",
    "breaker",
    "windows",
    "rules",
)
PURE = tuple(f"{SRC}daemon/{name}.py" for name in JUDGES)
REACHES_OUTSIDE = {
    "os", "io", "sys", "pathlib", "socket", "sqlite3", "subprocess", "shutil", "tempfile", "logging",
    "time", "threading", "asyncio", "urllib", "http", "signal", "select", "multiprocessing", "sqlalchemy",
    "alembic", "apscheduler", "psutil", "structlog", "git", "httpx", "keyring", "rich", "jinja2",
}  # fmt: skip
PURE_CONFIG = "autopilot.config.settings"


class Place(NamedTuple):
    """Names that are used nowhere but here."""

    names: frozenset[str]
    only_in: tuple[str, ...]


PLACES = {
    "print": Place(frozenset({"print"}), (f"{SRC}daemon/cli/",)),
    "environment": Place(
        frozenset({"os.environ", "os.environb", "os.getenv", "os.putenv", "os.unsetenv"}),
        (f"{SRC}config/",),
    ),
    "clock": Place(
        frozenset(
            {
                "time.time",
                "time.time_ns",
                "time.monotonic",
                "time.monotonic_ns",
                "time.perf_counter",
                "time.perf_counter_ns",
                "time.sleep",
                "datetime.datetime.now",
                "datetime.datetime.utcnow",
                "datetime.datetime.today",
                "datetime.date.today",
                "time.localtime",
                "time.gmtime",
            }
        ),
        (f"{SRC}config/clock.py",),
    ),
    "process": Place(
        frozenset(
            {
                "subprocess",
                "os.system",
                "os.popen",
                "os.fork",
                "os.forkpty",
                "os.posix_spawn",
                "os.posix_spawnp",
                "os.execv",
                "os.execve",
                "os.execvp",
                "os.execvpe",
                "pty.spawn",
                "asyncio.create_subprocess_exec",
                "asyncio.create_subprocess_shell",
                *(f"os.spawn{how}" for how in ("l", "le", "lp", "lpe", "v", "ve", "vp", "vpe")),
                "psutil.Popen",
            }
        ),
        # The player is the scripted agent itself: it stands in for a program that is not ours. The forwarder
        # runs inside of a sandbox, without us, and becomes the program that was started.
        (
            f"{SRC}config/proc.py",
            f"{SRC}runner/agents/scripted_player.py",
            f"{SRC}runner/network/forwarder.py",
            f"{SRC}runner/sandbox/landlock_start.py",
            f"{SRC}runner/sandbox/joined_start.py",
        ),
    ),
    "moves": Place(
        frozenset({"autopilot.daemon.store.moves", "autopilot.daemon.store.enqueue"}),
        (
            f"{SRC}daemon/transitions.py",
            f"{SRC}daemon/transitions_publish.py",
            f"{SRC}daemon/store/enqueue.py",
        ),
    ),
    "keyring": Place(frozenset({"keyring"}), (f"{SRC}config/secrets.py",)),
    "__file__": Place(frozenset({"__file__"}), ()),
}


def only_at(place: Place) -> Check:
    def check(module: Module) -> Iterator[Breach]:
        if place.only_in and module.is_in(*place.only_in):
            return
        for line, name in {*module.uses, *imports(module)}:
            if any(name == banned or name.startswith(f"{banned}.") for banned in place.names):
                yield Breach(line, name)

    return check


def broad_except(module: Module) -> Iterator[Breach]:
    for node in module.nodes:
        if isinstance(node, ast.ExceptHandler) and not module.is_in(*EDGES):
            caught = [] if node.type is None else [ast.unparse(n) for n in ast.walk(node.type)]
            is_broad = node.type is None or {"Exception", "BaseException"} & set(caught)
            if is_broad and ast.unparse(node.body[-1]) != "raise":
                yield Breach(node.lineno, "catches everything and does not raise it again")


def impure_import(module: Module) -> Iterator[Breach]:
    for line, name in imports(module):
        ours = name.startswith("autopilot.config") and not name.startswith(PURE_CONFIG)
        if name.partition(".")[0] in REACHES_OUTSIDE or ours:
            yield Breach(line, f"a pure module imports {name}")


def _place_rule(name: str, title: str, bad: tuple[str, ...], good: tuple[tuple[str, str], ...]) -> Rule:
    snippets = tuple((f"{SRC}launchd/x.py", text) for text in bad)
    return Rule(title, only_at(PLACES[name]), (SRC,), bad=snippets, good=good)


RULES = (
    _place_rule(
        "print",
        "only the command line prints",
        ("def f():\n    print('x')",),
        ((f"{SRC}daemon/cli/add.py", "print('x')"), (f"{SRC}launchd/x.py", "blueprint('x')")),
    ),
    _place_rule(
        "environment",
        "only config reads the environment",
        (
            "import os\nx = os.environ['A']",
            "from os import environ\nenviron.get('A')",
            "import os\nos.getenv('A')",
        ),
        ((f"{SRC}config/environ.py", "import os\nx = os.environ['A']"),),
    ),
    _place_rule(
        "clock",
        "only config.clock reads a clock or sleeps",
        (
            "import time\ntime.time()",
            "from time import monotonic as m\nm()",
            "import datetime as d\nd.datetime.now(d.UTC)",
            "from datetime import datetime\ndatetime.now()",
            "import time\ntime.sleep(1)",
        ),
        ((f"{SRC}config/clock.py", "import time\ntime.time()"), (f"{SRC}launchd/x.py", "clock.now()")),
    ),
    _place_rule(
        "process",
        "only config.proc starts processes",
        ("import subprocess", "from subprocess import run", "import os\nos.execv('x', ['x'])"),
        ((f"{SRC}config/proc.py", "import subprocess\nsubprocess.Popen(['x'])"),),
    ),
    _place_rule(
        "keyring",
        "only config.secrets opens the keyring",
        ("import keyring", "from keyring.errors import KeyringError"),
        ((f"{SRC}config/secrets.py", "import keyring"),),
    ),
    _place_rule(
        "moves",
        "only the transitions change the state of a ticket",
        ("from autopilot.daemon.store.moves import advance", "from autopilot.daemon.store import enqueue"),
        (
            (f"{SRC}daemon/transitions.py", "from autopilot.daemon.store.moves import advance"),
            (f"{SRC}daemon/loop.py", "from autopilot.daemon.transitions import claim, enqueue"),
        ),
    ),
    _place_rule("__file__", "data files come through importlib.resources", ("Path(__file__).parent",), ()),
    Rule(
        "everything is caught only at the edges",
        broad_except,
        (SRC,),
        bad=tuple(
            (f"{SRC}daemon/store/x.py", f"try:\n    f()\nexcept{what}:\n    pass")
            for what in ("", " Exception", " BaseException as e", " (OSError, Exception)")
        ),
        good=(
            (f"{SRC}daemon/store/x.py", "try:\n    f()\nexcept (OSError, ValueError):\n    pass"),
            (f"{SRC}daemon/store/x.py", "try:\n    f()\nexcept BaseException:\n    undo()\n    raise"),
            (f"{SRC}runner/__main__.py", "try:\n    f()\nexcept Exception:\n    pass"),
        ),
    ),
    Rule(
        "the deciding modules reach nothing outside",
        impure_import,
        PURE,
        bad=(
            (f"{SRC}daemon/decide.py", "import os"),
            (f"{SRC}daemon/budget.py", "from sqlalchemy import select"),
            (f"{SRC}daemon/windows.py", "from autopilot.config import proc"),
        ),
        good=(
            (
                f"{SRC}daemon/windows.py",
                "from zoneinfo import ZoneInfo\nfrom autopilot.schemas import machine",
            ),
        ),
    ),
)
