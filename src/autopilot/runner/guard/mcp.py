"""A tool of an MCP server that an operator listed: where its inputs lead.

What a tool does with them is not known, so a path is judged as for an edit and an address as for a fetch; a
tool that says it reads is judged as reading. Must not decide which tools are listed.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, NamedTuple

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
# What a file is to hold, or what is told about it.
_CONTENTS = frozenset(["content", "contents", "text", "body", "data", "code", "description", "title"])
_FIELDS = _PATHS | _MAYBE | _ADDRESSES | _CONTENTS | {"name", "value"}
_SCHEME = re.compile(
    r"[A-Za-z][A-Za-z0-9+.-]*:(?://|\\)|(?:file|data|javascript|blob|about|view-source):", re.IGNORECASE
)
_PATH_LIKE = re.compile(r"(?:/|~|\.{1,2}/|\\|[A-Za-z]:\\).*|[^\s]*/[^\s]*", re.DOTALL)
_OUTSIDE = re.compile(r"~/|\.\./|\\\\")
_WHOLE = re.compile(r"\s*/\S*\s*")
_HOST_LIKE = re.compile(r"\S*[.:/]\S*")
_FIELD = re.compile(r"[A-Za-z0-9_-]+")
# What a register of documentation calls a library, `/vercel/next.js`: no place where a system has folders.
_LIBRARY = re.compile(
    r"/(?!(?:etc|home|root|usr|var|tmp|proc|sys|dev|opt|mnt|media|srv|run|boot|s?bin|lib[0-9a-z]*|users|library"
    r"|system|applications|private|volumes|nix|snap|workspaces?)/)[a-z0-9_-]+/[a-z0-9_.-]*[a-z0-9_-]",
    re.IGNORECASE,
)
_MAX_DEPTH = 20
_MAX_PATH = 4096


class _Text(NamedTuple):
    """A text with the words of the nearest name above it, and with those of all that are further up."""

    text: str
    near: frozenset[str]
    above: frozenset[str]


def judge_inputs(request: GuardRequest, context: GuardContext, places: Places) -> frozenset[str]:
    """Judge all inputs of a listed tool and list the files that it may write.

    Raises:
        Refused: one leads outside, to what is protected or secret, to a host that is not listed, or holds a
            credential.
    """
    act = Act(context, places, folders=(places.worktree,), written=frozenset())
    words = _words(request.tool.rpartition("__")[2])
    reads = bool(words & _READS) and not words & _CHANGES
    for each in _texts(_Text("", frozenset(), frozenset()), request.given, 0):
        if _is_address(each):
            check_address(each.text, context.hosts)
        elif _is_path(each):
            text = each.text if each.near & _PATHS else each.text.rstrip("\r\n")
            (act.read if reads else act.write)(tool_path(text))
    check_written(request)
    return frozenset(act.writes)


def _is_address(each: _Text) -> bool:
    shown = each.text.strip()
    if each.near & _ADDRESSES or _SCHEME.match(shown):
        return True
    return bool(each.above & _ADDRESSES) and _HOST_LIKE.fullmatch(shown) is not None


def _is_path(each: _Text) -> bool:
    text, names = each.text, each.near | each.above
    if each.near & _PATHS or _OUTSIDE.match(text):
        return True
    if _WHOLE.fullmatch(text) and not ("library" in each.near and _LIBRARY.fullmatch(text)):
        return True
    if names & _MAYBE and _PATH_LIKE.fullmatch(text) and (each.near & _MAYBE or _may_name(each)):
        return True
    return bool(each.above & _PATHS) and _may_name(each)


def _may_name(each: _Text) -> bool:
    """Whether what stands somewhere below a name may be a path, and not what a file is to hold."""
    shown = each.text.strip()
    if not shown or len(shown) > _MAX_PATH or "\n" in shown:
        return False
    has_blanks = len(shown.split()) > 1
    return not has_blanks or (each.text == shown and not each.near & _CONTENTS)


def _words(name: str) -> frozenset[str]:
    return frozenset(word.lower() for word in _WORDS.findall(name))


def _texts(at: _Text, given: object, depth: int) -> Iterator[_Text]:
    """List every text, and every name that is none of a field, with the names above it."""
    if depth > _MAX_DEPTH:
        raise Refused("input", "the inputs of this tool are nested too deep to be judged")
    match given:
        case str():
            yield at._replace(text=given)
        case list() | tuple():
            for each in given:
                yield from _texts(at, each, depth + 1)
        case Mapping():
            for name, value in given.items():
                words = _words(str(name))
                is_field = _FIELD.fullmatch(str(name)) is not None
                if not (is_field and words <= _FIELDS):
                    # As if it stood in a list there: the names of files, each with what it is to hold.
                    yield _Text(str(name), at.near - _ADDRESSES, at.near | at.above)
                below = _Text("", words if is_field else frozenset(), at.near | at.above)
                yield from _texts(below, value, depth + 1)
