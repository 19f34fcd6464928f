"""Streams that real agents wrote, with how their process ended (`streams/`)."""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

_CLAUDE: Final = Path(__file__).parent / "streams" / "claude"
NEWEST_CLAUDE: Final = "2.1.332"


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


def claude(name: str, version: str = NEWEST_CLAUDE) -> Capture:
    """One of Claude Code's streams, as in `claude("usage-limit")`; `made` is a version too."""
    key = f"{version}/{name}"
    row = _index()[key]
    stdout, stderr = _CLAUDE / f"{key}.jsonl", _CLAUDE / f"{key}.stderr"
    return Capture(
        name=key,
        what=row["what"],
        stdout=stdout.read_bytes() if stdout.exists() else b"",
        stderr=stderr.read_text("utf-8") if stderr.exists() else "",
        exit_code=row["exit_code"],
        argv=tuple(row["argv"]),
    )


def claude_names() -> list[tuple[str, str]]:
    """Every (name, version), for parametrised tests."""
    pairs = (key.split("/", 1) for key in _index())
    return [(name, version) for version, name in pairs]


def _index() -> dict[str, Any]:
    found: dict[str, Any] = json.loads((_CLAUDE / "index.json").read_text("utf-8"))
    return found
