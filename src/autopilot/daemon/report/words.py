"""Leaves out of log and journals what was said in words: by tickets, agents, repositories and forges.

By a list of what may stay, so that a fact which is new tomorrow stays out. Must not look for secrets:
`masking.py` does, in what is left.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from autopilot.schemas.events import Event

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

# Facts whose texts are single words of ours, ids or names: never a sentence, a branch or an address.
_NAMES = frozenset(
    (
        *("ts", "level", "event", "part", "agent", "kind", "by", "check", "code", "door", "ended"),
        *("failure_class", "from_state", "to_state", "state", "scope", "step", "trigger", "outcome", "phase"),
        *("key", "run", "of", "ticket", "publication", "id", "head", "base_sha", "job", "hold", "line"),
        *("from_schema", "to_schema", "sandbox", "whose", "window", "tool", "repo", "path", "file"),
    )
)
_WORD = re.compile(r"[\w.:/~+@$-]{1,160}")
# Events about the machine and the program: their sentences are ours or the system's, of no ticket.
_OF_THE_MACHINE = frozenset(
    {
        Event.AWAKE_UNAVAILABLE,
        Event.BACKUP_FAILED,
        Event.BREAKER_OPENED,
        Event.CHECKUP_FAILED,
        Event.CLOCK_SET,
        Event.DAEMON_FAILED,
        Event.DAEMON_GIVEN_UP,
        Event.DOOR_BROKEN,
        Event.GC_POSTPONED,
        Event.HOLD_STARTED,
        Event.LEASE_POSTPONED,
        Event.LOCK_INHERITED,
        Event.QUEUE_STALLED,
        Event.SCHEDULE_MISSED,
        Event.STATE_UNSAVED,
        Event.STORE_WAL_GREW,
        Event.SWEEP_POSTPONED,
        Event.WATCH_POSTPONED,
    }
)
_SENTENCES = frozenset({"cause", "detail", "error", "hint", "reason", "why"})
_ABOUT_A_TICKET = "ticket:"
_KIND = re.compile(r"[A-Za-z_][\w.]*")
_CODE = re.compile(r"(\[[a-z][a-z0-9-]*\])(?: → .*)?['\"]\)$", re.DOTALL)  # as our own errors write it
_FRAME = re.compile(r'  File "[^"\n]+", line \d+,? in \S+')
_HEADS = re.compile(
    r"Traceback \(most recent call last\):|(Current thread|Thread) 0x[0-9a-f]+[^:]*:"
    r"|During handling of the above exception, another exception occurred:"
    r"|The above exception was the direct cause of the following exception:"
    r"|Fatal Python error: [A-Za-z ]+"
)
_RAISED = re.compile(r"([A-Za-z_][\w.]*)(?::|$)")
_FOREIGN = re.compile(r"\b([A-Z]\w*(?:Error|Exception|Warning))(?:\(|: ).*", re.DOTALL)
# What the system says of a call that failed: a number, its sentence, a path.
_OF_THE_SYSTEM = frozenset(
    (
        *("OSError", "PermissionError", "FileNotFoundError", "FileExistsError", "NotADirectoryError"),
        *("IsADirectoryError", "BlockingIOError", "ConnectionRefusedError", "ConnectionResetError"),
        *("BrokenPipeError", "TimeoutError", "ProcessLookupError"),
    )
)
_SHOUT = re.compile(r"autopilot: (debug|info|warning|error|critical) ([a-z_]+\.[a-z_]+)(?= |$)")


def bare_line(line: Mapping[str, Any]) -> dict[str, Any]:
    """Give a line of a log or journal without what others said."""
    event = line.get("event")
    is_ours = event in _OF_THE_MACHINE and not str(line.get("scope", "")).startswith(_ABOUT_A_TICKET)
    return {
        key: _fault(key, value)
        if "trace" in line and key in {"error", "trace"}
        else _fact(key, value, is_ours)
        for key, value in line.items()
    }


def bare_trace(text: str) -> str:
    """Keep of a traceback where it went through and what kind of error it was, and no message."""
    return "\n".join(_trace(text.splitlines()))


def bare_output(text: str) -> str:
    """Keep of what was written to a terminal: levels and events, frames of traces, kinds of errors."""
    return "\n".join(_output(line) for line in text.splitlines())


def bare_sentence(text: str) -> str:
    """Cut what an error that is none of ours says: it may repeat the value that it stumbled over."""
    return _FOREIGN.sub(_kind_alone, text)


def told(text: str) -> str:
    """Say how much was left out."""
    return f"<{len(text)} characters>"


def _fact(key: str, value: Any, is_ours: bool) -> Any:  # noqa: ANN401, FBT001 - a fact of any kind, and whose
    if isinstance(value, dict):
        return {str(name): _fact(str(name), inner, is_ours) for name, inner in value.items()}
    if isinstance(value, list | tuple):
        return [_fact(key, inner, is_ours) for inner in value]
    if not isinstance(value, str):
        return value
    if is_ours and key in _SENTENCES:
        return bare_sentence(value)
    return value if key in _NAMES and _WORD.fullmatch(value) else told(value)


def _fault(key: str, value: Any) -> str:  # noqa: ANN401 - as above
    if key == "trace":
        return bare_trace(str(value))
    kind, code = _KIND.match(str(value)), _CODE.search(str(value))
    return " ".join(filter(None, (kind and kind[0], code and code[1])))


def _kind_alone(found: re.Match[str]) -> str:
    return found[0] if found[1] in _OF_THE_SYSTEM else f"{found[1]} …"


def _trace(lines: list[str]) -> Iterator[str]:
    """Give frames and heads; of what follows the last frame only the kind of the error."""
    is_open = False
    for line in lines:
        if _FRAME.match(line) or _HEADS.fullmatch(line):
            is_open = True
            yield line
        elif is_open and line and line[0] not in " \t" and (raised := _RAISED.match(line)):
            is_open = False
            yield raised[1]


def _output(line: str) -> str:
    if shout := _SHOUT.match(line):
        return line if shout.end() == len(line) else f"{shout[0]} …"
    if _FRAME.match(line) or _HEADS.fullmatch(line) or not line:
        return line
    return told(line)
