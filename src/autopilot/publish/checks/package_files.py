"""Files that say where packages come from, and what of each says it.

Must not be led astray by another spelling of the same address, nor take prose for a place. What cannot be
read as the format that its name promises is looked at whole.
Source: the formats' own documentation; npm follows an address whose slashes are escaped.
"""

from __future__ import annotations

import html
import json
import re
import tomllib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

_LOCKS = (
    r"package-lock\.json|npm-shrinkwrap\.json|yarn\.lock|pnpm-lock\.yaml|bun\.lockb?|deno\.lock|uv\.lock"
    r"|poetry\.lock|pdm\.lock|pixi\.lock|pylock[\w.-]*\.toml|pipfile(?:\.lock)?|conda-lock\.ya?ml"
    r"|(?:[\w.-]*requirements|constraints)[\w.-]*\.(?:txt|in)|requirements/[^/]+\.(?:txt|in)"
    r"|cargo\.lock|gemfile\.lock|gems\.locked|composer\.lock|podfile\.lock|package\.resolved|pubspec\.lock"
    r"|mix\.lock|go\.(?:mod|sum|work)"
)
_MANIFESTS = (
    r"package\.json|pyproject\.toml|cargo\.toml|composer\.json|gemfile|gems\.rb|pom\.xml|pnpm-workspace\.ya?ml"
    r"|(?:build|settings)\.gradle(?:\.kts)?|environment\.ya?ml"
)
_SETTINGS = (
    r"\.npmrc|\.pnpmrc|\.yarnrc(?:\.yml)?|bunfig\.toml|pip\.(?:conf|ini)|\.pypirc|uv\.toml|poetry\.toml"
    r"|\.cargo/config(?:\.toml)?|\.bundle/config|nuget\.config|\.mvn/settings\.xml"
    r"|(?:gradle|maven)-wrapper\.properties"
)
_FILES = re.compile(rf"(?i)(?:^|/)(?:{_LOCKS}|{_MANIFESTS}|{_SETTINGS})$")
_ESCAPED = re.compile(r"\\(?:u([0-9A-Fa-f]{4})|U([0-9A-Fa-f]{8})|x([0-9A-Fa-f]{2})|(/)|(\r?\n))")
_LAST_CHAR = 0x10FFFF
# In an npm lock `funding` holds addresses of everybody; packages come from `resolved`.
_NPM_LOCK = re.compile(r"(?i)(?:^|/)(?:package-lock|npm-shrinkwrap)\.json$")
_RESOLVED = re.compile(r'"resolved"\s*:\s*"([^"]*)"')
# A build file speaks of much besides: of a project only its repositories count, of a script whole addresses.
_POM = re.compile(r"(?i)(?:^|/)(?:pom|settings)\.xml$")
_XML = re.compile(r"(?i)\.(?:xml|config)$")
_REPOSITORY = re.compile(r"(?i)<(/?)(?:plugin)?(?:repository|mirror)(?=[\s/>])[^<>]*>?")
_GRADLE = re.compile(r"(?i)\.gradle(?:\.kts)?$")
_WHOLE = re.compile(r"(?i)(?<=[a-z0-9+.-])://[^\s\"']+")
_GO = re.compile(r"(?i)(?:^|/)go\.(?:mod|sum|work)$")
_MODULE = re.compile(r"(?m)(?:^|[\s(>])((?:[\w-]+\.)+[A-Za-z]{2,})/[\w./~-]+")
# A manifest has a home page too: of these, only what the tools take packages from.
_PARTS: tuple[tuple[re.Pattern[str], tuple[tuple[str, ...], ...]], ...] = (
    (
        re.compile(r"(?i)(?:^|/)package\.json$"),
        (
            *(("dependencies",), ("devDependencies",), ("peerDependencies",), ("optionalDependencies",)),
            *(("overrides",), ("resolutions",), ("pnpm",), ("publishConfig",), ("packageManager",)),
        ),
    ),
    (
        re.compile(r"(?i)(?:^|/)pyproject\.toml$"),
        (
            *(("project", "dependencies"), ("project", "optional-dependencies"), ("dependency-groups",)),
            *(("build-system",), ("tool", "uv"), ("tool", "pdm"), ("tool", "hatch"), ("tool", "rye")),
            *(("tool", "pixi"), ("tool", "poetry", "source"), ("tool", "poetry", "dependencies")),
            *(("tool", "poetry", "group"), ("tool", "poetry", "dev-dependencies")),
        ),
    ),
    (
        re.compile(r"(?i)(?:^|/)cargo\.toml$"),
        (
            *(("dependencies",), ("dev-dependencies",), ("build-dependencies",), ("target",), ("patch",)),
            *(("replace",), ("registries",), ("source",), ("workspace", "dependencies")),
        ),
    ),
    (re.compile(r"(?i)(?:^|/)composer\.json$"), (("repositories",),)),
)
_READERS: tuple[tuple[str, Callable[[str], Any]], ...] = ((".toml", tomllib.loads), (".json", json.loads))


def is_place_file(path: str) -> bool:
    """Tell whether a file of this name says where packages are taken from."""
    return _FILES.search(path) is not None


def speaking(path: str, data: bytes) -> str:
    """Give the parts of a file that say where packages come from, as the tools will read them."""
    raw = data.decode("utf-8", "backslashreplace")
    plain = _ESCAPED.sub(_meant, _as_xml_means(raw) if _XML.search(path) else raw)
    if _GO.search(path):
        return "\n".join(f"//{host}/" for host in _MODULE.findall(plain))
    if _POM.search(path):
        return "\n".join(_repositories(plain))
    if _GRADLE.search(path):
        return "\n".join(_WHOLE.findall(plain))
    read = next((reader for end, reader in _READERS if path.lower().endswith(end)), None)
    try:
        content = read(raw) if read is not None else None
    except (ValueError, RecursionError):
        content = None
    if content is None:
        return "\n".join(_RESOLVED.findall(plain)) if _NPM_LOCK.search(path) else plain
    if _NPM_LOCK.search(path):
        return "\n".join(_of_key(content, "resolved"))
    kept = next((parts for name, parts in _PARTS if name.search(path)), None)
    if kept is None:
        return "\n".join((plain, *_texts(content)))
    return "\n".join(text for part in kept for text in _texts(_part(content, part)))


def _as_xml_means(text: str) -> str:
    """Give a text as it is, and as it reads with its entities, and without what stands between in comments.

    Both, for what looks like a comment may stand in a text.
    """
    first, *rest = text.split("<!--")
    bare = "".join((first, *(part.partition("-->")[2] for part in rest)))
    return html.unescape(f"{text}\n{bare.replace('<![CDATA[', '').replace(']]>', '')}")


def _repositories(text: str) -> Iterator[str]:
    """Give each part from where a repository begins to the next end of one, or to that of the text."""
    start: int | None = None
    for found in _REPOSITORY.finditer(text):
        if not found[1]:
            start = found.start() if start is None else start
        elif start is not None:
            yield text[start : found.end()]
            start = None
    if start is not None:
        yield text[start:]


def _meant(match: re.Match[str]) -> str:
    code = match[1] or match[2] or match[3]
    if code is None:
        return match[4] or ""
    number = int(code, 16)
    return chr(number) if number <= _LAST_CHAR else match[0]


def _part(content: Any, names: tuple[str, ...]) -> Any:  # noqa: ANN401 - what a file holds
    for name in names:
        content = content.get(name) if isinstance(content, dict) else None
    return content


def _texts(content: Any) -> Iterator[str]:  # noqa: ANN401 - as above
    """Give every text in it, names too: deep nesting has been refused by the reader."""
    waiting = [content]
    while waiting:
        match waiting.pop():
            case str() as text:
                yield text
            case dict() as table:
                waiting += [*table, *table.values()]
            case list() as items:
                waiting += items
            case _:
                continue


def _of_key(content: Any, key: str) -> Iterator[str]:  # noqa: ANN401 - as above
    """Give the texts that stand under a key, wherever it stands."""
    waiting = [content]
    while waiting:
        match waiting.pop():
            case dict() as table:
                yield from _texts(table.get(key))
                waiting += table.values()
            case list() as items:
                waiting += items
            case _:
                continue
