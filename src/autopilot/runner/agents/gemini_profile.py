"""What Gemini CLI may do unattended: its settings and a policy above all others, as files of ours.

Must not depend on anything in a worktree. Source: measured with 0.61.0, docs/decisions/0029.
"""

from __future__ import annotations

import json
import os
import shlex
from typing import TYPE_CHECKING, Any

from autopilot.config.foreign_file import UnreadableError, read_plain

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

MODE = "auto_edit"
NOBODY = "none"
"""A name that no extension and no server bears: an empty list would stand for all of them."""

_FILE_TOOLS = (
    *("glob", "grep_search", "list_directory", "read_file", "replace", "write_file", "write_todos"),
)
HOOK_TIMEOUT_MS = 86_400_000
"""A late hook lets the call run, so none is ever late: the guard's client has a deadline of its own."""

_THEIRS, _THEIR_VARIABLES = ".gemini/settings.json", ".gemini/.env"
_MAX_THEIRS_BYTES = 1024 * 1024
_HARMLESS = frozenset({"$schema", "context", "ui"})
_SHELL = "run_shell_command"
# The sandbox holds against them too; this says so at once.
_NEVER = (
    *("git push", "git remote", "git config", "git clone", "gh", "glab", "ssh", "sudo", "npm publish"),
    *("cargo publish", "twine", "docker", "podman"),
)


def settings_text(guard: Sequence[str] = (), hook: str = "") -> str:
    """Give the settings of its home. Those of the machine count only where all above them is root's.

    Args:
        guard: the command that is asked before each use of a tool; empty = there is none.
        hook: a name for it that nobody can know: the repository's settings may switch off a hook by its name.
    """
    settings: dict[str, Any] = {
        "advanced": {"ignoreLocalEnv": True},
        "general": {
            "checkpointing": {"enabled": False},
            "enableAutoUpdate": False,
            "enableAutoUpdateNotification": False,
        },
        "hooksConfig": {"enabled": bool(guard)},
        "ide": {"enabled": False},
        "mcp": {"allowed": [NOBODY]},
        "privacy": {"usageStatisticsEnabled": False},
        "security": {
            # An untrusted folder is worked in by nobody who may not be asked; what trust would load is off.
            "folderTrust": {"enabled": False},
            "auth": {"enforcedType": "gemini-api-key", "selectedType": "gemini-api-key"},
            "enablePermanentToolApproval": False,
        },
        "skills": {"enabled": False},
        "telemetry": {"enabled": False},
        "tools": {
            "callCommand": "",
            "discoveryCommand": "",
            # Ours stands around it, and a second one cannot start inside.
            "sandbox": False,
            "shell": {"enableInteractiveShell": False},
        },
    }
    if guard:
        settings["hooks"] = _hooks(guard, hook)
    return json.dumps(settings, indent=2, sort_keys=True) + "\n"


def configured_by(worktree: Path) -> str | None:
    """Name the repository's file that outranks our settings; None: there is none.

    It could name hooks beside ours, servers, and another address of the model. What cannot be read as plain
    JSON does so too.
    """
    variables = worktree / _THEIR_VARIABLES
    if os.path.lexists(variables):
        return _THEIR_VARIABLES
    path = worktree / _THEIRS
    try:
        theirs = json.loads(read_plain(path, max_bytes=_MAX_THEIRS_BYTES))
    except UnreadableError:
        return _THEIRS if os.path.lexists(path) else None
    except (ValueError, RecursionError):
        return _THEIRS
    return None if isinstance(theirs, dict) and theirs.keys() <= _HARMLESS else _THEIRS


def _hooks(guard: Sequence[str], name: str) -> Mapping[str, Any]:
    """Ask the guard before every tool. Without words exit 2 is a yes too: every end but 0 is given some."""
    command = f"{shlex.join(guard)} || {{ echo 'the guard did not say yes' >&2; exit 2; }}"
    ask = {"type": "command", "name": name, "command": command, "timeout": HOOK_TIMEOUT_MS}
    return {"BeforeTool": [{"matcher": ".*", "hooks": [ask]}]}


def policy_text(*, has_shell: bool) -> str:
    """Give the rules that no others outrank: what is not named is denied."""
    rules = [_rule(_FILE_TOOLS, "allow", 900)]
    if has_shell:
        rules += [
            _rule((_SHELL,), "allow", 900, "allowRedirection = true"),
            _rule((_SHELL,), "deny", 950, f"commandPrefix = {json.dumps(list(_NEVER))}"),
        ]
    return "\n".join((*rules, _rule(("*",), "deny", 1)))


def _rule(tools: Sequence[str], decision: str, priority: int, *more: str) -> str:
    name = json.dumps(tools[0] if len(tools) == 1 else list(tools))
    lines = (
        "[[rule]]",
        f"toolName = {name}",
        f'decision = "{decision}"',
        f"priority = {priority}",
        *more,
        "",
    )
    return "\n".join(lines)
