"""A tool of an MCP server that an operator listed: where its inputs lead.

What a tool does with them is not known, so a path is judged as for an edit and an address as for a fetch; a
tool that says it reads is judged as reading. Must not decide which tools are listed.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import TYPE_CHECKING

from autopilot.runner.guard.act import Act
from autopilot.runner.guard.addresses import check_address
from autopilot.runner.guard.contents import check_written
from autopilot.runner.guard.tool_paths import tool_path
from autopilot.runner.guard.verdict import Refused

if TYPE_CHECKING:
    from collections.abc import Iterator

    from autopilot.runner.guard.places import Places
    from autopilot.runner.guard.verdict import GuardContext, GuardRequest

_WORDS = re.compile(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])|[0-9]+")
_PATHS = frozenset(
    [
        "path",
        "paths",
        "file",
        "files",
        "filename",
        "filenames",
        "filepath",
        "filepaths",
        "dir",
        "dirs",
        "directory",
        "directories",
        "folder",
        "folders",
        "cwd",
        "workdir",
        "root",
        "roots",
    ]
)
# What may be a path, or a word of any other kind: judged where it is written like a path.
_MAYBE = frozenset(
    ["source", "src", "destination", "dest", "dst", "target", "output", "input", "from", "to", "location"]
)
_ADDRESSES = frozenset(["url", "urls", "uri", "uris", "href", "link", "links", "website", "site", "endpoint"])
_READS = frozenset(
    [
        "read",
        "get",
        "list",
        "search",
        "view",
        "find",
        "show",
        "stat",
        "tree",
        "info",
        "query",
        "lookup",
        "grep",
        "glob",
        "fetch",
    ]
)
_CHANGES = frozenset(
    [
        "write",
        "edit",
        "create",
        "delete",
        "remove",
        "move",
        "copy",
        "rename",
        "update",
        "save",
        "put",
        "set",
        "append",
        "replace",
        "upload",
        "download",
        "make",
        "insert",
        "patch",
        "apply",
        "add",
    ]
)
_SCHEME = re.compile(
    r"[A-Za-z][A-Za-z0-9+.-]*:(?://|\\)|(?:file|data|javascript|blob|about|view-source):", re.IGNORECASE
)
_PATH_LIKE = re.compile(r"(?:/|~|\.{1,2}/|\\|[A-Za-z]:\\).*|[^\s]*/[^\s]*", re.DOTALL)
_OUTSIDE = re.compile(r"~/|\.\./|\\\\")
_MAX_DEPTH = 20


def judge_inputs(request: GuardRequest, context: GuardContext, places: Places) -> frozenset[str]:
    """Judge all inputs of a listed tool and list the files that it may write.

    Raises:
        Refused: one leads outside, to what is protected or secret, to a host that is not listed, or holds a
            credential.
    """
    act = Act(context, places, folders=(places.worktree,), written=frozenset())
    words = _words(request.tool.rpartition("__")[2])
    reads = bool(words & _READS) and not words & _CHANGES
    for key, text in _texts("", request.given, 0):
        names = _words(key)
        if names & _ADDRESSES or _SCHEME.match(text.strip()):
            check_address(text, context.hosts)
        elif names & _PATHS or _OUTSIDE.match(text) or (names & _MAYBE and _PATH_LIKE.fullmatch(text)):
            (act.read if reads else act.write)(tool_path(text))
    check_written(request)
    return frozenset(act.writes)


def _words(name: str) -> frozenset[str]:
    return frozenset(word.lower() for word in _WORDS.findall(name))


def _texts(key: str, given: object, depth: int) -> Iterator[tuple[str, str]]:
    """List every text with the nearest name above it."""
    if depth > _MAX_DEPTH:
        raise Refused("input", "the inputs of this tool are nested too deep to be judged")
    match given:
        case str():
            yield key, given
        case list() | tuple():
            for each in given:
                yield from _texts(key, each, depth + 1)
        case Mapping():
            for name, value in given.items():
                yield from _texts(str(name), value, depth + 1)
