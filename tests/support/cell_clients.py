"""The real clients side by side: how each is configured, and what its model says to use a tool."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from autopilot.schemas.price import TokenPrice
from autopilot.schemas.run import AgentSpec
from tests.support import codex_cli, copilot_cli, gemini_cli, opencode_cli
from tests.support.model_server import ModelServer
from tests.support.scenarios import library
from tests.support.scenarios.steps import Step, ToolCall

KEY = "made-up-key-of-the-model"
PRICES = {codex_cli.MODEL: TokenPrice(input=5_000_000, output=30_000_000, cache_read=500_000, cache_write=0)}


@dataclass(frozen=True, slots=True)
class Client:
    """A real client: its key's variable, and its words for a shell command and a new file."""

    name: str
    key_variable: str
    agent: Callable[[Path, ModelServer], AgentSpec]
    shell: Callable[[str], Step]
    write: Callable[[str, str], Step]
    base_variable: str = ""
    """By which variable it is told where its model is; empty: by its arguments."""


def _claude(binary: Path, _model: ModelServer) -> AgentSpec:
    return AgentSpec(name="claude", kind="claude", argv=(str(binary),), model="claude-sonnet-4-5")


def _codex(binary: Path, model: ModelServer) -> AgentSpec:
    return AgentSpec(
        name="codex",
        kind="codex",
        argv=codex_cli.client_argv(binary, model.url),
        api=(model.url,),
        model=codex_cli.MODEL,
        prices=PRICES,
    )


def _gemini(binary: Path, _model: ModelServer) -> AgentSpec:
    return AgentSpec(name="gemini", kind="gemini", argv=(str(binary),), model=gemini_cli.MODEL)


def _gemini_shell(command: str) -> Step:
    return Step(tools=(ToolCall("run_shell_command", {"command": command, "description": "Run a command"}),))


def _gemini_write(path: str, text: str) -> Step:
    return Step(tools=(ToolCall("write_file", {"file_path": path, "content": text}),))


def _copilot(binary: Path, _model: ModelServer) -> AgentSpec:
    return AgentSpec(name="copilot", kind="copilot", argv=(str(binary),), model=copilot_cli.MODEL)


def _copilot_write(path: str, text: str) -> Step:
    return Step(tools=(ToolCall("create", {"path": path, "file_text": text}),))


def _opencode(binary: Path, model: ModelServer) -> AgentSpec:
    return AgentSpec(
        name="opencode",
        kind="opencode",
        argv=(str(binary),),
        api=(model.url,),
        model=opencode_cli.MODEL,
    )


def _opencode_shell(command: str) -> Step:
    return Step(tools=(ToolCall("bash", {"command": command, "description": "Run a command"}),))


def _opencode_write(path: str, text: str) -> Step:
    return Step(tools=(ToolCall("write", {"filePath": path, "content": text}),))


def _claude_shell(command: str) -> Step:
    return Step(tools=(ToolCall("Bash", {"command": command, "description": "Run a command"}),))


def _claude_write(path: str, text: str) -> Step:
    where = path if path.startswith("/") else f"{{cwd}}/{path}"
    return Step(tools=(ToolCall("Write", {"file_path": where, "content": text}),))


def _codex_write(path: str, text: str) -> Step:
    lines = "\n".join(f"+{line}" for line in text.splitlines())
    return library.codex_patch(f"*** Begin Patch\n*** Add File: {path}\n{lines}\n*** End Patch\n")


CLAUDE = Client(
    "claude", "ANTHROPIC_API_KEY", _claude, _claude_shell, _claude_write, base_variable="ANTHROPIC_BASE_URL"
)
CODEX = Client("codex", codex_cli.KEY_VARIABLE, _codex, library.codex_shell, _codex_write)
GEMINI = Client(
    "gemini",
    gemini_cli.KEY_VARIABLE,
    _gemini,
    _gemini_shell,
    _gemini_write,
    base_variable="GOOGLE_GEMINI_BASE_URL",
)
OPENCODE = Client("opencode", opencode_cli.KEY_VARIABLE, _opencode, _opencode_shell, _opencode_write)
COPILOT = Client(
    "copilot",
    copilot_cli.KEY_VARIABLE,
    _copilot,
    _opencode_shell,
    _copilot_write,
    base_variable="COPILOT_PROVIDER_BASE_URL",
)
