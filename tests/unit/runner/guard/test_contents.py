"""What is written, and how much is read at once."""

from __future__ import annotations

from pathlib import Path

import pytest

from autopilot.runner.guard.judge import judge
from autopilot.runner.guard.verdict import Decision, GuardContext, GuardRequest

TOKEN = "ghp" + "_" + "R9dK2mQ7xV4bT8nL1cF6hJ3pZ5wY0sAaGgE4"
KEY = "-----BEGIN " + "RSA PRIVATE KEY-----\nMIIEow\n-----END RSA PRIVATE KEY-----"
CONTEXT = GuardContext("/w/T-1", "/t/T-1")
PATCH = "*** Begin Patch\n*** Update File: a.py\n@@\n{line}\n*** End Patch"


def asked(tool: str, **given: object) -> Decision:
    return judge(GuardRequest(tool, given), CONTEXT)


@pytest.mark.covers("H26")
@pytest.mark.parametrize("secret", [TOKEN, KEY], ids=["token", "key"])
def test_a_secret_is_not_written_by_any_tool_and_not_repeated(secret: str) -> None:
    tries = (
        asked("Write", file_path="a.py", content=f"KEY = '{secret}'"),
        asked("Edit", file_path="a.py", old_string="x", new_string=secret),
        asked("MultiEdit", file_path="a.py", edits=[{"old_string": "x", "new_string": f"y{secret}"}]),
        asked("NotebookEdit", notebook_path="a.ipynb", new_source=secret),
        asked("apply_patch", command=PATCH.format(line=f"+{TOKEN}")),
        asked("Bash", command=f"git commit -F - <<'EOF'\n{secret}\nEOF"),
        asked("Bash", command=f"echo '{TOKEN}' > a.py"),
        asked("Write", file_path=f"notes/{TOKEN}.txt", content="x"),
        asked("apply_patch", command=PATCH.format(line="+x").replace("a.py", f"{TOKEN}.txt")),
    )
    assert [each.code for each in tries] == ["secret"] * len(tries)
    assert all(secret not in each.reason and TOKEN not in each.reason for each in tries)


@pytest.mark.parametrize(
    ("tool", "given"),
    [
        ("Edit", {"file_path": "a.py", "old_string": TOKEN, "new_string": "os.environ['KEY']"}),
        ("apply_patch", {"command": PATCH.format(line=f"-{TOKEN}")}),
        ("Write", {"file_path": "a.py", "content": "AKIAIOSFODNN7EXAMPLE"}),
        ("Write", {"file_path": "a.py", "content": "ghp_short and sk-8 and a task-list"}),
        ("Bash", {"command": "grep -rn ghp_ src"}),
    ],
)
def test_taking_one_out_or_an_example_is_allowed(tool: str, given: dict[str, object]) -> None:
    assert asked(tool, **given).code == "allowed"


@pytest.mark.covers("H26")
def test_a_large_file_is_read_in_parts_only(tmp_path: Path) -> None:
    (tmp_path / "tree").mkdir()
    large, small = tmp_path / "tree" / "large.log", tmp_path / "tree" / "small.log"
    large.write_bytes(b"x" * 2049)
    small.write_bytes(b"x" * 2048)
    context = GuardContext(str(tmp_path / "tree"), str(tmp_path / "tmp"), max_read_bytes=2048)

    def read(**given: object) -> Decision:
        return judge(GuardRequest("Read", given), context)

    for path in (str(large), "large.log"):
        refused = read(file_path=path)
        assert refused.code == "read-size"
        assert "offset and limit" in refused.reason
        assert read(file_path=path, offset=1, limit=50).allowed
    assert read(file_path=str(small)).allowed
    assert read(file_path="not-there").allowed
    assert judge(
        GuardRequest("Read", {"file_path": str(large)}), GuardContext(str(tmp_path / "tree"), "/t")
    ).allowed
