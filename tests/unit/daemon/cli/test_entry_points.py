"""The three installed commands: each is the verb that its name says, and takes that verb's options."""

from __future__ import annotations

import json
import subprocess
import sys
import tomllib
from importlib import import_module

import pytest

from tests.support.tree import ROOT


@pytest.mark.parametrize(
    ("command", "verb", "option"),
    [("autopilot-on", "autopilot on", "--until"), ("autopilot-off", "autopilot off", "--now")],
)
def test_a_command_of_its_own_turns_the_night_on_and_off(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], command: str, verb: str, option: str
) -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    module, _, name = project["scripts"][command].partition(":")
    monkeypatch.setattr(sys, "argv", [command, "--help"])
    with pytest.raises(SystemExit) as ended:
        getattr(import_module(module), name)()
    assert ended.value.code == 0
    told = capsys.readouterr().out
    assert f"usage: {verb} " in told
    assert option in told


def test_whoever_asked_for_a_call_at_the_end_of_a_command_gets_it_and_all_is_written() -> None:
    main = "from autopilot.daemon.cli.main import main; main()"
    for asked, said in (("", ""), ("import atexit; atexit.register(print, 'the end'); ", "the end\n")):
        argv = [sys.executable, "-P", "-c", asked + main, "no-such-verb", "--json"]
        done = subprocess.run(argv, capture_output=True, text=True, check=False)
        assert done.returncode == 2, done.stderr
        error, _, rest = done.stdout.partition("\n}\n")
        assert json.loads(error + "}")["error"]
        assert rest == said
