"""The command line starts fast because its first imports are light."""

from __future__ import annotations

import subprocess
import sys

import pytest

from autopilot.runner.agents.registry import KINDS
from tests.architecture.source import SRC, Module, imports, parse
from tests.support.idle import NEEDED_LATER
from tests.support.tree import ROOT

HEAVY = {
    "alembic", "apscheduler", "git", "httpx", "jinja2", "keyring", "psutil", "pydantic",
    "pydantic_settings", "rich", "shtab", "sqlalchemy", "structlog", "yaml",
}  # fmt: skip

# Imported on every start of the command line: the standard library and each other only.
LIGHT = (
    f"{SRC}/schemas/machine.py",
    f"{SRC}/schemas/units.py",
    f"{SRC}/schemas/errors.py",
    f"{SRC}/schemas/events.py",
    f"{SRC}/schemas/ids.py",
    f"{SRC}/config/paths.py",
    f"{SRC}/config/clock.py",
)


def heavy_imports(module: Module) -> list[str]:
    """What a light module imports at start that is neither standard library nor light."""
    light = {path.removeprefix("src/").removesuffix(".py").replace("/", ".") for path in LIGHT}
    found = []
    for _, name in imports(module, at_start_only=True):
        is_ours_and_light = name in light or name.rpartition(".")[0] in light
        if name.partition(".")[0] not in sys.stdlib_module_names and not is_ours_and_light:
            found.append(f"{module.path}: {name}")
    return found


def test_the_light_modules_import_only_the_standard_library(checkout: list[Module]) -> None:
    assert [line for m in checkout if m.is_in(*LIGHT) for line in heavy_imports(m)] == []


def test_a_heavy_import_in_a_light_module_is_found() -> None:
    path = LIGHT[0]
    assert heavy_imports(parse(path, "import pydantic"))
    assert heavy_imports(parse(path, "from autopilot.schemas.ticket import Ticket"))
    assert not heavy_imports(parse(path, "import enum\nfrom autopilot.schemas.ids import slug"))
    assert not heavy_imports(parse(path, "def f():\n    import platformdirs"))


def test_starting_the_command_line_imports_nothing_heavy(checkout: list[Module]) -> None:
    starts = [m.path for m in checkout if m.path == f"{SRC}/daemon/cli/main.py"]
    for path in starts:
        name = path.removeprefix("src/").removesuffix(".py").replace("/", ".")
        code = f"import sys, {name}; print(sorted({HEAVY!r} & sys.modules.keys()))"
        done = subprocess.run(
            [sys.executable, "-P", "-c", code],
            env={"PYTHONPATH": str(ROOT / "src")},
            capture_output=True,
            text=True,
            check=False,
        )
        assert (done.stdout.strip(), done.stderr) == ("[]", "")


# Parts of the standard library that cost a command more than it needs: `typing` and `dataclasses` alone are
# a fifth of its start. See docs/decisions/0072-a-command-starts-light.md.
COSTLY = {
    "ast", "asyncio", "dataclasses", "datetime", "decimal", "difflib", "http", "inspect", "logging",
    "shutil", "ssl", "subprocess", "tempfile", "threading", "tomllib", "typing", "urllib.request", "uuid",
}  # fmt: skip
# What a person types often, and what scripts poll.
OFTEN = ("add", "list", "status", "why")


@pytest.mark.parametrize("verb", OFTEN)
def test_a_command_that_is_typed_often_imports_nothing_costly_until_it_runs(verb: str) -> None:
    code = (
        f"import sys; from autopilot.daemon.cli import main, {verb};"
        f"main.build_parser([{verb!r}], named=[{verb!r}]);"
        f"print(sorted({COSTLY | HEAVY!r} & sys.modules.keys()))"
    )
    done = subprocess.run(
        [sys.executable, "-P", "-S", "-c", code],  # no site: what an installed package imports is not ours
        env={"PYTHONPATH": str(ROOT / "src")},
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.stdout.strip(), done.stderr) == ("[]", "")


@pytest.mark.parametrize("kind", KINDS)
def test_of_the_agents_only_the_one_that_is_asked_for_is_imported(kind: str) -> None:
    code = (
        "import sys; from autopilot.runner import session;"
        "from autopilot.runner.agents.registry import new_agent;"
        f"from autopilot.schemas.run import AgentSpec; new_agent(AgentSpec(name='x', kind={kind!r}));"
        f"print(*(each for each in {KINDS!r} if f'autopilot.runner.agents.{{each}}' in sys.modules))"
    )
    done = subprocess.run(
        [sys.executable, "-P", "-c", code],
        env={"PYTHONPATH": str(ROOT / "src")},
        capture_output=True,
        text=True,
        check=False,
    )
    needed = {kind, "command"} if kind == "scripted" else {kind}
    assert (set(done.stdout.split()), done.stderr) == (needed, "")


def test_the_daemon_imports_no_agent_and_nothing_that_is_needed_later() -> None:
    """What its first tick imports besides is looked at in `tests/integration/test_idle_daemon.py`."""
    code = (
        "import sys; import autopilot.daemon.app;"
        "print(sorted(name for name in sys.modules if name.startswith('autopilot.runner.agents.')"
        f" or name in {set(NEEDED_LATER)!r}))"
    )
    done = subprocess.run(
        [sys.executable, "-P", "-c", code],
        env={"PYTHONPATH": str(ROOT / "src")},
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.stdout.strip(), done.stderr) == ("[]", "")
