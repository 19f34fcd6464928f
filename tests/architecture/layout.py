"""Rules about files and folders, as functions over paths and texts."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping
from pathlib import PurePosixPath

from tests.architecture.source import SRC, Module, imports, parse

DRAWERS = {"utils", "util", "common", "helpers", "helper", "misc", "shared"}
REGISTRY = "registry.py"
# Folders where a new file means a new kind of something, and the file that lists the kinds.
REGISTRIES: Mapping[str, str] = {
    "runner/agents": REGISTRY,
    "runner/gates": REGISTRY,
    "runner/phases": REGISTRY,
    "runner/sandbox": REGISTRY,
    "runner/stacks": REGISTRY,
    "publish/forges": REGISTRY,
    "publish/trackers": REGISTRY,
    "daemon/cli": "verbs.py",
}
README_LINES = range(12, 31)
README_HEADINGS = ("## What it must not do", "## Where to begin reading")
# Places on one person's machine. In tests such paths can be data; there only the checkout's own place counts.
PRIVATE = (r"/root/", r"/home/[a-z]", r"/Users/[a-z]", r"(?<![\w-])shared/[a-z]+/")
_TELLING_PARTS = 3  # root, folder, checkout: a shorter path, such as /src, is a word of its own


def drawers(paths: Iterable[PurePosixPath]) -> list[str]:
    """Modules or folders that are named after nothing."""
    return [str(path) for path in paths if DRAWERS & {path.stem, *path.parent.parts}]


def unregistered(
    folder: Mapping[str, str], registry: str = REGISTRY, elsewhere: Collection[str] = ()
) -> list[str]:
    """Modules of a registry folder (name to text) that nothing names.

    A module that a sibling or another folder imports is no kind but a part of one; `elsewhere` holds
    what other folders import from this one.
    """
    kinds = {name for name in folder if name != registry and name[0] != "_"}
    if not kinds:
        return []
    if registry not in folder:
        return [registry]
    named = set(elsewhere)
    for name, text in folder.items():
        used = {part for _, dotted in imports(parse(name, text)) for part in dotted.split(".")}
        words = set(re.findall(r"\w+", text)) if name == registry else used
        named |= words - {PurePosixPath(name).stem}
    return sorted(name for name in kinds if PurePosixPath(name).stem not in named)


def readme_problems(text: str) -> list[str]:
    """What a part's README lacks."""
    problems = [f"no heading {heading!r}" for heading in README_HEADINGS if heading not in text]
    lines = len(text.splitlines())
    if lines not in README_LINES:
        problems.append(f"{lines} lines; about twenty")
    purpose = text.partition("\n## ")[0].partition("\n")[2]
    if len(purpose.split()) < 15:
        problems.append("does not say what the part is for")
    return problems


def private_places(path: str, text: str, *, checkout: PurePosixPath) -> list[str]:
    """Paths of somebody's machine that a file names; `checkout` is where this one lies."""
    own = (rf"{re.escape(str(checkout))}\b",) if len(checkout.parts) >= _TELLING_PARTS else ()
    patterns = own if path.startswith("tests/") else (*PRIVATE, *own)
    return [f"{path}: {match[0]}" for pattern in patterns for match in re.finditer(pattern, text)]


def imported_from(folder: str, others: Iterable[Module]) -> set[str]:
    """Names that modules outside the folder import from it."""
    package = f"autopilot.{folder.replace('/', '.')}."
    dotted = (name for m in others if not m.is_in(f"{SRC}/{folder}/") for _, name in imports(m))
    return {name.removeprefix(package).partition(".")[0] for name in dotted if name.startswith(package)}


def forced_pushes(path: str, text: str) -> list[str]:
    """Commands in a text that push with plain force."""
    pattern = r"git push\b[^\n]*\s(--force(?!-with-lease)|-f)\b"
    return [f"{path}: {match[0]}" for match in re.finditer(pattern, text)]


def decision_problems(texts: Mapping[str, str]) -> list[str]:
    """What is wrong with the decision records (file name to text)."""
    problems = []
    for name, text in sorted(texts.items()):
        if not re.fullmatch(r"\d{4}-[a-z0-9-]+\.md", name):
            problems.append(f"{name}: is not NNNN-short-title.md")
        if sum(other.startswith(name[:5]) for other in texts) > 1:
            problems.append(f"{name}: its number is taken")
        if not text.startswith(f"# {name[:4]}. "):
            problems.append(f"{name}: begins with its number and title")
        parts = re.findall(r"^## (.+)$", text, flags=re.MULTILINE)
        if parts != ["Context", "Decision", "Consequences"] or "\nStatus: " not in text:
            problems.append(f"{name}: wants Status, Context, Decision, Consequences")
    return problems
