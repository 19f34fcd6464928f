"""The terminal shows text, and no text drives the terminal."""

from __future__ import annotations

import json
from pathlib import Path

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
        "error": {"code": "bad-key", "what": "no key x", "hint": "y", "exit": 78}
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


@pytest.mark.parametrize(
    ("typed", "meant"), [("stauts", "status"), ("reveiw", "review"), ("brake", "breaker")]
)
def test_an_unknown_verb_is_a_usage_error_that_names_the_nearest(
    typed: str, meant: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run([typed]) == ExitCode.USAGE
    assert f"did you mean {meant}?" in capsys.readouterr().err


@pytest.mark.parametrize(
    "words",
    [
        ["show"],
        ["list", "--limit", "0"],
        ["list", "--limit", "many"],
        ["list", "--state", "asleep"],
        ["on", "--until", "7"],
        ["on", "--until", "07:00", "--for", "8h"],
        ["on", "--for", "soon"],
        ["on", "--for", "0s"],
        ["off", "--drain", "-5m"],
        ["off", "--drain", "99999999d"],
        ["off", "--drain", "5m", "--now"],
        ["digest", "--since", "yesterday"],
        ["config", "explain"],
        ["status", "--wach"],
    ],
)
def test_a_command_line_that_cannot_be_read_is_told_by_name(
    words: list[str], capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AUTOPILOT_HOME", str(tmp_path))
    assert run(words) == ExitCode.USAGE
    told = capsys.readouterr()
    assert told.out == ""
    assert told.err.startswith("autopilot: ")
    assert "→" in told.err
    named = next((word for word in words if word.startswith("--")), "")
    assert named in told.err
    assert run([*words, "--json"]) == ExitCode.USAGE
    error = json.loads(capsys.readouterr().out)["error"]
    assert error["exit"] == ExitCode.USAGE
    assert error["hint"]


def test_json_holds_no_character_that_drives_a_terminal_and_loses_none(
    capsys: pytest.CaptureFixture[str],
) -> None:
    nasty = "a\x1b[2J\x9b31m\u202e\u200b\U000e0041\x7f\udc80é世\n\t"
    console.say_json({"title": nasty})
    shown = capsys.readouterr().out
    assert all(char.isprintable() or char == "\n" for char in shown)
    assert json.loads(shown) == {"title": nasty}


def test_a_text_that_must_stay_on_its_line_does() -> None:
    assert console.line("a\nautopilot: fine\r\n\tb") == "a autopilot: fine b"
