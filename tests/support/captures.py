"""Streams that real agents wrote, with how their process ended (`streams/`)."""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

_STREAMS: Final = Path(__file__).parent / "streams"
NEWEST_CLAUDE: Final = "2.1.332"
CODEX: Final = "0.171.0"
COPILOT: Final = "1.0.102"
GEMINI: Final = "0.61.0"
OPENCODE: Final = "1.18.33"


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
    return _capture("claude", f"{version}/{name}")


def claude_names() -> list[tuple[str, str]]:
    """Every (name, version), for parametrised tests."""
    pairs = (key.split("/", 1) for key in _index("claude"))
    return [(name, version) for version, name in pairs]


def codex(name: str) -> Capture:
    """One of Codex's streams, as in `codex("usage-limit")`."""
    return _capture("codex", f"{CODEX}/{name}")


def codex_names() -> list[str]:
    """The name of each."""
    return [key.split("/", 1)[1] for key in _index("codex")]


def gemini(name: str) -> Capture:
    """One of Gemini CLI's streams, as in `gemini("deeds")`."""
    return _capture("gemini", f"{GEMINI}/{name}")


def gemini_names() -> list[str]:
    """The name of each."""
    return [key.split("/", 1)[1] for key in _index("gemini")]


def opencode(name: str) -> Capture:
    """One of opencode's streams, as in `opencode("deeds")`."""
    return _capture("opencode", f"{OPENCODE}/{name}")


def opencode_names() -> list[str]:
    """The name of each."""
    return [key.split("/", 1)[1] for key in _index("opencode")]


def copilot(name: str) -> Capture:
    """One of Copilot CLI's streams, as in `copilot("deeds")`."""
    return _capture("copilot", f"{COPILOT}/{name}")


def copilot_names() -> list[str]:
    """The name of each."""
    return [key.split("/", 1)[1] for key in _index("copilot")]


def codex_record() -> bytes:
    """The record of tokens that it kept in its home while it worked: two requests, 2,000 and 100 tokens."""
    return (_STREAMS / "codex" / CODEX / "record.jsonl").read_bytes()


def _capture(agent: str, key: str) -> Capture:
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


def _index(agent: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((_STREAMS / agent / "index.json").read_text("utf-8"))
    return found
