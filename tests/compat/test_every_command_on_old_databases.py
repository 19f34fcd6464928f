"""Every command on a database of every schema brings it up or says what to do; no bug, no raw SQL error."""

from __future__ import annotations

import fcntl
import os
import re
import shutil
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path

import pytest

from autopilot.config.paths import Paths
from autopilot.daemon.cli.verbs import VERBS
from autopilot.daemon.store import migrate
from tests.support.cli import Cli
from tests.support.daemon import Daemon
from tests.support.small_project import small_repo
from tests.support.tree import ROOT

SAMPLES = sorted((ROOT / "tests" / "compat").glob("store-*.sql"))
CONFIG = """
default_agent = "scripted"
[agents.scripted]
kind = "scripted"
[[repo]]
name = "shop"
url = "file:///nowhere/shop.git"
[[repo]]
name = "busy"
url = "file:///nowhere/busy.git"
"""
LEFT_OUT = {"demo"}
"""The demonstration has a home of its own."""
COMMANDS: dict[str, tuple[str, ...]] = {
    "init": ("init", "--yes"),
    "add": ("add", "Something new", "--repo", "shop"),
    "list": ("list", "--json"),
    "show": ("show", "T-1", "--json"),
    "why": ("why", "T-2", "--json"),
    "logs": ("logs", "T-3"),
    "cancel": ("cancel", "T-2"),
    "retry": ("retry", "T-7"),
    "resume": ("resume", "T-6"),
    "answer": ("answer", "T-6", "blue"),
    "on": ("on", "--dry-run"),
    "off": ("off",),
    "status": ("status", "--json"),
    "digest": ("digest", "--json"),
    "review": ("review", "--json"),
    "budget": ("budget", "--json"),
    "breaker": ("breaker", "show"),
    "gc": ("gc", "--json"),
    "backup": ("backup", "--json"),
    "restore": ("restore", "--json"),
    "doctor": ("doctor", "--json"),
    "report": ("report", "--json", "--output", "~"),
    "config": ("config", "check"),
    "daemon": ("daemon", "stop"),
    "completion": ("completion", "bash"),
    "guard": ("guard", "explain", "git status"),
    "install": ("install", "--dry-run"),
    "uninstall": ("uninstall",),
    "service": ("service", "status"),
    "stop": ("stop", "--all"),
}
_RAW = re.compile(r"(?i)traceback|sqlite3\.|sqlalchemy|no such (column|table)|operationalerror|this is a bug")


def lay_down(sample: Path, paths: Paths) -> Path:
    """Put a database of that schema where the commands look."""
    database = paths.ensure().database
    with closing(sqlite3.connect(database)) as raw:
        raw.executescript(sample.read_text(encoding="utf-8"))
        raw.execute("PRAGMA journal_mode=WAL")
    return database


@pytest.fixture
def daemon(tmp_path: Path) -> Iterator[Daemon]:
    daemon = Daemon(tmp_path / "home", config=CONFIG)
    yield daemon
    daemon.clean_up()


@pytest.fixture(autouse=True)
def _in_a_checkout(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """`init` looks at where it stands: at a checkout of the test's own, however ours was made."""
    monkeypatch.chdir(small_repo(tmp_path / "project").checkout)


def version(database: Path) -> str:
    with closing(sqlite3.connect(database)) as raw:
        (found,) = raw.execute("SELECT version_num FROM alembic_version").fetchone()
        return str(found)


def is_as_it_was(database: Path, pristine: Path) -> bool:
    log = database.with_name(f"{database.name}-wal")
    is_empty = not log.exists() or not log.stat().st_size
    return is_empty and database.read_bytes() == pristine.read_bytes()


def test_every_verb_is_asked() -> None:
    assert set(COMMANDS) == set(VERBS) - LEFT_OUT


@pytest.mark.field_report("DMN-030")
@pytest.mark.parametrize("sample", SAMPLES, ids=lambda sample: sample.stem)
def test_dmn_030_each_command_brings_an_old_database_up_by_itself_or_leaves_it_alone(
    sample: Path, tmp_path: Path
) -> None:
    pristine = lay_down(sample, Cli(tmp_path / "pristine", config=CONFIG).paths)
    before, untouched = version(pristine), set[str]()
    for verb, words in COMMANDS.items():
        cli = Cli(tmp_path / verb, config=CONFIG)
        shutil.copyfile(pristine, cli.paths.ensure().database)
        said = cli.call(*words)
        assert said.code in {0, 1, 3}, (verb, said)
        assert not _RAW.search(said.out + said.err), (verb, said)
        assert version(cli.paths.database) in {before, migrate.HEAD}, verb
        if is_as_it_was(cli.paths.database, pristine):  # `list` itself has begun with this very file
            untouched.add(verb)
            shutil.rmtree(cli.home)
            continue
        listed = cli.call("list", "--json")
        assert len(listed.json()["tickets"]) >= 9, verb
        assert version(cli.paths.database) == migrate.HEAD
        shutil.rmtree(cli.home)
    assert "add" not in untouched
    assert before == migrate.HEAD or "list" not in untouched


@pytest.mark.field_report("DMN-030")
@pytest.mark.parametrize("sample", SAMPLES, ids=lambda sample: sample.stem)
def test_dmn_030_a_daemon_brings_an_old_database_up_at_its_start(sample: Path, daemon: Daemon) -> None:
    """DMN-030: the check before the migration asked for a column that only the migration makes."""
    database = lay_down(sample, daemon.paths)
    with closing(sqlite3.connect(database)) as raw:
        raw.execute("UPDATE switch SET is_on = 0")
        raw.commit()
    daemon.start()
    assert len(daemon.call("GET", "/v1/tickets")["tickets"]) >= 9
    assert daemon.call("GET", "/v1/status")["counts"]["running"] == 0
    assert daemon.stop() == 0
    assert version(database) == migrate.HEAD
    assert not _RAW.search(daemon.said())


@pytest.mark.field_report("DMN-030")
@pytest.mark.skipif(len(SAMPLES) < 2, reason="there is one schema only")
def test_dmn_030_each_command_says_who_must_go_while_an_older_program_has_the_old_database_open(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(migrate, "_LOCK_TRIES", 3)
    monkeypatch.setattr(migrate, "_SOLE_TRIES", 3)
    cli = Cli(tmp_path, config=CONFIG)
    database = lay_down(SAMPLES[0], cli.paths)
    seat = os.open(database.with_name("autopilot.db.lock"), os.O_RDWR | os.O_CREAT)
    fcntl.flock(seat, fcntl.LOCK_SH)  # as a daemon of the older version holds it
    refused: set[str] = set()
    for verb, words in COMMANDS.items():
        said = cli.call(*words)
        assert not _RAW.search(said.out + said.err), (verb, said)
        assert said.code != 70, (verb, said)
        if "database-in-use" in said.out or "another process has" in said.out + said.err:
            assert "stop the daemon" in said.out + said.err, (verb, said)
            refused.add(verb)
    assert {
        "add",
        "list",
        "show",
        "why",
        "cancel",
        "retry",
        "status",
        "digest",
        "budget",
        "doctor",
    } <= refused
    assert version(database) == migrate.REVISIONS[0]
    os.close(seat)
    assert cli.call("list").code == 0


def _no_schema(database: Path) -> None:
    with closing(sqlite3.connect(database)) as raw:
        raw.execute("DROP TABLE alembic_version")


def _no_version(database: Path) -> None:
    with closing(sqlite3.connect(database)) as raw:
        raw.execute("DELETE FROM alembic_version")
        raw.commit()


def _newer(database: Path) -> None:
    with closing(sqlite3.connect(database)) as raw:
        raw.execute("UPDATE alembic_version SET version_num = '9999'")
        raw.execute("ALTER TABLE tickets RENAME COLUMN reason TO because")
        raw.commit()


def _blank(database: Path) -> None:
    database.unlink()
    with closing(sqlite3.connect(database)) as raw:
        raw.execute("PRAGMA user_version = 0")
        raw.execute("VACUUM")


@pytest.mark.field_report("DMN-030")
@pytest.mark.parametrize(
    "spoil", [_no_schema, _no_version, _newer, _blank], ids=lambda one: str(one.__name__)
)
def test_dmn_030_each_command_names_a_schema_that_it_does_not_know(
    spoil: Callable[[Path], None], tmp_path: Path
) -> None:
    cli = Cli(tmp_path, config=CONFIG)
    database = lay_down(SAMPLES[-1], cli.paths)
    spoil(database)
    before = database.read_bytes()
    for verb in ("add", "list", "show", "why", "cancel", "status", "digest", "review", "budget", "backup"):
        said = cli.call(*COMMANDS[verb])
        assert said.code == 78, (verb, said)
        assert not _RAW.search(said.out + said.err), (verb, said)
        assert "autopilot restore" in said.out + said.err, (verb, said)
    assert cli.call("doctor").code == 3
    assert database.read_bytes() == before
