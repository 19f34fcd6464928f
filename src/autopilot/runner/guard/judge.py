"""The guard's one question: may this tool be used like this?

Fail-closed: a tool, a form or a word that is not known is refused. Must not run, expand or open anything.
"""

from __future__ import annotations

import posixpath
from collections.abc import Callable, Mapping
from types import MappingProxyType

from autopilot.runner.guard.act import Act
from autopilot.runner.guard.addresses import check_address
from autopilot.runner.guard.grammar import Word
from autopilot.runner.guard.names import fold
from autopilot.runner.guard.patch import changed_files
from autopilot.runner.guard.places import Places
from autopilot.runner.guard.shell import judge_line
from autopilot.runner.guard.verdict import Decision, GuardContext, GuardRequest, Refused

_Judgement = Callable[[GuardRequest, GuardContext, Places], frozenset[str]]
MCP = "mcp__"


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


def _text(request: GuardRequest, *names: str) -> str:
    for name in names:
        value = request.given.get(name)
        if isinstance(value, str):
            return value
    raise Refused("input", f"{request.tool} came without {names[0]}")


def _folder(request: GuardRequest, context: GuardContext, places: Places) -> str:
    if request.cwd is None:
        return places.worktree
    cwd = posixpath.normpath(posixpath.join(places.worktree, request.cwd))
    Act(context, places, folders=(places.worktree,), written=frozenset()).read(Word(cwd))
    return cwd


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
    return judge_line(_text(request, "command"), context, places, cwd=cwd, written=_written(request, places))


def _edit(request: GuardRequest, context: GuardContext, places: Places) -> frozenset[str]:
    folder = _folder(request, context, places)
    act = Act(context, places, folders=(folder,), written=frozenset())
    act.write(Word(_text(request, "file_path", "notebook_path", "path")))
    return frozenset(act.writes)


def _patch(request: GuardRequest, context: GuardContext, places: Places) -> frozenset[str]:
    folder = _folder(request, context, places)
    act = Act(context, places, folders=(folder,), written=frozenset())
    for path in changed_files(_text(request, "command", "input", "patch")):
        act.write(Word(path))
    return frozenset(act.writes)


def _read(request: GuardRequest, context: GuardContext, places: Places) -> frozenset[str]:
    folder = _folder(request, context, places)
    act = Act(context, places, folders=(folder,), written=frozenset())
    names = ("file_path", "notebook_path", "path", *(("pattern",) if request.tool == "Glob" else ("glob",)))
    for name in names:
        if request.given.get(name) is not None:
            act.read(Word(_text(request, name)))
    return frozenset()


def _fetch(request: GuardRequest, context: GuardContext, _places: Places) -> frozenset[str]:
    check_address(_text(request, "url"), context.hosts)
    return frozenset()


def _mcp(request: GuardRequest, context: GuardContext, _places: Places) -> frozenset[str]:
    if request.tool not in context.mcp_tools:
        raise Refused("mcp-tool", f"{request.tool} is not listed in the guard's settings; work without it")
    return frozenset()


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
