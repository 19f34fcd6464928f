"""The guard's one question: may this tool be used like this?

Fail-closed: a tool, a form or a word that is not known is refused. Must not run, expand or open anything.
"""

from __future__ import annotations

import posixpath
from collections.abc import Callable, Mapping
from types import MappingProxyType

from autopilot.runner.guard.act import Act
from autopilot.runner.guard.addresses import check_address
from autopilot.runner.guard.contents import check_size, check_written
from autopilot.runner.guard.grammar import Word
from autopilot.runner.guard.mcp import judge_inputs
from autopilot.runner.guard.names import fold
from autopilot.runner.guard.patch import changed_files
from autopilot.runner.guard.places import Places
from autopilot.runner.guard.shell import judge_line
from autopilot.runner.guard.tool_paths import alternatives, tool_path
from autopilot.runner.guard.verdict import Decision, GuardContext, GuardRequest, Refused
from autopilot.schemas.never import tool_fault

_Judgement = Callable[[GuardRequest, GuardContext, Places], frozenset[str]]
MCP = "mcp__"
_FILES = ("file_path", "notebook_path", "path")
_FOLDERS = ("cwd", "workdir", "working_directory")


class Guard:
    """The judge of one run; its names are compiled once."""

    def __init__(self, context: GuardContext) -> None:
        self._context = context
        self._places = Places(context)

    def decide(self, request: GuardRequest) -> Decision:
        """Decide about one use of a tool; a fault is the caller's to turn into a refusal."""
        try:
            writes = _judgement(request.tool)(request, self._context, self._places)
        except Refused as refused:
            return Decision(allowed=False, code=refused.code, reason=refused.reason)
        return Decision(allowed=True, writes=writes)


def judge(request: GuardRequest, context: GuardContext) -> Decision:
    """Decide once."""
    return Guard(context).decide(request)


def _judgement(tool: str) -> _Judgement:
    if tool.startswith(MCP):
        return _mcp
    if tool not in _TOOLS:
        accepted = ", ".join(sorted(_TOOLS))
        raise Refused("tool", f"{tool!r} is not a tool of an unattended run; accepted: {accepted}")
    return _TOOLS[tool]


def _texts(request: GuardRequest, *names: str) -> tuple[str, ...]:
    """Give each of these inputs that came; which of them the tool goes by is its own affair."""
    given = tuple(request.given[name] for name in names if request.given.get(name) is not None)
    texts = tuple(value for value in given if isinstance(value, str))
    if not given or len(texts) < len(given):
        raise Refused("input", f"{request.tool} came without {names[0]}, or with one that is no text")
    return texts


def _folder(request: GuardRequest, context: GuardContext, places: Places) -> str:
    folder = places.worktree
    for given in (request.cwd, *(request.given.get(name) for name in _FOLDERS)):
        if given is None:
            continue
        if not isinstance(given, str):
            raise Refused("input", f"{request.tool} came with a folder that is no text")
        folder = posixpath.normpath(posixpath.join(folder, given))
        Act(context, places, folders=(places.worktree,), written=frozenset()).read(Word(folder))
    return folder


def _written(request: GuardRequest, places: Places) -> frozenset[str]:
    whole = (
        path if path.startswith("/") else posixpath.join(places.worktree, path) for path in request.written
    )
    return frozenset(fold(path if path.endswith("/") else posixpath.normpath(path)) for path in whole)


def _bash(request: GuardRequest, context: GuardContext, places: Places) -> frozenset[str]:
    if request.given.get("run_in_background"):
        raise Refused("background", "nothing runs in the background; run it in the foreground with a timeout")
    if request.given.get("dangerouslyDisableSandbox"):
        raise Refused("sandbox-off", "the sandbox stays on; run the command as it is")
    cwd = _folder(request, context, places)
    (line,) = _texts(request, "command")
    check_written(request)
    return judge_line(line, context, places, cwd=cwd, written=_written(request, places))


def _edit(request: GuardRequest, context: GuardContext, places: Places) -> frozenset[str]:
    folder = _folder(request, context, places)
    act = Act(context, places, folders=(folder,), written=frozenset())
    for path in (*_texts(request, *_FILES), *_files_of_edits(request)):
        act.write(tool_path(path))
    check_written(request)
    return frozenset(act.writes)


def _files_of_edits(request: GuardRequest) -> tuple[str, ...]:
    edits = request.given.get("edits")
    if edits is None:
        return ()
    if not isinstance(edits, list) or not all(isinstance(edit, dict) for edit in edits):
        raise Refused("input", f"{request.tool} came with edits that are no list of changes")
    named = (GuardRequest(request.tool, edit) for edit in edits if any(edit.get(name) for name in _FILES))
    return tuple(path for edit in named for path in _texts(edit, *_FILES))


def _patch(request: GuardRequest, context: GuardContext, places: Places) -> frozenset[str]:
    folder = _folder(request, context, places)
    act = Act(context, places, folders=(folder,), written=frozenset())
    for patch in _texts(request, "command", "input", "patch"):
        for path in changed_files(patch):
            act.write(tool_path(path))
    check_written(request)
    return frozenset(act.writes)


def _read(request: GuardRequest, context: GuardContext, places: Places) -> frozenset[str]:
    folder = _folder(request, context, places)
    act = Act(context, places, folders=(folder,), written=frozenset())
    patterns = ("pattern",) if request.tool == "Glob" else ("glob",)
    for name in (*_FILES, *patterns):
        for path in _texts(request, name) if request.given.get(name) is not None else ():
            is_pattern = name in patterns
            for each in alternatives(path) if is_pattern else (path,):
                act.read(tool_path(each, is_pattern=is_pattern))
            whole = posixpath.join(folder, path)
            check_size(request, [whole], max_bytes=context.max_read_bytes)
    return frozenset()


def _fetch(request: GuardRequest, context: GuardContext, _places: Places) -> frozenset[str]:
    (address,) = _texts(request, "url")
    check_address(address, context.hosts)
    return frozenset()


def _mcp(request: GuardRequest, context: GuardContext, places: Places) -> frozenset[str]:
    if request.tool not in context.mcp_tools:
        raise Refused("mcp-tool", f"{request.tool} is not listed in the guard's settings; work without it")
    fault = tool_fault(request.tool)
    if fault is not None:
        raise Refused("mcp-tool", f"{request.tool} {fault}")
    return judge_inputs(request, context, places)


_TOOLS: Mapping[str, _Judgement] = MappingProxyType(
    {
        "Bash": _bash,
        "Write": _edit,
        "Edit": _edit,
        "MultiEdit": _edit,
        "NotebookEdit": _edit,
        "apply_patch": _patch,
        "Read": _read,
        "NotebookRead": _read,
        "Glob": _read,
        "Grep": _read,
        "LS": _read,
        "WebFetch": _fetch,
        "TodoWrite": lambda _request, _context, _places: frozenset(),
    }
)
