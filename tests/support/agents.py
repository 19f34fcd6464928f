"""Fake coding agents as real programs: they edit, hang, flood, escape and lie.

Each builder writes one executable script. It works in its current folder, ignores its
arguments, and ends by itself after `LIFE_S` seconds whatever a test forgets.
"""

import contextlib
import os
import signal
import sys
import textwrap
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import psutil

from tests.support.projects import Project

LIFE_S: Final = 120
MIB: Final = 1 << 20
RESULT_LINE: Final = '{"type": "usage", "cost_usd": 0.01, "input_tokens": 100, "output_tokens": 10}'
# Shell and Python at once: a path with a space cannot stand after `#!`.
_HEAD: Final = """\
#!/bin/sh
'''exec' "{python}" -IS "$0" "$@"
' '''
import os, signal, subprocess, sys
signal.alarm({life_s})
if sys.argv[1:] == ["--version"]:
    print("2.1.332 (Claude Code)")
    sys.exit()
MARK = {mark!r}
def note(text):
    with open(MARK, "a") as mark:
        mark.write(f"{{text}}\\n")
def say(text, to=1):
    data = text if isinstance(text, bytes) else text.encode()
    while data:
        data = data[os.write(to, data):]
def forever():
    while True:
        signal.pause()
def git(*words, **env):
    own = ["-c", "user.name=Agent", "-c", "user.email=agent@example.invalid"]
    return subprocess.run(["git", *own, *words], env=os.environ | env, capture_output=True)
"""


@dataclass(frozen=True, slots=True)
class Agent:
    """An executable, and the file in which it notes process ids and facts."""

    path: Path
    mark: Path
    takes_notes: bool = False
    """It writes beside itself, where no sandbox lets it."""

    def notes(self) -> list[str]:
        """The lines noted so far."""
        return self.mark.read_text().splitlines() if self.mark.exists() else []

    def noted_pids(self) -> list[int]:
        return [int(line.removeprefix("pid ")) for line in self.notes() if line.startswith("pid ")]

    def living(self) -> list[int]:
        """The noted processes that are still there and no zombies."""
        return [pid for pid in self.noted_pids() if _is_alive(pid)]

    def end_leftovers(self) -> None:
        """Kill what a failed test left behind."""
        for pid in self.living():
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)


def write_agent(folder: Path, name: str, body: str) -> Agent:
    """A script from Python text; it may use `note`, `say`, `forever` and `git`."""
    folder.mkdir(parents=True, exist_ok=True)
    path, mark = folder / name, folder / f"{name}.notes"
    head = _HEAD.format(python=sys.executable, life_s=LIFE_S, mark=str(mark))
    path.write_text(head + textwrap.dedent(body))
    path.chmod(0o755)
    return Agent(path, mark, takes_notes="note(" in body)


def mends(folder: Path, project: Project) -> Agent:
    """Mend the project's broken file, report a cost, end well."""
    return write_agent(
        folder,
        "mends",
        f"""
        with open({project.broken_path!r}, "w") as broken:
            broken.write({project.fixed_file()!r})
        say({RESULT_LINE!r} + "\\n")
        """,
    )


def does_nothing(folder: Path) -> Agent:
    """Claim success, change nothing, exit 0."""
    return write_agent(folder, "does-nothing", 'say("All tests pass now.\\n")')


def fails_silently(folder: Path) -> Agent:
    """Exit 1 without a word."""
    return write_agent(folder, "fails-silently", "sys.exit(1)")


def dies(folder: Path, by: signal.Signals = signal.SIGKILL) -> Agent:
    """Write half a file, then die of a signal."""
    return write_agent(
        folder,
        "dies",
        f"""
        open("half.txt", "w").write("half a li")
        os.kill(os.getpid(), {int(by)})
        """,
    )


def asks(folder: Path, question: str) -> Agent:
    """Ask the person one question and end well."""
    return write_agent(
        folder,
        "asks",
        f"""
        import json
        say(json.dumps({{"type": "question", "text": {question!r}}}) + "\\n")
        """,
    )


def ignores_term(folder: Path) -> Agent:
    """Ignore TERM, INT and HUP; only KILL ends it. Notes its own pid."""
    return write_agent(
        folder,
        "ignores-term",
        """
        for name in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
            signal.signal(name, signal.SIG_IGN)
        note(f"pid {os.getpid()}")
        say("started\\n")
        forever()
        """,
    )


def leaves_grandchild(folder: Path, *, holds_output: bool = False, stays: bool = False) -> Agent:
    """Double-fork a process into its own session, out of reach of a group kill.

    Args:
        folder: where the script goes.
        holds_output: the grandchild keeps standard output and error open.
        stays: the agent itself goes on as well, instead of exiting 0.
    """
    return write_agent(
        folder,
        "leaves-grandchild",
        f"""
        ready, done = os.pipe()
        if os.fork() == 0:
            os.setsid()
            if os.fork() == 0:
                signal.alarm({LIFE_S})
                signal.signal(signal.SIGTERM, signal.SIG_IGN)
                if not {holds_output}:
                    null = os.open(os.devnull, os.O_RDWR)
                    for number in (0, 1, 2):
                        os.dup2(null, number)
                note(f"pid {{os.getpid()}}")
                os.write(done, b"x")
                forever()
            os._exit(0)
        os.wait()
        os.read(ready, 1)
        say("child left behind\\n")
        if {stays}:
            note(f"pid {{os.getpid()}}")
            forever()
        """,
    )


def floods(folder: Path, *, size_bytes: int = 50 * MIB, newlines: bool = True) -> Agent:
    """Write so many bytes, in lines or as one endless line, then the result line."""
    block = (b"x" * 1023 + b"\n") if newlines else b"x" * 1024
    return write_agent(
        folder,
        "floods",
        f"""
        block = {block!r} * 64
        for _ in range({size_bytes} // len(block)):
            say(block)
        say("\\n" + {RESULT_LINE!r} + "\\n")
        """,
    )


def garbles(folder: Path) -> Agent:
    """Bytes on standard error that are no UTF-8, NULs among them; exit 1."""
    return write_agent(
        folder,
        "garbles",
        r"""
        say(b"caf\xe9 \xff\xfe\x00 \xc3( \xf0\x9f\x92\n", to=2)
        say(b"\xed\xa0\x80 lone surrogate\n", to=2)
        sys.exit(1)
        """,
    )


def halves_characters(folder: Path) -> Agent:
    """Characters cut between two writes, standard output and error by turns."""
    return write_agent(
        folder,
        "halves-characters",
        """
        for number in range(50):
            for byte in f"ünï-{number}-🚀\\n".encode():
                say(bytes([byte]), to=1)
                say(bytes([byte]), to=2)
        """,
    )


def waits_for_prompt(folder: Path) -> Agent:
    """Ask on the terminal, else on standard input; exit 4 when nobody can answer."""
    return write_agent(
        folder,
        "waits-for-prompt",
        """
        say("Overwrite 3 files? [y/N] ")
        try:
            source = open("/dev/tty", "rb", buffering=0)
            note("terminal")
        except OSError:
            source = open(0, "rb", buffering=0, closefd=False)
            note("stdin")
        answer = source.readline()
        note(f"answer {answer!r}")
        sys.exit(0 if answer.strip() == b"y" else 4)
        """,
    )


def speaks_rarely(folder: Path, *, interval_s: float = 3600.0) -> Agent:
    """One line now, then one line each interval; never ends."""
    return write_agent(
        folder,
        "speaks-rarely",
        f"""
        import select
        note(f"pid {{os.getpid()}}")
        while True:
            say("still at it\\n")
            select.select([], [], [], {interval_s})
        """,
    )


def _is_alive(pid: int) -> bool:
    try:
        return psutil.Process(pid).status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False
