"""What other clients call the tools and inputs that the guard knows by the names of Claude Code.

Must not judge. A name that stands here means the same in every client; one that does not stays as it is,
and is refused where the guard knows no such tool.
Source: the declarations that Gemini CLI 0.61.0, opencode 1.18.33 and
Copilot CLI 1.0.102 sent to their models.
"""

from __future__ import annotations

from types import MappingProxyType
from typing import TYPE_CHECKING

from autopilot.runner.guard.verdict import Refused

if TYPE_CHECKING:
    from collections.abc import Mapping

_FOLDER: Mapping[str, str] = MappingProxyType({"dir_path": "path"})
_FILE: Mapping[str, str] = MappingProxyType({"filePath": "file_path"})
_TEXTS: Mapping[str, str] = MappingProxyType({"old_str": "old_string", "new_str": "new_string"})
_TOOLS: Mapping[str, tuple[str, Mapping[str, str]]] = MappingProxyType(
    {
        "run_shell_command": ("Bash", {"dir_path": "workdir", "is_background": "run_in_background"}),
        "write_file": ("Write", {}),
        "replace": ("Edit", {}),
        "read_file": ("Read", {"start_line": "offset", "end_line": "limit"}),
        "list_directory": ("LS", _FOLDER),
        "glob": ("Glob", {**_FOLDER, "paths": "path"}),
        "grep_search": ("Grep", {**_FOLDER, "include_pattern": "glob"}),
        "write_todos": ("TodoWrite", {}),
        "bash": ("Bash", {"detach": "run_in_background"}),
        "write": ("Write", _FILE),
        "edit": ("Edit", {**_FILE, "oldString": "old_string", "newString": "new_string", **_TEXTS}),
        "create": ("Write", {}),
        "view": ("Read", {"view_range": "limit"}),
        "read": ("Read", _FILE),
        "grep": ("Grep", {"include": "glob", "paths": "path"}),
        "apply_patch": ("apply_patch", {"patchText": "patch"}),
        "todowrite": ("TodoWrite", {}),
    }
)


def translated(tool: str, given: Mapping[str, object]) -> tuple[str, Mapping[str, object]]:
    """Give a tool and its inputs by our names.

    Raises:
        Refused: an input came by its own name and by ours: which one the client goes by is not known.
    """
    if tool not in _TOOLS:
        return tool, given
    ours, names = _TOOLS[tool]
    renamed = {names.get(name, name): value for name, value in given.items()}
    if len(renamed) < len(given):
        raise Refused("input", f"{tool} came with the same input by two names")
    if tool == "bash" and renamed.get("mode", "sync") != "sync":
        raise Refused("background", "nothing runs in the background; run it in mode sync")
    return ours, renamed
