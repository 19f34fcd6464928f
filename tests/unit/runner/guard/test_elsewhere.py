"""A script of a package runs in the folder of that package, and so are the words that it is given read."""

from __future__ import annotations

from pathlib import Path

import pytest

from autopilot.runner.guard.judge import Guard
from autopilot.runner.guard.verdict import GuardContext, GuardRequest

RUNNERS = ("npm test --", "npm run lint --", "yarn test", "pnpm test", "bun run build")
OF_WORKSPACES = (
    "npm -w packages/a test --", "npm test -w packages/a --", "npm --workspaces run lint --",
    "pnpm -w test", "pnpm -r run lint", "pnpm --filter b test", "yarn workspace b run lint",
    "npm --prefix ../.. test --",
)  # fmt: skip


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    for name in ("a", "b/deep"):
        (tmp_path / "tree" / "packages" / name).mkdir(parents=True)
    for folder in (".", "packages/a"):
        (tmp_path / "tree" / folder / "package.json").write_text("{}", encoding="utf-8")
    return tmp_path / "tree"


def allowed(tree: Path, command: str) -> bool:
    guard = Guard(GuardContext(str(tree), str(tree.parent / "tmp")))
    return guard.decide(GuardRequest("Bash", {"command": command})).allowed


@pytest.mark.covers("I07")
@pytest.mark.parametrize("runner", RUNNERS)
def test_words_are_read_in_the_folder_of_the_nearest_package(tree: Path, runner: str) -> None:
    assert allowed(tree, f"cd packages/a && {runner} ../b/x")
    assert not allowed(tree, f"cd packages/a && {runner} ../../../x")
    # No package of its own: the script runs further up.
    assert not allowed(tree, f"cd packages/b && {runner} ../../x")
    assert not allowed(tree, f"cd packages/b/deep && {runner} ../x")
    assert allowed(tree, f"cd packages/b/deep && {runner} x")


@pytest.mark.covers("H13")
@pytest.mark.parametrize("runner", OF_WORKSPACES)
def test_words_for_another_package_lead_out_of_none(tree: Path, runner: str) -> None:
    assert allowed(tree, f"cd packages/a && {runner} src/x")
    assert not allowed(tree, f"cd packages/a && {runner} ../../x")
