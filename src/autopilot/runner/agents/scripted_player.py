"""Plays one round of a YAML script as if it were a coding agent: edits, costs, questions and faults.

Must not import anything of ours: it is started by its file, in the worktree, as a process of its own.

A script is `rounds: [[step, …], …]`, or `attempts: [{rounds: …}, …]`; a later round or attempt than the last
plays the last. Paths are relative to the worktree. A step is an object with one of these keys:

    say: text                                   write: {path: a.py, text: "…"}      delete: a.py
    append: {path: a.py, text: "…"}             replace: {path: a.py, old: "…", new: "…"}
    move: {from: a.py, to: b.py}                commit: {message: "…", detach: true}
    run: [program, argument]                    spend: {usd: 0.02, input_tokens: 900, output_tokens: 80}
    ask: question                               wait_for_file: path
    print: a raw line                           bytes: "ff fe 0a"
    flood: {bytes: 1000000, newline: false}     spawn_grandchild: {seconds: 60, tick: path, detach: true}
    lie: "All tests pass"                       ignore_term: true
    hang: true                                  hide_cost: true  only_tokens: true
    exit: 3                                     die: SIGKILL

`ask` ends the round, unless the ticket holds its answer already; `$ANSWER` in a text is the latest answer.
"""

from __future__ import annotations

import argparse
import json
import os
import signal
import sys
import threading
from pathlib import Path
from typing import TYPE_CHECKING, Any

import yaml

if TYPE_CHECKING:
    from collections.abc import Callable

_POLL_S = 0.02
_WAIT_S = 60.0
_FLOOD_BLOCK_BYTES = 65_536
_USAGE_EXIT = 2
_WAITED_IN_VAIN_EXIT = 9
_GRANDCHILD = """
import os, sys, time
seconds, tick, detach = float(sys.argv[1]), sys.argv[2], sys.argv[3] == "1"
if detach:
    if os.fork():
        os._exit(0)
    os.setsid()
end = time.monotonic() + seconds
while time.monotonic() < end:
    if tick:
        with open(tick, "a") as file:
            file.write("x")
    time.sleep(0.05)
"""


class ScriptError(Exception):
    """The script cannot be played; the text says where."""


class Player:
    """One round: where it stands, and what it has said and spent."""

    def __init__(self, answers: list[str]) -> None:
        """Take the answers that the ticket holds, oldest first."""
        self.answers = answers
        self.asked = 0
        self.said = ""
        self.spent: dict[str, float] = {"cost_usd": 0.0, "input_tokens": 0, "output_tokens": 0}
        self.is_cost_hidden = False
        self.model = ""

    def play(self, steps: list[Any]) -> None:
        """Play every step, until one ends the round or the process.

        Raises:
            ScriptError: a step is not one that is known, or cannot be carried out.
        """
        for number, step in enumerate(steps, start=1):
            if not isinstance(step, dict) or len(step) != 1:
                raise ScriptError(f"step {number} must be an object with one key: {step!r}")
            [(name, value)] = step.items()
            action: Callable[[Any], bool | None] | None = getattr(self, f"do_{name}", None)
            if action is None:
                raise ScriptError(f"step {number}: there is no action {name!r}")
            try:
                is_over = action(value)
            except (OSError, KeyError, TypeError, ValueError) as exc:
                raise ScriptError(f"step {number} ({name}): {type(exc).__name__}: {exc}") from exc
            if is_over:
                break
        self.tell_cost()
        self.tell(type="result", ok=True, summary=self.said)

    def tell(self, **line: object) -> None:
        """Write one line of the command agent's language."""
        _write(json.dumps(line).encode() + b"\n")

    def tell_cost(self) -> None:
        """Show the totals so far."""
        if not self.is_cost_hidden:
            self.tell(type="usage", **self.spent, **({"model": self.model} if self.model else {}))

    def filled(self, text: str) -> bytes:
        """Put the latest answer into a text."""
        return text.replace("$ANSWER", self.answers[-1] if self.answers else "").encode()

    def do_say(self, text: str) -> None:
        self.said = text
        self.tell(type="message", text=text)

    def do_lie(self, text: str) -> None:
        self.do_say(text)

    def do_write(self, edit: dict[str, str]) -> None:
        path = Path(edit["path"])
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(self.filled(edit.get("text", "")))
        self.tell(type="tool", name="write")

    def do_append(self, edit: dict[str, str]) -> None:
        with Path(edit["path"]).open("ab") as file:
            file.write(self.filled(edit["text"]))
        self.tell(type="tool", name="append")

    def do_replace(self, edit: dict[str, str]) -> None:
        path, old = Path(edit["path"]), edit["old"].encode()
        content = path.read_bytes()
        if old not in content:
            if self.filled(edit["new"]) in content:
                return  # an earlier round did it already
            raise ScriptError(f"{path} does not hold {edit['old']!r}")
        path.write_bytes(content.replace(old, self.filled(edit["new"])))
        self.tell(type="tool", name="replace")

    def do_delete(self, path: str) -> None:
        Path(path).unlink(missing_ok=True)
        self.tell(type="tool", name="delete")

    def do_move(self, paths: dict[str, str]) -> None:
        Path(paths["from"]).rename(paths["to"])
        self.tell(type="tool", name="move")

    def do_run(self, argv: list[str]) -> None:
        code = _run(argv)
        self.tell(type="tool", name=argv[0], exit=code)

    def do_commit(self, commit: dict[str, Any]) -> None:
        if commit.get("detach"):
            _run(["git", "checkout", "-q", "--detach"])
        _run(["git", "add", "-A"])
        if code := _run(["git", "commit", "-q", "-m", commit["message"]]):
            raise ScriptError(f"git commit ended with {code}")

    def do_spend(self, amounts: dict[str, Any]) -> None:
        self.model = amounts.get("model", self.model)
        if "cost_usd" in self.spent:
            self.spent["cost_usd"] += amounts.get("usd", 0)
        for name in ("input_tokens", "output_tokens", "cache_read_tokens", "cache_write_tokens"):
            if name in amounts:
                self.spent[name] = self.spent.get(name, 0) + amounts[name]
        self.tell_cost()

    def do_hide_cost(self, is_hidden: bool) -> None:  # noqa: FBT001 - the script's value
        self.is_cost_hidden = is_hidden

    def do_only_tokens(self, is_without: bool) -> None:  # noqa: FBT001 - the script's value
        if is_without:
            self.spent.pop("cost_usd", None)

    def do_ask(self, question: str) -> bool:
        self.asked += 1
        if self.asked <= len(self.answers):
            return False
        self.tell(type="question", text=question)
        return True

    def do_print(self, line: str) -> None:
        _write(line.encode() + b"\n")

    def do_bytes(self, digits: str) -> None:
        _write(bytes.fromhex(digits))

    def do_flood(self, flood: dict[str, Any]) -> None:
        left = int(flood["bytes"])
        while left > 0:
            _write(b"x" * min(left, _FLOOD_BLOCK_BYTES))
            left -= _FLOOD_BLOCK_BYTES
        if flood.get("newline", True):
            _write(b"\n")

    def do_wait_for_file(self, path: str) -> None:
        waited_s = 0.0
        pause = threading.Event()
        while not Path(path).exists():
            pause.wait(_POLL_S)
            waited_s += _POLL_S
            if waited_s > _WAIT_S:
                raise SystemExit(_WAITED_IN_VAIN_EXIT)

    def do_hang(self, _value: object) -> None:
        while True:
            signal.pause()

    def do_ignore_term(self, _value: object) -> None:
        signal.signal(signal.SIGTERM, signal.SIG_IGN)

    def do_spawn_grandchild(self, child: dict[str, Any]) -> None:
        tick = str(Path(child["tick"]).absolute()) if child.get("tick") else ""
        detach = "1" if child.get("detach", True) else "0"
        argv = [sys.executable, "-P", "-c", _GRANDCHILD, str(child.get("seconds", 60)), tick, detach]
        os.spawnv(os.P_NOWAIT, argv[0], argv)  # noqa: S606 - the fault that is asked for

    def do_exit(self, code: int) -> None:
        raise SystemExit(code)

    def do_die(self, name: str) -> None:
        os.kill(os.getpid(), signal.Signals[name])


def choose(script: Any, attempt: int, round_no: int) -> list[Any]:  # noqa: ANN401 - whatever YAML gave
    """Pick the steps of this attempt and round.

    Raises:
        ScriptError: the script has not the shape that the module describes.
    """
    try:
        attempts = script.get("attempts", [script])
        rounds = attempts[min(attempt, len(attempts)) - 1]["rounds"]
        steps = rounds[min(round_no, len(rounds)) - 1]
    except (AttributeError, KeyError, IndexError, TypeError) as exc:
        raise ScriptError("it needs rounds: [[step, …], …], or attempts: [{rounds: …}, …]") from exc
    if not isinstance(steps, list):
        raise ScriptError(f"round {round_no} of attempt {attempt} is no list of steps")
    return steps


def main(argv: list[str]) -> int:
    """Play one round; exit 2 when the script is wrong."""
    parser = argparse.ArgumentParser(prog="scripted_player")
    parser.add_argument("--script", type=Path, required=True)
    parser.add_argument("--attempt", type=int, default=1)
    parser.add_argument("--round", type=int, default=1)
    parser.add_argument("--answers", type=json.loads, default=[])
    options = parser.parse_args(argv)
    try:
        script = yaml.safe_load(options.script.read_text(encoding="utf-8"))
        Player(options.answers).play(choose(script, options.attempt, options.round))
    except (OSError, yaml.YAMLError, ScriptError) as exc:
        sys.stderr.write(f"script {options.script}: {exc}\n")
        return _USAGE_EXIT
    return 0


def _write(data: bytes) -> None:
    sys.stdout.buffer.write(data)
    sys.stdout.buffer.flush()


def _run(argv: list[str]) -> int:
    return os.spawnvp(os.P_WAIT, argv[0], argv)  # noqa: S606 - an agent runs programs; this one too


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
