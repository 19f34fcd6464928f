"""The terminal shows text, and no text drives the terminal."""

from __future__ import annotations

import json

import pytest

from autopilot.daemon.cli import console
from autopilot.daemon.cli.main import run
from autopilot.daemon.cli.verbs import VERBS, load
from autopilot.schemas.errors import ConfigError, ExitCode


@pytest.mark.parametrize("hidden", ["\x1b[2J", "\u202e", "\u200b", "\U000e0041", "\x07", "\x9b31m"])
def test_control_and_hidden_characters_are_shown_not_sent(
    hidden: str, capsys: pytest.CaptureFixture[str]
) -> None:
    console.say(f"before{hidden}after")
    shown = capsys.readouterr().out
    assert hidden not in shown
    assert f"\\u{{{ord(hidden[0]):x}}}" in shown


def test_a_table_in_a_pipe_is_plain_and_keeps_rows_on_their_line(capsys: pytest.CaptureFixture[str]) -> None:
    console.table([("T-1", "a\nb"), ("T-22", "c")], header=("ticket", "title"))
    assert capsys.readouterr().out == "ticket  title\nT-1     a b\nT-22    c\n"


def test_an_error_names_what_and_how_to_mend_it(capsys: pytest.CaptureFixture[str]) -> None:
    code = console.refuse(ConfigError("bad-key", "there is no key x", hint="did you mean y?"), as_json=False)
    told = capsys.readouterr()
    assert (code, told.out) == (ExitCode.CONFIG, "")
    assert told.err == "autopilot: there is no key x\n  → did you mean y?\n"


def test_an_error_is_json_for_who_asked_for_json(capsys: pytest.CaptureFixture[str]) -> None:
    console.refuse(ConfigError("bad-key", "no key x", hint="y"), as_json=True)
    assert json.loads(capsys.readouterr().out) == {
        "error": {"code": "bad-key", "what": "no key x", "hint": "y"}
    }


def test_no_verb_prints_help_and_is_a_usage_error(capsys: pytest.CaptureFixture[str]) -> None:
    assert run([]) == ExitCode.USAGE
    shown = capsys.readouterr().out
    assert all(f"    {verb}" in shown for verb in VERBS)


@pytest.mark.parametrize("verb", VERBS)
def test_every_verb_has_help_and_a_module(verb: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        run([verb, "--help"])
    assert ended.value.code == 0
    assert VERBS[verb] in " ".join(capsys.readouterr().out.split())
    assert callable(load(verb).run)


@pytest.mark.parametrize("shell", ["bash", "zsh", "tcsh"])
def test_completion_knows_every_verb(shell: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["completion", shell]) == ExitCode.OK
    script = capsys.readouterr().out
    assert all(verb in script for verb in VERBS)


def test_an_unknown_verb_is_a_usage_error() -> None:
    with pytest.raises(SystemExit) as ended:
        run(["frobnicate"])
    assert ended.value.code == ExitCode.USAGE
