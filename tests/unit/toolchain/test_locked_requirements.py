"""The three ways to install (pyproject's ranges, uv.lock, the pip files) name one set."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import urlsplit

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from tests.support.tree import ROOT

PROFILES = {"runtime": (True, None), "build": (False, "build"), "dev": (True, "dev")}
PUBLIC_HOSTS = {"pypi.org", "files.pythonhosted.org"}


class Pin(NamedTuple):
    """One line of a requirement file."""

    version: str
    hashes: frozenset[str]


def read_toml(name: str) -> dict[str, Any]:
    return tomllib.loads((ROOT / name).read_text(encoding="utf-8"))


def locked() -> dict[str, dict[str, Any]]:
    return {package["name"]: package for package in read_toml("uv.lock")["package"]}


def pins(path: Path) -> dict[str, Pin]:
    """Every `name==version` of a requirement file with its hashes."""
    found = {}
    for entry in re.split(r"\n(?=\S)", path.read_text(encoding="utf-8")):
        match = re.match(r"([a-z0-9.-]+)==([^ ;\\]+)", entry)
        if match:
            hashes = frozenset(re.findall(r"--hash=(sha256:[0-9a-f]{64})", entry))
            found[match[1]] = Pin(match[2], hashes)
    return found


def closure(packages: dict[str, dict[str, Any]], names: list[dict[str, Any]]) -> set[str]:
    """Everything reachable from these dependencies in the lock, extras included."""
    reached: set[str] = set()
    seen: set[tuple[str, str | None]] = set()
    waiting = list(names)
    while waiting:
        wanted = waiting.pop()
        for extra in (None, *wanted.get("extra", [])):
            key = (wanted["name"], extra)
            if key in seen:
                continue
            seen.add(key)
            reached.add(wanted["name"])
            package = packages[wanted["name"]]
            more = package.get("optional-dependencies", {}).get(extra, []) if extra else None
            waiting += package.get("dependencies", []) if more is None else more
    return reached


@pytest.mark.parametrize("profile", PROFILES)
def test_a_requirement_file_holds_what_the_lock_reaches(profile: str) -> None:
    packages = locked()
    ours = packages["autopilotd"]
    with_runtime, group = PROFILES[profile]
    wanted = list(ours["dependencies"]) if with_runtime else []
    wanted += ours["dev-dependencies"][group] if group else []
    found = pins(ROOT / "requirements" / f"{profile}.txt")
    assert set(found) == closure(packages, wanted)


@pytest.mark.parametrize("profile", PROFILES)
def test_a_requirement_file_pins_the_versions_and_hashes_of_the_lock(profile: str) -> None:
    packages = locked()
    for name, pin in pins(ROOT / "requirements" / f"{profile}.txt").items():
        package = packages[name]
        files = [*package.get("wheels", []), *([package["sdist"]] if "sdist" in package else [])]
        assert pin.version == package["version"]
        assert pin.hashes == {file["hash"] for file in files}
        assert pin.hashes


def test_the_lock_was_made_from_the_ranges_in_pyproject() -> None:
    project = read_toml("pyproject.toml")
    metadata = locked()["autopilotd"]["metadata"]
    declared = {Requirement(text) for text in project["project"]["dependencies"]}
    assert {requirement(entry) for entry in metadata["requires-dist"]} == declared
    dev = [text for text in project["dependency-groups"]["dev"] if isinstance(text, str)]
    dev += project["dependency-groups"]["build"]
    assert {requirement(entry) for entry in metadata["requires-dev"]["dev"]} == {
        Requirement(text) for text in dev
    }


def requirement(entry: dict[str, Any]) -> Requirement:
    """One entry of the lock's metadata as pyproject would write it."""
    extras = f"[{','.join(entry['extras'])}]" if "extras" in entry else ""
    return Requirement(f"{entry['name']}{extras}{entry.get('specifier', '')}")


def test_every_declared_package_is_locked_within_its_range() -> None:
    packages = locked()
    for text in read_toml("pyproject.toml")["project"]["dependencies"]:
        wanted = Requirement(text)
        assert wanted.specifier.contains(packages[canonicalize_name(wanted.name)]["version"])


def test_the_lock_names_no_host_but_the_public_index() -> None:
    text = (ROOT / "uv.lock").read_text(encoding="utf-8")
    hosts = {urlsplit(url).hostname for url in re.findall(r"https?://[^\"\s]+", text)}
    assert hosts == PUBLIC_HOSTS
    for name in PROFILES:
        assert "://" not in (ROOT / "requirements" / f"{name}.txt").read_text(encoding="utf-8")
