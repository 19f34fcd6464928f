"""A runner, publisher or clean-up that does nothing but leave what a real one of the same house has left.

    python -I -S tests/soak/stand_in.py runner|publisher|cleaner TEMPLATES WORDS...

The standard library alone, for it is started thousands of times; `light.py` lays the templates down. What
differs from run to run is put in from the spec. Must not be told of the house but by its words.
"""

from __future__ import annotations

import json
import os
import sys
import threading
import time
from pathlib import Path
from typing import Any

LOOKED_AT_S = 0.15
"""So long a child is to be seen alive in the middle of its journal: the daemon looks ten times a second."""
RUN, TICKET, BRANCH, NUMBER = "@RUN@", "@TICKET@", "@BRANCH@", "@NUMBER@"
NUMBERS = "fence", "attempt", "number"
TIMES_FROM_MS = 10**12
JOURNAL = ".jsonl"
PIECE_BYTES = 1 << 20


class Templates:
    """What was recorded, with the words and numbers of one spec put in."""

    def __init__(self, folder: Path, spec: dict[str, Any]) -> None:
        """Take where it lies, and the spec."""
        self.folder = folder
        number = int(spec["ticket_id"].removeprefix("T-"))
        self.words = {
            RUN: spec["run_id"],
            TICKET: spec["ticket_id"],
            BRANCH: spec["branch"],
            NUMBER: str(number),
        }
        self.numbers = {"attempt": 1, **spec, "number": number}

    def lines(self, name: str) -> list[bytes]:
        """Give a journal, line by line."""
        text = self._text(name)
        return [json.dumps(self._of_now(json.loads(line))).encode() + b"\n" for line in text.splitlines()]

    def document(self, name: str) -> bytes:
        """Give a document."""
        return json.dumps(self._of_now(json.loads(self._text(name))), indent=1).encode()

    def _text(self, name: str) -> str:
        text = (self.folder / name).read_text(encoding="utf-8")
        for placeholder, word in self.words.items():
            text = text.replace(placeholder, word)
        return text

    def _of_now(self, value: Any, key: str = "") -> Any:  # noqa: ANN401 - any JSON
        if isinstance(value, dict):
            return {name: self._of_now(each, name) for name, each in value.items()}
        if isinstance(value, list):
            return [self._of_now(each) for each in value]
        if type(value) is int and key in NUMBERS:
            return self.numbers[key]
        is_moment = type(value) is int and value > TIMES_FROM_MS and (key == "ts" or key.endswith("_ms"))
        return time.time_ns() // 1_000_000 if is_moment else value


def run(templates: Path, spec_file: str) -> None:
    """Leave what a runner leaves: a worktree, the agent's output, a journal, and last of all the result."""
    spec = json.loads(Path(spec_file).read_bytes())
    left, folder = Templates(templates, spec), Path(spec["run_dir"])
    Path(spec["worktree"]).mkdir(mode=0o700, parents=True)
    tell(folder / "events.jsonl", left.lines("run/events.jsonl"), output=templates / "run" / "agent-1.log")
    put(folder / "agent-state.json", left.document("run/agent-state.json"))
    put(Path(spec["pr_request"]), left.document("request.json"))
    put(folder / "result.json", left.document("run/result.json"))


def publish(templates: Path, spec_file: str) -> None:
    """Leave what a publisher leaves: a branch, a pull request, a journal, and last of all the verdict."""
    spec = json.loads(Path(spec_file).read_bytes())
    left = Templates(templates, spec)
    put(Path(spec["forge"]["push_url"]) / "refs" / "heads" / spec["branch"], f"{spec['head']}\n".encode())
    put(Path(spec["forge"]["record_dir"]) / f"pr-{left.numbers['number']}.json", left.document("pull.json"))
    tell(Path(spec_file).with_name("publish-events.jsonl"), left.lines("publish-events.jsonl"))
    put(Path(spec["verdict"]), left.document("verdict.json"))


def clean_up(state: str) -> None:
    """Remove the worktrees of tickets whose publisher has spoken."""
    spoken = {file.name.partition("-a")[0] for file in Path(state, "pr-requests").glob("*.verdict.json")}
    for worktree in Path(state, "worktrees").iterdir():
        if worktree.name in spoken:
            worktree.rmdir()


def tell(journal: Path, lines: list[bytes], *, output: Path | None = None) -> None:
    """Write a journal, the output and a rest in the middle of it."""
    with journal.open("ab", buffering=0) as file:
        for number, line in enumerate(lines):
            file.write(line)
            if number == len(lines) // 2:
                if output is not None:
                    copy(output, journal.with_name(output.name))
                threading.Event().wait(LOOKED_AT_S)  # the work of which it has told so far


def copy(source: Path, target: Path) -> None:
    """Write the output as an agent does, in pieces."""
    with source.open("rb") as file, target.open("wb") as out:
        while piece := file.read(PIECE_BYTES):
            out.write(piece)


def put(path: Path, data: bytes) -> None:
    """Put a file in place; who reads it sees all of it or nothing."""
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    part = path.with_name(f".{path.name}.part")
    part.write_bytes(data)
    os.replace(part, path)  # noqa: PTH105 - as above


def main(role: str, templates: str, *words: str) -> None:
    """Be who we are told to be."""
    if role == "runner":
        run(Path(templates), words[1])
    elif role == "publisher":
        publish(Path(templates), words[0])
    else:
        clean_up(words[1])


if __name__ == "__main__":
    main(*sys.argv[1:])
