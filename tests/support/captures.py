"""Streams that real agents wrote, with how their process ended (`streams/`)."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

_STREAMS: Final = Path(__file__).parent / "streams"
NEWEST: Final[Mapping[str, str]] = {
    "claude": "2.1.332",
    "codex": "0.171.0",
    "copilot": "1.0.102",
    "gemini": "0.61.0",
    "opencode": "1.18.33",
}
"""The release by which each was recorded last."""


@dataclass(frozen=True, slots=True)
class Capture:
    """One recorded run; `exit_code` is negative for a signal."""

    name: str
    what: str
    stdout: bytes
    stderr: str
    exit_code: int
    argv: tuple[str, ...]

    def events(self) -> list[Any]:
        """The lines that are JSON, decoded."""
        decoded = []
        for line in self.stdout.splitlines():
            try:
                decoded.append(json.loads(line))
            except ValueError:
                continue
        return decoded


def capture(agent: str, name: str, version: str | None = None) -> Capture:
    """One of an agent's streams, as in `capture("claude", "usage-limit")`; `made` is a version too."""
    key = f"{version or NEWEST[agent]}/{name}"
    row = _index(agent)[key]
    stdout, stderr = _STREAMS / agent / f"{key}.jsonl", _STREAMS / agent / f"{key}.stderr"
    return Capture(
        name=key,
        what=row["what"],
        stdout=stdout.read_bytes() if stdout.exists() else b"",
        stderr=stderr.read_text("utf-8") if stderr.exists() else "",
        exit_code=row["exit_code"],
        argv=tuple(row["argv"]),
    )


def names(agent: str) -> list[tuple[str, str]]:
    """Every (name, version) of an agent, for parametrised tests."""
    pairs = (key.split("/", 1) for key in _index(agent))
    return [(name, version) for version, name in pairs]


def codex_record() -> bytes:
    """The record of tokens that it kept in its home while it worked: two requests, 2,000 and 100 tokens."""
    return (_STREAMS / "codex" / NEWEST["codex"] / "record.jsonl").read_bytes()


def _index(agent: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((_STREAMS / agent / "index.json").read_text("utf-8"))
    return found
