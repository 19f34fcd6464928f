"""A daemon, runner or publisher that is killed at each step that nobody of its kind was killed at before.

    MORTAL_PLAN=FOLDER python -P tests/support/mortal.py daemon|runner|publisher WORDS...

A step is a moment around one thing that a process leaves behind: a log line, a line of a journal, a file put
in place, a transaction. `plan.json` in the folder says who dies (`mortality.Plan` writes it), `deaths.jsonl`
holds who died where, `steps.jsonl` every step that was reached. The kill is a real SIGKILL, with no clean-up.
A new kind of line, file or transaction is a step by itself: nothing here lists them.
"""

from __future__ import annotations

import json
import os
import re
import signal
import sys
import threading
import zlib
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, Final

from autopilot.config import atomic, journal, procinfo
from autopilot.config.heap import loading
from autopilot.config.logfile import LogFile

VARIABLE: Final = "MORTAL_PLAN"
ROLES: Final[Mapping[str, str]] = {"autopilot.runner": "runner", "autopilot.publish": "publisher"}
READY: Final = "line daemon.ready after"
_FACTS: Final = ("trigger", "phase", "status", "check", "gate", "outcome", "name", "why", "code")
_CUT: Final = frozenset({"file result.json", "file pr-requests.verdict.json"})
_OF_THE_STORE: Final = ("autopilot.daemon.store", "contextlib")
_MOST_NUMBERED: Final = 3
_PATIENCE_S: Final = 60.0


class Fate:
    """One process's fate: it counts its steps and dies at the first that the plan wants."""

    def __init__(self, folder: Path, role: str) -> None:
        """Take the plan's folder and who we are."""
        self.folder, self.role = folder, role
        seen = procinfo.look(os.getpid())
        self.me = [os.getpid(), seen.id.started_ms if seen else 0]
        self.life = len(journal.read_lines(folder / "deaths.jsonl").entries)
        """How many have died before: in each life lines are torn elsewhere."""
        self.counts: Counter[str] = Counter()
        self.lock = threading.RLock()

    def name(self, label: str) -> str:
        """Number what comes again, up to a third time; a daemon's life has no end, so its steps have none."""
        if self.role == "daemon":
            return label
        with self.lock:
            self.counts[label] += 1
            nth = self.counts[label]
        return label if nth == 1 else f"{label} #{min(nth, _MOST_NUMBERED)}"

    def meet(self, step: str, manner: str, spoil: Callable[[], object] | None = None) -> None:
        """Pass a step, or die there; `spoil` does by half what was about to be done."""
        with self.lock:
            plan = json.loads((self.folder / "plan.json").read_bytes())
            step = f"{step} {manner}"
            self._append("steps.jsonl", {"role": self.role, "me": self.me, "step": step})
            if step == READY:
                (self.folder / "daemon.pid").write_text(json.dumps(self.me))
            mine = zlib.crc32(step.encode()) % plan["stripes"] == plan["stripe"]
            is_possible = spoil is None or self.role in plan["kills"]
            is_wanted = self.role == plan["role"] and manner in plan["manners"] and mine
            is_wanted = is_wanted and re.search(plan["steps"], step) is not None
            if is_wanted and is_possible and not self._is_past(step):
                if plan["fills"]:
                    self._fill(step, plan["fills"])
                elif plan["is_asked"]:
                    self._ask_to_end(step)
                else:
                    self._die(step, plan["kills"], spoil)

    def _is_past(self, step: str) -> bool:
        entries = journal.read_lines(self.folder / "deaths.jsonl").entries
        return any((entry["role"], entry["step"]) == (self.role, step) for entry in entries)

    def _die(self, step: str, kills: list[str], spoil: Callable[[], object] | None) -> None:
        if spoil is not None:
            spoil()
        dying = {self.role: self.me}
        if "daemon" in kills and self.role != "daemon":
            self._wait(lambda: procinfo.is_alive(procinfo.ProcessId(*self._daemon())))
            dying["daemon"] = self._daemon()
        if self.role not in kills:
            del dying[self.role]
        others = [victim for victim in dying.values() if victim != self.me]
        for pid, _ in others:
            os.kill(pid, signal.SIGKILL)
        self._append("deaths.jsonl", {"role": self.role, "step": step, "killed": dying})
        if self.role in kills:
            os.kill(os.getpid(), signal.SIGKILL)
        self._wait(lambda: self._daemon() not in others)

    def _ask_to_end(self, step: str) -> None:
        """Send the daemon TERM at this very moment, and go on."""
        self._append("deaths.jsonl", {"role": self.role, "step": step, "killed": {}})
        pid, _ = self.me if self.role == "daemon" else self._daemon()
        os.kill(pid, signal.SIGTERM)

    def _fill(self, step: str, filler: str) -> None:
        """Leave no byte free on the disk of that file, at this very moment, and go on."""
        self._append("deaths.jsonl", {"role": self.role, "step": step, "killed": {}})
        handle = os.open(filler, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
        for size in (1 << 20, 1 << 12):
            with suppress(OSError):
                while True:
                    os.write(handle, bytes(size))
        os.close(handle)

    def _daemon(self) -> list[int]:
        known: list[int] = json.loads((self.folder / "daemon.pid").read_text() or "[-1, 0]")
        return known

    def _wait(self, until: Callable[[], bool]) -> None:
        """Go on once the next daemon is there, so that it too can be killed at a step of ours."""
        pause = threading.Event()
        for _ in range(round(_PATIENCE_S / 0.02)):
            if until():
                return
            pause.wait(0.02)

    def _append(self, name: str, entry: Mapping[str, object]) -> None:
        data = json.dumps(entry).encode() + b"\n"
        handle = os.open(self.folder / name, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
        os.write(handle, data)
        os.close(handle)


def torn(data: bytes, life: int) -> bytes:
    """What of these bytes is on the disk when the writer is killed: some, never all; as many by the life."""
    return data[: zlib.crc32(data, life) % max(1, len(data))]


def line_label(entry: Mapping[str, Any]) -> str:
    """Name a line by its event and by the facts that tell two of them apart."""
    facts = [str(entry[key]) for key in _FACTS if isinstance(entry.get(key), str | int)]
    return re.sub(r"\d{3,}", "N", " ".join(["line", ":".join([str(entry.get("event")), *facts])]))


def file_label(path: Path) -> str:
    """Name a file; what carries the name of a run or a day goes by its folder."""
    is_numbered = path.parent.name in {"pr-requests", "digests"}
    return f"file {path.parent.name + ''.join(path.suffixes)}" if is_numbered else f"file {path.name}"


def mortal_lines(fate: Fate) -> None:
    """Every line of a journal is a step."""
    original = journal.append_line

    def append_line(path: Path, entry: Mapping[str, Any]) -> None:
        step = fate.name(line_label(entry))
        line = json.dumps(entry, separators=(",", ":")).encode() + b"\n"
        fate.meet(step, "before")
        fate.meet(step, "torn", lambda: _add(path, torn(line, fate.life)))
        original(path, entry)
        fate.meet(step, "after")

    replace_everywhere("append_line", original, append_line)


def mortal_files(fate: Fate) -> None:
    """Every file put in place is a step."""
    original = atomic.write_atomically

    def write_atomically(path: Path, data: bytes, *, mode: int = 0o600) -> None:
        step = fate.name(file_label(path))
        part = path.with_name(f".{path.name}.killed.part")
        fate.meet(step, "before")
        fate.meet(step, "torn", lambda: _add(part, torn(data, fate.life)))
        fate.meet(step, "unnamed", lambda: _add(part, data))
        if step in _CUT:  # no kill leaves this on a sound disk; a reader must not believe it all the same
            fate.meet(step, "cut", lambda: _add(path, torn(data, fate.life)))
        original(path, data, mode=mode)
        fate.meet(step, "after")

    replace_everywhere("write_atomically", original, write_atomically)


def mortal_log(fate: Fate) -> None:
    """Every line of the daemon's log is a step."""
    original = LogFile.write

    def write(self: LogFile, line: str) -> None:
        step = fate.name(line_label(json.loads(line)))
        fate.meet(step, "before")
        fate.meet(step, "torn", lambda: _add(self._path, torn(line.encode(), fate.life)))
        original(self, line)
        fate.meet(step, "after")

    setattr(LogFile, "write", write)  # noqa: B010 - mypy refuses an assignment to a method


def mortal_transactions(fate: Fate) -> None:
    """Every transaction is a step; its name is that of the functions that asked for it."""
    from autopilot.daemon.store.engine import Store

    original = Store.write

    @contextmanager
    def write(self: Store) -> Iterator[Any]:
        step = fate.name(_asker())
        with original(self) as conn:
            yield conn
            fate.meet(step, "before")
        fate.meet(step, "after")

    setattr(Store, "write", write)  # noqa: B010 - as above


def replace_everywhere(name: str, original: object, wrapper: object) -> None:
    """Put the wrapper wherever a module of ours has the original by its name."""
    for module in [module for key, module in sys.modules.items() if key.startswith("autopilot.")]:
        if getattr(module, name, None) is original:
            setattr(module, name, wrapper)


def _asker() -> str:
    """Name the last function of the store and the first outside it that led to a transaction."""
    frame = sys._getframe(2)  # noqa: SLF001 - the one way to a caller without a traceback
    inner = ""
    while frame.f_back is not None and frame.f_globals["__name__"].startswith(_OF_THE_STORE):
        inner, frame = frame.f_code.co_name, frame.f_back
    return f"commit {frame.f_code.co_name} {inner}".strip()


def _add(path: Path, data: bytes) -> None:
    with path.open("ab") as file:
        file.write(data)


def be_daemon(fate: Fate, words: list[str]) -> int:
    """Be the daemon of the product, whose children are mortal too."""
    with loading():  # as the command does, had we not come first
        from autopilot.daemon import app, children  # noqa: F401 - what is patched must be there
        from autopilot.daemon.cli.main import run

    original = children._own_python  # noqa: SLF001 - as below
    own_code = children._own_code  # noqa: SLF001 - the one seam where children are made

    def own_python(module: str, *arguments: str) -> tuple[str, ...]:
        if module not in ROLES:
            return original(module, *arguments)
        return (sys.executable, "-P", str(Path(__file__).resolve()), ROLES[module], *arguments)

    setattr(children, "_own_python", own_python)  # noqa: B010 - as above
    setattr(children, "_own_code", lambda: {**own_code(), VARIABLE: str(fate.folder)})  # noqa: B010
    mortal_log(fate)
    mortal_transactions(fate)
    mortal_files(fate)
    return run(["daemon", *words])


def be_child(fate: Fate, words: list[str]) -> int:
    """Be a runner or a publisher of the product."""
    with loading():  # as for the daemon
        if fate.role == "runner":
            from autopilot.runner.__main__ import main
        else:
            from autopilot.publish.__main__ import main
    mortal_lines(fate)
    mortal_files(fate)
    return main(words)


def main(role: str, words: list[str]) -> int:
    """Be who we are told to be."""
    fate = Fate(Path(os.environ[VARIABLE]), role)
    return be_daemon(fate, words) if role == "daemon" else be_child(fate, words)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], sys.argv[2:]))
