"""Where a credential has shown up elsewhere: a service's file, an address, a crash's report, a core file."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from autopilot.daemon.installing import service_of
from autopilot.launchd import plists, systemd_units
from autopilot.schemas.errors import ExitCode
from tests.support import canary
from tests.support.cli import Cli
from tests.support.shop import CONFIG, Stage

TOKEN = "ghp" + "_" + "R9dK2mQ7xV4bT8nL1cF6hJ3pZ5wY0sAaGgE4"
PASSWORD = "mellow-otter-4711"
RING = "quarry-of-the-forge-0815"
FAULTY = """
import os, sys, types
broken = types.ModuleType("autopilot.daemon.cli.list")
broken.add_arguments = lambda parser: parser.add_argument("--json", action="store_true")
def run(args):
    try:
        raise KeyError(os.environ["SAID"])
    except KeyError as error:
        all_of_them = {name: value for name, value in os.environ.items() if not name.startswith("FLAVOUR")}
        raise RuntimeError(f"with {os.environ['AUTOPILOT_SECRET_FORGE']} and {all_of_them}") from error
broken.run = run
sys.modules[broken.__name__] = broken
from autopilot.daemon.cli.main import main
main()
"""
LIMITS = """
import resource, subprocess, sys
from autopilot.config.private import keep_private
keep_private()
ask = "import resource; print(resource.getrlimit(resource.RLIMIT_CORE))"
print(resource.getrlimit(resource.RLIMIT_CORE), flush=True)
subprocess.run([sys.executable, "-I", "-S", "-c", ask], check=True)
"""


@pytest.mark.field_report("SEC-013")
@pytest.mark.parametrize("has_folder", [True, False], ids=["written", "only told"])
def test_what_a_crash_leaves_and_tells_holds_no_secret(tmp_path: Path, has_folder: bool) -> None:
    said = f"https://bot:{PASSWORD}@forge.example/o/r.git answered {TOKEN}\n\x1b[2J"
    cli = Cli(tmp_path / "home", config=CONFIG, env={"SAID": said, "AUTOPILOT_SECRET_FORGE": RING})
    folder = cli.paths.state / "reports"
    if not has_folder:
        folder.parent.mkdir(parents=True)
        folder.write_text("a file lies where the reports would")
    for words in (["list"], ["list", "--json"]):
        done = subprocess.run(
            [sys.executable, "-P", "-c", FAULTY, *words],
            env=cli.env,
            cwd=cli.home,
            capture_output=True,
            text=True,
            check=False,
        )
        told = done.stdout + done.stderr
        assert done.returncode == ExitCode.BUG, told
        assert "RuntimeError" in told or has_folder
        assert [word for word in (TOKEN, PASSWORD, RING, canary.WORD) if word in told] == []
    files = list(folder.iterdir()) if has_folder else []
    assert len(files) == (2 if has_folder else 0)
    for file in files:
        assert "KeyError: 'https://***@forge.example/o/r.git answered ***" in file.read_text()
        assert file.stat().st_mode & 0o077 == 0
        canary.assert_unseen(folder, also=(TOKEN, PASSWORD, RING))


@pytest.mark.field_report("SEC-013")
def test_a_service_is_told_no_secret_of_the_person_who_installs_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("AUTOPILOT_SECRET_FORGE", "ANTHROPIC_API_KEY", "https_proxy", "PYTHONPATH_TOKEN"):
        monkeypatch.setenv(name, RING)
    stage = Stage(tmp_path)
    stage.store.close()
    for platform, write in (("linux", systemd_units.units), ("darwin", plists.plists)):
        made = service_of(stage.paths, stage.settings, platform=platform)
        files = write(made)
        assert len(files) > 1
        for name, content in files.items():
            text = content if isinstance(content, str) else content.decode()
            assert str(made.home) in text or name != next(iter(files))
            assert not canary.holds(text, (RING,)), name


@pytest.mark.field_report("SEC-013")
@pytest.mark.parametrize("odd", ["a\nExecStart=/bin/evil", "a\rb", "a\x1bb", "a\u2028b", "a\u202eb"])
def test_a_place_that_would_write_a_line_of_its_own_into_a_service_is_refused(
    tmp_path: Path, odd: str
) -> None:
    cli = Cli(tmp_path / "home", config=CONFIG, env={"XDG_DATA_HOME": f"{tmp_path}/{odd}"})
    said = cli.run("install", "--dry-run", "--json")
    assert (said.code, said.error["code"]) == (ExitCode.CONFIG, "service-path")


@pytest.mark.field_report("SEC-013")
@pytest.mark.parametrize("key", ["url", "push_url", "api_url"])
def test_an_address_with_a_password_is_refused_before_git_could_be_given_it(tmp_path: Path, key: str) -> None:
    address = f"https://bot:{PASSWORD}@forge.example/o/r.git"
    repo = {"name": "far", "url": "https://forge.example/o/r.git", key: address}
    lines = "\n".join(f"{name} = {json.dumps(value)}" for name, value in repo.items())
    said = Cli(tmp_path / "home", config=f"{CONFIG}[[repo]]\n{lines}\n").run("config", "check")
    assert said.code == ExitCode.CONFIG
    assert f"repo[far].{key}: " in said.err
    assert "not 'https://***@forge.example/o/r.git'" in said.err
    assert PASSWORD not in said.out + said.err


@pytest.mark.field_report("SEC-013")
def test_none_of_our_processes_and_of_their_children_leaves_a_core_file() -> None:
    done = subprocess.run(
        [sys.executable, "-P", "-c", LIMITS],
        env={"PATH": os.defpath, "PYTHONPATH": os.pathsep.join(sys.path)},
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout.split("\n")[:2] == ["(0, 0)", "(0, 0)"]
