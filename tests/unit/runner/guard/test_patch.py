"""Patches of Codex's `apply_patch`: each file that one names is judged as a file that is written."""

from __future__ import annotations

from pathlib import Path

import pytest

from autopilot.runner.guard.judge import judge
from autopilot.runner.guard.patch import changed_files
from autopilot.runner.guard.verdict import GuardContext, GuardRequest, Refused


def patch(*lines: str) -> str:
    return "\n".join(("*** Begin Patch", *lines, "*** End Patch", ""))


@pytest.fixture
def context(tmp_path: Path) -> GuardContext:
    (tmp_path / "w").mkdir()
    return GuardContext(str(tmp_path / "w"), str(tmp_path / "tmp"))


def test_each_file_is_named_once_however_it_is_changed() -> None:
    text = patch(
        *(
            "*** Add File: new.py",
            "+x = 1",
            "*** Update File: old.py",
            "*** Move to: moved.py",
            "@@",
            "-a",
            "+b",
        ),
        *(
            "*** End of File",
            "*** Delete File: gone.py",
            "*** Update File: old.py",
            "@@",
            "-c",
            "+*** no mark",
        ),
    )
    assert changed_files(text) == ("new.py", "old.py", "moved.py", "gone.py")


@pytest.mark.parametrize(
    "text",
    [
        "",
        "*** Add File: x\n+y",
        patch(),
        patch("*** Add File: "),
        patch("*** Rename File: a"),
        patch("*** Environment ID: elsewhere", "*** Add File: a"),
        "*** Begin Patch\n*** Add File: a\n+x\n*** End Patch\nrm -rf x",
    ],
)
def test_what_is_not_plainly_a_patch_is_refused(text: str) -> None:
    with pytest.raises(Refused):
        changed_files(text)


@pytest.mark.parametrize(
    ("path", "allowed"),
    [
        ("src/a.py", True),
        ("./src/a.py", True),
        ("../a.py", False),
        ("/etc/passwd", False),
        (".git/hooks/pre-commit", False),
        (".claude/settings.json", False),
        (".codex/config.toml", False),
        (".autopilot.toml", False),
    ],
)
@pytest.mark.parametrize("mark", ["Add File", "Update File", "Delete File", "Move to"])
def test_its_files_are_judged_as_written(context: GuardContext, path: str, mark: str, allowed: bool) -> None:
    text = patch("*** Update File: src/first.py", f"*** {mark}: {path}", "+x")
    decision = judge(GuardRequest("apply_patch", {"command": text}), context)
    assert decision.allowed is allowed


def test_what_it_writes_is_remembered(context: GuardContext) -> None:
    decision = judge(GuardRequest("apply_patch", {"command": patch("*** Add File: run.sh", "+x")}), context)
    assert any(name.endswith("run.sh") for name in decision.writes)


def test_one_without_a_patch_is_refused(context: GuardContext) -> None:
    assert not judge(GuardRequest("apply_patch", {"paths": ["a"]}), context).allowed
