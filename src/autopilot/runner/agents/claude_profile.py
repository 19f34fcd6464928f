"""What Claude Code may do unattended: its permission profile, as a settings file of ours.

Must not depend on anything in a worktree, or lean on the guard or the sandbox: it holds without them.
"""

from __future__ import annotations

import json
import shlex
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

MODE = "dontAsk"
"""Whatever is not allowed is refused; nobody is asked."""

TOOLS = (
    *("Bash", "Edit", "Glob", "Grep", "MultiEdit", "NotebookEdit", "Read", "Write"),
    *("TodoWrite", "TaskCreate", "TaskGet", "TaskList", "TaskUpdate"),
)
"""The tools that are there at all: none that fetches, schedules, or starts another agent."""

GUARDED = ("Bash", "Edit|Write|MultiEdit|NotebookEdit", "Read", "WebFetch", "mcp__.*")
HOOK_TIMEOUT_S = 10
"""Longer than the guard's own deadline, so that its reason is heard; past it the call is blocked too."""

_FILES = ("Read(./**)", "Edit(./**)")
_SHELL = (
    *("cat", "cd", "cp", "diff", "echo", "file", "find", "grep", "head", "ls", "mkdir", "mv", "pwd", "rg"),
    *("rm", "rmdir", "sed", "sort", "stat", "tail", "touch", "tree", "true", "uniq", "wc", "which"),
)
_GIT = ("add", "blame", "commit", "diff", "log", "ls-files", "mv", "restore", "rm", "show", "status")
_DENIED_COMMANDS = (
    *("git push", "git remote", "git config", "gh", "glab", "curl", "wget", "ssh", "scp", "sudo"),
)
# In the form of the file's own syntax: what configures a coding agent or git is not the agent's to edit.
_DENIED_EDITS = (".git", ".git/**", ".claude/**", ".mcp.json", ".codex/**", ".gemini/**", ".vscode/**")


def profile(
    commands: Sequence[Sequence[str]], guard: Sequence[str], tools: Sequence[str] = ()
) -> Mapping[str, Any]:
    """Give the settings of one run.

    Args:
        commands: the repository's own commands, as the operator's policy and the base commit say.
        guard: the command that is asked before each use of a tool; empty = there is none.
        tools: tools of MCP servers that the operator's settings name.
    """
    settings: dict[str, Any] = {
        "permissions": {
            "defaultMode": MODE,
            "disableBypassPermissionsMode": "disable",
            "allow": [*_FILES, *_shell_rules(commands), *tools],
            "deny": [
                *("WebFetch", "WebSearch", "Read(**/.env)"),
                *(f"Bash({command}:*)" for command in _DENIED_COMMANDS),
                *(f"Edit(./{path})" for path in _DENIED_EDITS),
            ],
        },
        "attribution": {"commit": "", "pr": ""},
        "enableAllProjectMcpServers": False,
    }
    if guard:
        settings["hooks"] = _hooks(guard)
    return settings


def profile_text(commands: Sequence[Sequence[str]], guard: Sequence[str], tools: Sequence[str] = ()) -> str:
    """Give the settings as the file that the client is pointed to."""
    return json.dumps(profile(commands, guard, tools), indent=2) + "\n"


def _shell_rules(commands: Sequence[Sequence[str]]) -> list[str]:
    own = (" ".join(argv) for argv in commands if all(_is_plain(word) for word in argv))
    words = (*_SHELL, *(f"git {word}" for word in _GIT))
    return [rule for command in dict.fromkeys((*own, *words)) for rule in _of_command(command)]


def _of_command(command: str) -> tuple[str, str]:
    """Allow a command alone and with arguments: `ls` must not allow `lsof`."""
    return f"Bash({command})", f"Bash({command}:*)"


def _is_plain(word: str) -> bool:
    return bool(word) and all(char.isalnum() or char in "-_./=:@+," for char in word)


def _hooks(guard: Sequence[str]) -> Mapping[str, Any]:
    """Ask the guard before each guarded tool, and once at the start: that shows that the file is obeyed.

    A hook that hangs, crashes or is missing lets the call run unless it says `onFailure`: "block".
    Source: measured, docs/decisions/0125.
    """
    ask = {
        "type": "command",
        "command": shlex.join(guard),
        "timeout": HOOK_TIMEOUT_S,
        "onFailure": "block",
    }
    before = [{"matcher": matcher, "hooks": [ask]} for matcher in GUARDED]
    return {"SessionStart": [{"hooks": [ask]}], "PreToolUse": before}
