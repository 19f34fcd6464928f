"""Which hosts a repository's locked packages come from, as its base commit names them.

Must read the base commit only, never a run's tree, and nothing but files at its root (and what wraps a build
tool there). Takes https alone, plain names alone, and places that hand packages out as files: no git host.
Source: docs/decisions/0143.
"""

from __future__ import annotations

import json
import re
import tomllib
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from autopilot.runner.network.names import Target, read_target

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from autopilot.runner.stacks.tree import Tree

    Reader = Callable[[str], Iterator[str]]

MAX_PLACES = 32
MAX_FILE_BYTES = 32 * 1024 * 1024

_HTTPS = "https://"
_HTTPS_PORT = 443
# How Cargo.lock names the registry that everybody uses: an address that packages do not come from.
_CRATES = "/crates.io-index"
_URL = r"https://[^\s\"'<>,;)}\]\\]+"


@dataclass(frozen=True, slots=True)
class RegistryPlace:
    """A host and port, and the file of the base commit that names it first."""

    target: Target
    file: str


def registry_places(base: Tree) -> tuple[RegistryPlace, ...]:
    """Name where the lock files and package settings of a base commit say that packages come from.

    Returns:
        At most 32 places, each once. A file that cannot be read, or is beyond 32 MiB, names none.
    """
    readers = {path: reader for path in base.blobs if (reader := _reader_of(path)) is not None}
    texts = base.read_many(sorted(readers), max_bytes=MAX_FILE_BYTES)
    found: dict[Target, str] = {}
    for path, data in sorted(texts.items()):
        for url in _urls(readers[path], data):
            if (target := _target(url)) is not None:
                found.setdefault(target, path)
    return tuple(RegistryPlace(target, file) for target, file in found.items())[:MAX_PLACES]


def _urls(reader: Reader, data: bytes) -> list[str]:
    try:
        return list(reader(data.decode("utf-8")))
    except (ValueError, RecursionError, AttributeError, LookupError, TypeError):  # no such file after all
        return []


def _target(url: str) -> Target | None:
    """Read a URL as strictly as a request is read; None where it is no plain https host."""
    if url[: len(_HTTPS)].lower() != _HTTPS:
        return None
    authority = re.split(r"[/?#]", url[len(_HTTPS) :], maxsplit=1)[0]
    target = read_target(authority, default_port=_HTTPS_PORT)
    return target if isinstance(target, Target) and not target.is_address else None


def _npm(text: str) -> Iterator[str]:
    lock = json.loads(text)
    open_tables = [lock.get("packages") or {}, lock.get("dependencies") or {}]
    while open_tables:
        for entry in open_tables.pop().values():
            if isinstance(entry, dict):
                yield str(entry.get("resolved", ""))
                open_tables.append(entry.get("dependencies") or {} if "version" in entry else {})


def _composer(text: str) -> Iterator[str]:
    lock = json.loads(text)
    for package in (*lock.get("packages", ()), *lock.get("packages-dev", ())):
        yield str((package.get("dist") or {}).get("url", ""))


def _pipfile(text: str) -> Iterator[str]:
    for source in json.loads(text)["_meta"]["sources"]:
        yield str(source.get("url", ""))


def _python_lock(text: str) -> Iterator[str]:
    """Read uv.lock, poetry.lock and pdm.lock, which are alike."""
    for package in tomllib.loads(text).get("package", ()):
        source = package.get("source") or {}
        if source.get("type") != "git":
            yield from (str(source.get(key, "")) for key in ("registry", "url"))
        files = [package.get("sdist"), *package.get("wheels", ()), *package.get("files", ())]
        yield from (str(each.get("url", "")) for each in files if each)
        yield str(package.get("url", ""))


def _cargo_lock(text: str) -> Iterator[str]:
    for package in tomllib.loads(text).get("package", ()):
        yield from _cargo_index(package.get("source", ""))


def _cargo_config(text: str) -> Iterator[str]:
    settings = tomllib.loads(text)
    tables: list[dict[str, Any]] = [*settings.get("source", {}).values()]
    for table in (*tables, *settings.get("registries", {}).values()):
        yield from _cargo_index(table.get("registry") or table.get("index") or "")


def _cargo_index(source: str) -> Iterator[str]:
    kind, _, url = source.rpartition("+")
    if kind in {"", "registry", "sparse"} and not url.split("#")[0].rstrip("/").endswith(_CRATES):
        yield url


def _gemfile(text: str) -> Iterator[str]:
    section = ""
    for line in text.splitlines():
        if line and not line.startswith(" "):
            section = line.strip()
        elif section == "GEM" and line.startswith("  remote: "):
            yield line.removeprefix("  remote: ").strip()


def _lines(pattern: str) -> Reader:
    """Read what a pattern finds; its one group is the URL."""
    compiled = re.compile(pattern, re.IGNORECASE | re.MULTILINE | re.DOTALL)
    return lambda text: iter(compiled.findall(text))


def _uncommented(reader: Reader, comment: str) -> Reader:
    compiled = re.compile(comment, re.MULTILINE | re.DOTALL)
    return lambda text: reader(compiled.sub("", text))


def _within(block: str, reader: Reader) -> Reader:
    """Read only what lies in blocks; their one group is the content."""
    compiled = re.compile(block, re.IGNORECASE | re.DOTALL)
    return lambda text: (url for content in compiled.findall(text) for url in reader(content))


def _wrapper(text: str) -> Iterator[str]:
    found = re.findall(r"(?m)^\s*(?:distributionUrl|wrapperUrl)\s*[=:]\s*(\S+)", text)
    return (url.replace("\\", "") for url in found)


_IN_XML, _IN_CODE = r"<!--.*?-->", r"/\*.*?\*/|^\s*//[^\n]*"
_GRADLE = _uncommented(
    _lines(rf"\bmaven\s*(?:\(|\{{)[^{{}}]{{0,400}}?[\"']({_URL})[\"']"),
    _IN_CODE,
)
_POM = _uncommented(
    _within(r"<(?:pluginR|r)epositories>(.*?)</(?:pluginR|r)epositories>", _lines(rf"<url>\s*({_URL})")),
    _IN_XML,
)
_NUGET = _uncommented(
    _within(
        r"<packageSources>(.*?)</packageSources>", _lines(rf"<add\b[^<>]*\bvalue\s*=\s*[\"']({_URL})[\"']")
    ),
    _IN_XML,
)
_READERS: Mapping[str, Reader] = {
    "package-lock.json": _npm,
    "npm-shrinkwrap.json": _npm,
    "yarn.lock": _lines(rf"^\s+resolved\s+\"?({_URL})"),
    "pnpm-lock.yaml": _lines(rf"\btarball:\s*['\"]?({_URL})"),
    ".npmrc": _lines(rf"^\s*(?:@[\w.~-]+:)?registry\s*=\s*({_URL})"),
    ".yarnrc.yml": _lines(rf"^\s*npmRegistryServer:\s*[\"']?({_URL})"),
    "uv.lock": _python_lock,
    "poetry.lock": _python_lock,
    "pdm.lock": _python_lock,
    "pipfile.lock": _pipfile,
    "cargo.lock": _cargo_lock,
    ".cargo/config.toml": _cargo_config,
    "gemfile.lock": _gemfile,
    "composer.lock": _composer,
    "nuget.config": _NUGET,
    "pom.xml": _POM,
    **dict.fromkeys(
        ("build.gradle", "build.gradle.kts", "settings.gradle", "settings.gradle.kts"),
        _GRADLE,
    ),
    **dict.fromkeys(
        ("gradle/wrapper/gradle-wrapper.properties", ".mvn/wrapper/maven-wrapper.properties"),
        _wrapper,
    ),
}
_REQUIREMENTS = re.compile(r"requirements[\w.-]*\.txt")
_PIP = _lines(
    rf"(?:^\s*(?:-i|-f|--index-url|--extra-index-url|--find-links)[\s=]+|^[\w.\[\]-]+\s*@\s*)({_URL})"
)


def _reader_of(path: str) -> Reader | None:
    name = path.lower()
    return _PIP if _REQUIREMENTS.fullmatch(name) else _READERS.get(name)
