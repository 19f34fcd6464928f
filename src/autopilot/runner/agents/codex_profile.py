"""What Codex may do unattended: its whole configuration, as a file of ours in a folder of the run.

Must not depend on anything in a worktree. Source: measured with 0.171.0, docs/decisions/0126.
"""

from __future__ import annotations

import json
import shlex
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from pathlib import Path

CODEX_KEY = "CODEX_API_KEY"
"""The variable of the key that the client prefers."""

HOOK_TIMEOUT_S = 86_400
"""A late hook lets the call run, so none is ever late: the guard's client has a deadline of its own."""

_BROKERED = "autopilot"
_OFF = (
    *("apps", "browser_use", "computer_use", "goals", "image_generation", "in_app_browser", "plugins"),
    *("remote_plugin", "shell_snapshot", "skill_mcp_dependency_install", "tool_suggest"),
    # Without a terminal a command has no standard input, which is written to without asking a hook.
    *("unified_exec_tty", "unbounded_connection_retries"),
)


def config_text(
    *,
    model: str | None,
    worktree: Path,
    guard: Sequence[str],
    is_confined: bool,
    service: str | None = None,
) -> str:
    """Give the configuration of one run.

    Args:
        model: its model; None = the client's own choice.
        worktree: where it works; nothing in it is trusted.
        guard: the command that is asked before each use of a tool; empty = there is none.
        is_confined: whether a sandbox of ours stands around it. Codex's own cannot start inside that, where
            no user namespace may be made; without ours it stays on, and closes the whole network.
        service: the address of the key broker; None = the client's own. By a name of its own, for the client
            tries the one that it knows by web sockets first.
    """
    top = [
        *([f"model = {_quoted(model)}"] if model else []),
        *([f'model_provider = "{_BROKERED}"'] if service else []),
        'approval_policy = "never"',
        f'sandbox_mode = "{"danger-full-access" if is_confined else "workspace-write"}"',
        'web_search = "disabled"',
        "allow_login_shell = false",
        "check_for_update_on_startup = false",
    ]
    tables = [
        # It would leave the mount points of its protected names behind, an empty /tmp/.git among them.
        _table("sandbox_workspace_write", ["network_access = false", "exclude_slash_tmp = true"]),
        _table("shell_environment_policy", ['inherit = "all"', "ignore_default_excludes = false"]),
        _table("features", [f"{name} = false" for name in _OFF]),
        _table("agents", ["enabled = false"]),
        _table("analytics", ["enabled = false"]),
        _table("history", ['persistence = "none"']),
        _table(f"projects.{_quoted(str(worktree))}", ['trust_level = "untrusted"']),
        *(_provider(service) if service else ()),
        *(_hooks(guard) if guard else ()),
    ]
    return "\n".join((*top, "", *tables))


def _provider(url: str) -> Iterable[str]:
    """Point it to its vendor's service at another address; the name is by what it knows what that can do."""
    lines = ['name = "OpenAI"', f"base_url = {_quoted(url)}", f'env_key = "{CODEX_KEY}"']
    yield _table(
        f"model_providers.{_BROKERED}", [*lines, 'wire_api = "responses"', "supports_websockets = false"]
    )


def _hooks(guard: Sequence[str]) -> Iterable[str]:
    """Ask the guard before every tool and at the start. Only exit 2 blocks: every other end is made one."""
    ask = ['type = "command"', f"command = {_quoted(f'{shlex.join(guard)} || exit 2')}"]
    ask.append(f"timeout = {HOOK_TIMEOUT_S}")
    yield _table("[hooks.PreToolUse]", ['matcher = ".*"'])
    yield _table("[hooks.PreToolUse.hooks]", ask)
    yield _table("[hooks.SessionStart]", [])
    yield _table("[hooks.SessionStart.hooks]", ask)


def _table(name: str, lines: Sequence[str]) -> str:
    return "\n".join((f"[{name}]", *lines, ""))


def _quoted(value: str) -> str:
    """Quote a basic string: the escapes of JSON are among those of TOML. Source: TOML 1.0, "String"."""
    return json.dumps(value, ensure_ascii=True).replace("\x7f", "\\u007f")
