"""Of what log and journals say, numbers, ids and our own words stay; what others said is left out."""

from __future__ import annotations

import traceback

import pytest

from autopilot.daemon.report.words import bare_line, bare_output, bare_sentence, bare_trace
from autopilot.schemas.events import Event

TITLE = "Rename the billing secret of ACME"


def test_numbers_ids_and_names_of_states_stay() -> None:
    line = {
        "ts": 1_790_000_000_000,
        "level": "info",
        "event": "ticket.moved",
        "part": "daemon",
        "ticket": "T-3",
        "from_state": "queued",
        "to_state": "running",
        "run": "T-3-1-abc",
        "cost_micro_usd": 120,
        "known": True,
        "rate": 1.5,
        "nothing": None,
    }
    assert bare_line(line) == line


@pytest.mark.parametrize(
    ("event", "key"),
    [
        ("agent.spoke", "text"),
        ("agent.asked", "question"),
        ("ticket.parked", "reason"),
        ("ticket.faulted", "error"),
        ("guard.refused", "reason"),
        ("worktree.created", "branch"),
        ("publish.pr_opened", "url"),
        ("commit.made", "anything_new"),
        ("not.known_yet", "cause"),
    ],
)
def test_what_others_said_is_left_out_with_its_length(event: str, key: str) -> None:
    assert bare_line({"event": event, key: TITLE}) == {"event": event, key: f"<{len(TITLE)} characters>"}


def test_lists_and_tables_are_gone_through_in_the_same_way() -> None:
    line = {"event": "config.restored", "files": ["a secret plan.txt"], "facts": {"note": TITLE, "size": 2}}
    assert bare_line(line) == {
        "event": "config.restored",
        "files": ["<17 characters>"],
        "facts": {"note": f"<{len(TITLE)} characters>", "size": 2},
    }


def test_a_key_of_ours_with_a_sentence_in_it_is_left_out_too() -> None:
    assert bare_line({"event": "run.started", "agent": TITLE})["agent"] == f"<{len(TITLE)} characters>"


@pytest.mark.parametrize("event", [Event.STATE_UNSAVED, Event.DAEMON_FAILED, Event.DOOR_BROKEN])
def test_what_the_machine_and_we_ourselves_say_about_a_fault_stays(event: Event) -> None:
    line = {"event": event.value, "error": "no room left to write it", "hint": "free disk space"}
    assert bare_line(line) == line


def test_the_cause_of_a_hold_stays_unless_it_is_about_one_ticket() -> None:
    cause = "3.1 GiB are free, the floor is 5"
    assert bare_line({"event": "hold.started", "scope": "host", "cause": cause})["cause"] == cause
    told = bare_line({"event": "hold.started", "scope": "ticket:T-3", "cause": f"bug: {TITLE}"})
    assert TITLE not in str(told)


def test_of_an_unexpected_error_its_kind_its_code_and_its_path_through_our_code_stay() -> None:
    try:
        raise ValueError(f"{TITLE}\n  and more of it")  # noqa: TRY301 - the trace is what is looked at
    except ValueError as error:
        trace = "".join(traceback.format_exception(error))
        line = bare_line({"event": "tick.failed", "error": repr(error), "trace": trace})
    assert line["error"] == "ValueError"
    assert "in test_of_an_unexpected_error" in line["trace"]
    assert line["trace"].endswith("ValueError")
    assert "ACME" not in str(line)
    assert "more of it" not in str(line)
    ours = bare_line({"event": "tick.failed", "error": "ConfigError('T [database-busy] → x')", "trace": ""})
    assert ours["error"] == "ConfigError [database-busy]"


def test_a_trace_keeps_its_frames_and_chains_and_loses_every_message() -> None:
    text = (
        "Traceback (most recent call last):\n"
        '  File "/x/a.py", line 3, in f\n    g()\n    ^^^\n'
        f"KeyError: '{TITLE}'\n\n"
        "During handling of the above exception, another exception occurred:\n\n"
        "Traceback (most recent call last):\n"
        '  File "/x/b.py", line 9, in <module>\n    h("x")\n'
        f"pydantic_core._pydantic_core.ValidationError: 1 validation error\ntitle\n  {TITLE} [type=x]\n"
    )
    assert bare_trace(text) == (
        "Traceback (most recent call last):\n"
        '  File "/x/a.py", line 3, in f\n'
        "KeyError\n"
        "During handling of the above exception, another exception occurred:\n"
        "Traceback (most recent call last):\n"
        '  File "/x/b.py", line 9, in <module>\n'
        "pydantic_core._pydantic_core.ValidationError"
    )


def test_of_a_terminals_output_levels_events_and_traces_stay() -> None:
    text = (
        f"autopilot: warning ticket.parked reason={TITLE} ticket=T-3\n"
        f"autopilot: {TITLE}\n"
        "Thread 0x00007f (most recent call first):\n"
        '  File "/x/a.py", line 3 in f\n'
        "Fatal Python error: Segmentation fault\n"
    )
    assert bare_output(text).splitlines() == [
        "autopilot: warning ticket.parked …",
        f"<{len(TITLE) + 11} characters>",
        "Thread 0x00007f (most recent call first):",
        '  File "/x/a.py", line 3 in f',
        "Fatal Python error: Segmentation fault",
    ]


@pytest.mark.parametrize(
    ("said", "shown"),
    [
        (f"ValidationError: title is wrong: {TITLE}", "ValidationError …"),
        (f"bug: it broke: ValueError('{TITLE}')", "bug: it broke: ValueError …"),
        ("it says OSError(28, 'No space left on device')", "it says OSError(28, 'No space left on device')"),
        ("the database is busy", "the database is busy"),
    ],
)
def test_an_error_of_somebody_else_may_repeat_a_value_and_loses_its_words(said: str, shown: str) -> None:
    assert bare_sentence(said) == shown
