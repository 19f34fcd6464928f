"""Every file lies where the house says, and the checks for it are shown to bite."""

from __future__ import annotations

import ast
import re
from pathlib import PurePosixPath

import pytest

from tests.architecture.layout import (
    REGISTRIES,
    decision_problems,
    drawers,
    forced_pushes,
    imported_from,
    private_places,
    readme_problems,
    unregistered,
)
from tests.architecture.source import PARTS, SRC, Module, parse, source_paths
from tests.support.tree import ROOT, tree_files

README = "# x: y\n\n" + "word " * 20 + "\n\n## What it must not do\n\n- x\n" * 1 + "\n" * 6
README += "## Where to begin reading\n\n1. `x.py`\n"
DECISION = "# 0001. Title\n\nStatus: accepted\n\n## Context\n\n## Decision\n\n## Consequences\n"


@pytest.mark.parametrize("part", PARTS)
def test_each_part_says_what_it_is_for_and_where_to_begin(part: str) -> None:
    assert readme_problems((ROOT / SRC / part / "README.md").read_text(encoding="utf-8")) == []


@pytest.mark.parametrize("part", PARTS)
def test_each_file_that_a_part_readme_names_exists(part: str) -> None:
    text = (ROOT / SRC / part / "README.md").read_text(encoding="utf-8")
    named = re.findall(r"`([a-z_/]+(?:\.py|\.toml|/))`", text)
    places = [ROOT / SRC / part, ROOT / SRC / "config"]
    assert [name for name in named if not any(any(place.rglob(name)) for place in places)] == []


@pytest.mark.parametrize(
    "text",
    [
        README.replace("## What it must not do", "## Rules"),
        README.replace("## Where to begin reading", "## Reading"),
        README + "line\n" * 30,
        "# x\n\nShort.\n" + README[README.index("\n## ") :],
    ],
)
def test_a_part_readme_that_lacks_something_is_refused(text: str) -> None:
    assert readme_problems(README) == []
    assert readme_problems(text)


@pytest.mark.parametrize("part", PARTS)
def test_each_part_is_typed_and_light_to_import(part: str) -> None:
    assert (ROOT / SRC / part / "py.typed").is_file()
    for name in ("__init__.py", f"{part}/__init__.py"):
        tree = ast.parse((ROOT / SRC / name).read_text(encoding="utf-8"))
        assert [node for node in tree.body if not isinstance(node, ast.Expr)] == []


def test_no_module_is_a_drawer_for_leftovers() -> None:
    paths = [PurePosixPath(name.as_posix()) for name in tree_files()]
    assert drawers(path for path in paths if path.parts[0] == "src") == []
    assert drawers([PurePosixPath("src/autopilot/config/utils.py")])
    assert drawers([PurePosixPath("src/autopilot/helpers/x.py")])
    assert drawers([PurePosixPath("src/autopilot/config/commonly.py")]) == []


@pytest.mark.parametrize("folder", REGISTRIES)
def test_every_kind_has_its_line_in_the_registry(folder: str, checkout: list[Module]) -> None:
    texts = {path.name: (ROOT / path).read_text(encoding="utf-8") for path in source_paths(folder)}
    elsewhere = imported_from(folder, [module for module in checkout if module.is_in("src/")])
    assert unregistered(texts, REGISTRIES[folder], elsewhere) == []


@pytest.mark.parametrize(
    ("folder", "missing"),
    [
        ({"claude.py": ""}, ["registry.py"]),
        ({"claude.py": "", "registry.py": ""}, ["claude.py"]),
        ({"claude.py": "", "registry.py": "from autopilot.runner.agents import claude"}, []),
        ({"claude.py": "", "registry.py": "KINDS = {'claude': 'autopilot.runner.agents.claude'}"}, []),
        (
            {"claude.py": "from a.stream import parse", "stream.py": "", "registry.py": "import a.claude"},
            [],
        ),
        ({"__init__.py": ""}, []),
    ],
)
def test_an_unregistered_kind_is_found(folder: dict[str, str], missing: list[str]) -> None:
    assert unregistered(folder) == missing


def test_a_part_of_a_kind_is_known_by_who_imports_it() -> None:
    text = "from autopilot.runner.stacks.junit import parse"
    gate = parse("src/autopilot/runner/gates/evidence.py", text)
    stack = parse("src/autopilot/runner/stacks/python.py", text)
    assert imported_from("runner/stacks", [gate]) == {"junit"}
    assert imported_from("runner/stacks", [stack]) == set()
    assert unregistered({"junit.py": "", "registry.py": ""}, elsewhere={"junit"}) == []


def test_what_the_daemon_takes_from_the_runner_is_named_in_the_runners_readme(checkout: list[Module]) -> None:
    taken = imported_from("runner", [module for module in checkout if module.is_in(f"{SRC}/daemon/")])
    text = (ROOT / SRC / "runner" / "README.md").read_text(encoding="utf-8")
    (named,) = re.findall(r"^The daemon may import ([^.]+)\.", text, re.MULTILINE)
    assert set(re.findall(r"`([a-z_]+)/?`", named)) == taken


def test_no_file_names_a_place_on_somebodys_machine() -> None:
    found = []
    for path in tree_files():
        text = (ROOT / path).read_bytes().decode("utf-8", errors="replace")
        if path.as_posix() != "tests/architecture/layout.py":
            found += private_places(path.as_posix(), text, checkout=PurePosixPath(ROOT))
    assert found == []


@pytest.mark.parametrize(
    ("path", "text"),
    [
        ("docs/x.md", "look into /" + "root/x"),
        ("src/autopilot/config/x.py", "# /home" + "/me/x"),
        ("README.md", "see ../shared" + "/design/x.md"),
        ("docs/x.md", "look into /srv/me/autopilot/src"),
        ("tests/unit/x.py", "/srv/me/autopilot"),
    ],
)
def test_a_private_place_is_found(path: str, text: str) -> None:
    checkout = PurePosixPath("/srv/me/autopilot")
    assert private_places(path, text, checkout=checkout)
    assert not private_places("tests/unit/x.py", "guard('rm -rf /root/x')", checkout=checkout)


def test_a_checkout_right_below_the_root_is_no_private_place() -> None:
    assert private_places("tests/unit/x.py", "include /src", checkout=PurePosixPath("/src")) == []


def test_no_script_or_document_forces_a_push() -> None:
    paths = [p for p in tree_files() if p.suffix == ".md" or p.parts[0] in {"script", ".ci"}]
    found = [line for p in paths for line in forced_pushes(str(p), (ROOT / p).read_text(encoding="utf-8"))]
    assert found == []


@pytest.mark.parametrize("text", ["git push origin x --force", "`git push -f`"])
def test_a_forced_push_is_found(text: str) -> None:
    assert forced_pushes("README.md", text)
    assert not forced_pushes("README.md", "git push --force-with-lease=x:y origin")


def test_decisions_are_numbered_and_complete() -> None:
    folder = ROOT / "docs" / "decisions"
    texts = {p.name: p.read_text(encoding="utf-8") for p in folder.glob("*.md") if p.name != "README.md"}
    assert decision_problems(texts) == []


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("0002-title.md", DECISION),
        ("0001-title.md", DECISION.replace("0001", "0002")),
        ("0001-title.md", DECISION.replace("## Consequences\n", "")),
        ("0001-title.md", DECISION.replace("Status: accepted\n", "")),
    ],
)
def test_a_malformed_decision_is_refused(name: str, text: str) -> None:
    assert decision_problems({"0001-title.md": DECISION}) == []
    assert decision_problems({name: text})


def test_a_decision_number_that_is_taken_is_refused() -> None:
    assert decision_problems({"0001-title.md": DECISION, "0001-other.md": DECISION})
