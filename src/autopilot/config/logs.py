"""The daemon's log: one JSON object a line, in files of bounded size; warnings also for the terminal.

The message of a line is an `Event` and nothing else; facts are keys with their unit. Must not stop the work
when a line cannot be written, and must not let a credential or a control character through.
Source: docs/decisions/0015.
"""

from __future__ import annotations

import json
import logging
import math
import sys
from contextlib import suppress
from dataclasses import dataclass
from importlib import import_module
from typing import TYPE_CHECKING, Any, Self

from autopilot.config.logfile import LogFile
from autopilot.config.paths import PRIVATE_DIR_MODE
from autopilot.config.plain import one_line, plain
from autopilot.schemas.errors import InvariantError
from autopilot.schemas.events import Event

if TYPE_CHECKING:
    from pathlib import Path

    from structlog.typing import EventDict, FilteringBoundLogger, Processor, WrappedLogger

    from autopilot.config.clock import Clock

LOG_FILE = "autopilot.jsonl"

_MIB = 1024 * 1024
_MAX_FACT_CHARS = 4000
_SHOUTED = frozenset({"warning", "error", "critical"})
_EVENTS = frozenset(Event)
_OWN_KEYS = frozenset({"ts", "level", "event", "part"})


@dataclass(frozen=True, slots=True)
class Log:
    """What a part writes to: only events, only named facts."""

    part: str

    def debug(self, event: Event, /, **facts: object) -> None:
        """Write down a detail."""
        self._write("debug", event, facts)

    def info(self, event: Event, /, **facts: object) -> None:
        """Write down that a state moved."""
        self._write("info", event, facts)

    def warning(self, event: Event, /, **facts: object) -> None:
        """Write down what will be tried again."""
        self._write("warning", event, facts)

    def error(self, event: Event, /, **facts: object) -> None:
        """Write down that a person must act."""
        self._write("error", event, facts)

    def _write(self, level: str, event: Event, facts: dict[str, object]) -> None:
        structlog: Any = sys.modules.get("structlog")  # it is there once `setup` was called
        if structlog is not None and structlog.is_configured():
            bound: FilteringBoundLogger = structlog.get_logger(self.part)
            getattr(bound, level)(event, **facts)


@dataclass(frozen=True, slots=True)
class OpenLog:
    """The log while it is open. After `close`, lines go nowhere."""

    file: LogFile | None

    def close(self) -> None:
        """Close the file."""
        _structlog().reset_defaults()
        if self.file is not None:
            self.file.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def logger(part: str) -> Log:
    """Give the log of a part. Until `setup` was called it writes nothing."""
    return Log(part)


def setup(
    folder: Path,
    *,
    clock: Clock,
    stderr: bool,
    level: str = "info",
    max_size_mib: int,
    keep_files: int,
) -> OpenLog:
    """Open the log of this process; close it, or use it as a context, before another is opened.

    Args:
        folder: where the files go; when it cannot be written, only the terminal is told.
        clock: stamps each line, UTC milliseconds.
        stderr: show warnings and errors there too.
        level: the least that is written.
        max_size_mib: size of one file before the next is begun.
        keep_files: how many files are kept.
    """
    file, structlog = _open(folder / LOG_FILE, max_size_mib * _MIB, keep_files), _structlog()
    structlog.configure(
        processors=[_checked, _stamped(clock), _cleaned, _Shout(is_on=stderr), _as_json],
        wrapper_class=structlog.make_filtering_bound_logger(logging.getLevelNamesMapping()[level.upper()]),
        logger_factory=lambda *part: _Writer(file, str(part[0]) if part else ""),
        cache_logger_on_first_use=False,
    )
    return OpenLog(file)


def _structlog() -> Any:  # noqa: ANN401 - a module
    """Import structlog, but not rich and pygments, which it takes for a terminal that a daemon has not.

    They are 4 MB for as long as the daemon lives and a tenth of its start. Source: structlog/dev.py
    """
    if "structlog" not in sys.modules:
        there = {"rich": sys.modules["rich"]} if "rich" in sys.modules else {}
        sys.modules["rich"] = None  # type: ignore[assignment]  # so that importing it fails
        try:
            import_module("structlog")
        finally:
            del sys.modules["rich"]
            sys.modules.update(there)
    return sys.modules["structlog"]


@dataclass(frozen=True, slots=True)
class _Writer:
    """The end of the chain: one line into the file. structlog calls the method named like the level."""

    file: LogFile | None
    part: str

    def msg(self, line: str) -> None:
        if self.file is not None:
            self.file.write(line)

    debug = info = warning = error = critical = msg


@dataclass(frozen=True, slots=True)
class _Shout:
    """Shows warnings and errors on the terminal as well."""

    is_on: bool

    def __call__(self, _: WrappedLogger, level: str, line: EventDict) -> EventDict:
        if self.is_on and level in _SHOUTED:
            facts = [f"{key}={one_line(str(value))}" for key, value in line.items() if key not in _OWN_KEYS]
            _tell(" ".join([level, line["event"], *facts]))
        return line


def _open(path: Path, size_bytes: int, keep_files: int) -> LogFile | None:
    try:
        path.parent.mkdir(mode=PRIVATE_DIR_MODE, parents=True, exist_ok=True)
        return LogFile(path, size_bytes=size_bytes, keep_files=keep_files, complain=_tell)
    except OSError as exc:
        _tell(f"no log can be written: {exc}")
        return None


def _checked(_: WrappedLogger, __: str, line: EventDict) -> EventDict:
    """Refuse a message that is no event: words in it would be a fact that nobody can search for."""
    if line.get("event") not in _EVENTS:
        what = f"a log line must carry an Event, not {line.get('event')!r}"
        raise InvariantError("log-event-unknown", what, hint="add it to schemas/events.py")
    return line


def _stamped(clock: Clock) -> Processor:
    def stamp(writer: WrappedLogger, level: str, line: EventDict) -> EventDict:
        event = str(line.pop("event"))
        return {"ts": clock.now_ms(), "level": level, "event": event, "part": writer.part, **line}

    return stamp


def _cleaned(_: WrappedLogger, __: str, line: EventDict) -> EventDict:
    return {key: _clean(value) for key, value in line.items()}


def _clean(value: object) -> object:
    match value:
        case float():
            return value if math.isfinite(value) else str(value)
        case bool() | int() | None:
            return value
        case dict():
            return {str(key): _clean(inner) for key, inner in value.items()}
        case list() | tuple() | set() | frozenset():
            return [_clean(inner) for inner in value]
        case bytes():
            return plain(value, max_chars=_MAX_FACT_CHARS)
        case _:
            return plain(str(value), max_chars=_MAX_FACT_CHARS)


def _as_json(_: WrappedLogger, __: str, line: EventDict) -> str:
    return json.dumps(line, ensure_ascii=False, separators=(",", ":"))


def _tell(text: str) -> None:
    """Write a line to the terminal, if there still is one."""
    with suppress(OSError, ValueError, AttributeError):
        sys.stderr.write(f"autopilot: {text}\n")
        sys.stderr.flush()
