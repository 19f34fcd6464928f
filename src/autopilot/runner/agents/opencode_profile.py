"""What opencode may do unattended: its configuration and the plugin that asks the guard, as files of ours.

Must not depend on anything in a worktree. Source: measured with 1.18.33, docs/decisions/0172.
"""

from __future__ import annotations

import json
import os
from types import MappingProxyType
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

_THEIRS = (".opencode", "opencode.json", "opencode.jsonc")
_FILE_TOOLS = ("edit", "glob", "grep", "read", "todowrite")
_SHELL = "bash"
QUIET: Mapping[str, str] = MappingProxyType(
    {
        # Nothing of the repository is heeded: no settings, agents, commands or servers. Its plugins are
        # loaded all the same, hence `configured_by`.
        "OPENCODE_DISABLE_PROJECT_CONFIG": "1",
        "OPENCODE_DISABLE_CLAUDE_CODE": "1",
        "OPENCODE_DISABLE_EXTERNAL_SKILLS": "1",
        "OPENCODE_DISABLE_AUTOUPDATE": "1",
        "OPENCODE_DISABLE_DEFAULT_PLUGINS": "1",
        "OPENCODE_DISABLE_LSP_DOWNLOAD": "1",
        "OPENCODE_DISABLE_MODELS_FETCH": "1",
        "OPENCODE_DISABLE_SHARE": "1",
        # The guard has read a command as bash does.
        "SHELL": "/bin/bash",
    }
)
_PLUGIN = """\
import { spawnSync } from "node:child_process";

const ASK = %(ask)s;

export const Guard = async ({ directory }) => ({
  // The configuration denies everything: without this plugin there is no tool.
  config: async (config) => {
    config.permission = %(allowed)s;
  },
  "tool.execute.before": async (use, given) => {
    const event = JSON.stringify({
      hook_event_name: "PreToolUse",
      tool_name: use.tool,
      tool_input: given.args,
      cwd: directory,
      tool_use_id: use.callID,
    });
    const asked = spawnSync(ASK[0], ASK.slice(1), { input: event, encoding: "utf8" });
    if (asked.status !== 0) throw new Error(%(refused)s + (asked.stderr || "it gave no answer"));
  },
});
"""
_LIBRARY = '{"dependencies": {"@opencode-ai/plugin": "*"}}'
NO_LIBRARY: Mapping[str, str] = MappingProxyType(
    {
        "package.json": _LIBRARY,
        "package-lock.json": f'{{"lockfileVersion": 3, "packages": {{"": {_LIBRARY}}}}}',
    }
)
"""Files in the client's folder by which it holds a library for plugins to be there, and does not fetch it."""

REFUSED = "the guard: "
"""How the error of a tool begins that the guard did not allow."""


def config_text(*, model: str, service: str, key_variable: str, plugin: str) -> str:
    """Give the configuration of one run.

    Args:
        model: `provider/name`.
        service: the base address of that provider's API.
        key_variable: the variable of its key.
        plugin: the file of the plugin that asks the guard.
    """
    provider = model.partition("/")[0]
    options = {"baseURL": service, "apiKey": f"{{env:{key_variable}}}"}
    config = {
        "autoupdate": False,
        "enabled_providers": [provider],
        "model": model,
        "permission": {"*": "deny"},
        "plugin": [f"file://{plugin}"],
        "provider": {provider: {"options": options}},
        "share": "disabled",
        "small_model": model,
        "snapshot": False,
    }
    return json.dumps(config, indent=2) + "\n"


def configured_by(worktree: Path) -> str | None:
    """Name what opencode would load from the repository whatever it is told; None: there is nothing.

    What a plugin does while it is loaded, as to change how ours asks, is done before anybody is asked.
    """
    return next((name for name in _THEIRS if os.path.lexists(worktree / name)), None)


def plugin_text(guard: Sequence[str], *, has_shell: bool) -> str:
    """Give the plugin. Whatever is not a clean yes of the guard's is an error, and so the tool is not run.

    Args:
        guard: the command that is asked.
        has_shell: whether a shell is among the tools that it gives back.
    """
    tools = (*((_SHELL,) if has_shell else ()), *_FILE_TOOLS)
    given = {
        "ask": list(guard),
        "allowed": {"*": "deny", **dict.fromkeys(tools, "allow")},
        "refused": REFUSED,
    }
    return _PLUGIN % {name: json.dumps(value) for name, value in given.items()}
