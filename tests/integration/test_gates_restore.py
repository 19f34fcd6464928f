"""What the lock file names is restored first; the programs that do it are stand-ins here.

They count their calls in a file beside them, which no sandbox would let them write.
"""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from autopilot.runner.gates.run import measure_baseline, run_gates
from autopilot.runner.sandbox.none import NoSandbox
from autopilot.schemas.gate import Verdict, ungreen
from tests.support.gate_runs import SYSTEM_PATH, bench

CASE = "import unittest\nclass A(unittest.TestCase):\n    def test_a(self): pass\n"
PYTHON = {"pyproject.toml": "[project]\n", "uv.lock": "version = 1\n", "tests/test_a.py": CASE}
NODE = {
    "package.json": '{"scripts": {"test": "node --test"}}',
    "package-lock.json": json.dumps({"packages": {"": {}, "node_modules/left": {}}}),
    "test/a.test.js": 'require("node:test").test("a", () => { require("left"); });\n',
}
UV = """\
echo "$@" >> "$0.calls"
mkdir -p "$UV_PROJECT_ENVIRONMENT/bin"
python="$UV_PROJECT_ENVIRONMENT/bin/python"
printf '#!/bin/sh\\necho restored >> "%s.used"\\nexec python3 "$@"\\n' "$0" > "$python"
chmod +x "$python"
"""
NPM = 'echo "$@" >> "$0.calls"\nmkdir -p node_modules/left && echo > node_modules/left/index.js\n'


def program(folder: Path, name: str, script: str) -> Path:
    folder.mkdir(exist_ok=True)
    path = folder / name
    path.write_text(f"#!/bin/sh\n{script}", encoding="utf-8")
    path.chmod(0o755)
    return path


def calls(path: Path) -> list[str]:
    log = Path(f"{path}.calls")
    return log.read_text(encoding="utf-8").splitlines() if log.exists() else []


def test_a_locked_python_environment_is_restored_frozen_and_outside_the_tree(tmp_path: Path) -> None:
    uv = program(tmp_path / "bin", "uv", UV)
    there = bench(tmp_path, PYTHON)
    records = run_gates(there.context(sandbox=NoSandbox(), path=f"{uv.parent}:{SYSTEM_PATH}"))
    assert ungreen(records, head=there.head_sha) == ()
    assert calls(uv) == ["sync --frozen"]
    assert Path(f"{uv}.used").exists()
    assert not (there.checkout / ".venv").exists()


@pytest.mark.needs(binary="node", apt="nodejs")
def test_locked_node_packages_are_restored_frozen(tmp_path: Path) -> None:
    npm = program(tmp_path / "bin", "npm", NPM)
    there = bench(tmp_path, NODE)
    records = run_gates(there.context(sandbox=NoSandbox(), path=f"{npm.parent}:{SYSTEM_PATH}"))
    assert ungreen(records, head=there.head_sha) == ()
    assert [line.split()[0] for line in calls(npm)] == ["ci"]


def test_a_restore_is_not_repeated_while_the_lock_is_the_same(tmp_path: Path) -> None:
    uv = program(tmp_path / "bin", "uv", UV)
    there = bench(tmp_path, PYTHON)
    context = there.context(sandbox=NoSandbox(), path=f"{uv.parent}:{SYSTEM_PATH}")
    measure_baseline(context)
    run_gates(context)
    assert len(calls(uv)) == 1
    (there.checkout / "uv.lock").write_text("version = 2\n", encoding="utf-8")
    run_gates(context)
    assert len(calls(uv)) == 2
    run_gates(replace(context, producer="publish"))
    assert len(calls(uv)) == 3


def test_another_checkout_is_restored_anew_because_an_environment_points_into_its_checkout(
    tmp_path: Path,
) -> None:
    uv = program(tmp_path / "bin", "uv", UV)
    context = bench(tmp_path / "a", PYTHON).context(sandbox=NoSandbox(), path=f"{uv.parent}:{SYSTEM_PATH}")
    other = bench(tmp_path / "b", PYTHON)
    run_gates(context)
    left = context.scratch / "venv" / "left-behind"
    left.touch()
    run_gates(replace(context, checkout=other.checkout))
    assert len(calls(uv)) == 2
    assert not left.exists()


def test_a_restore_that_fails_leaves_no_gate_green_and_is_tried_again(tmp_path: Path) -> None:
    uv = program(
        tmp_path / "bin", "uv", 'echo "$@" >> "$0.calls"\necho "no such package: left" >&2\nexit 2\n'
    )
    there = bench(tmp_path, PYTHON)
    context = there.context(sandbox=NoSandbox(), path=f"{uv.parent}:{SYSTEM_PATH}")
    records = run_gates(context)
    assert {(record.verdict, record.code) for record in records} == {(Verdict.ERROR, "setup-failed")}
    assert all("no such package: left" in record.reason for record in records)
    baseline = measure_baseline(context)
    assert (baseline.green, baseline.counts) == (False, None)
    assert len(calls(uv)) == 2


def test_a_setup_of_the_policy_replaces_the_one_of_the_adapter(tmp_path: Path) -> None:
    uv = program(tmp_path / "bin", "uv", UV)
    policy = {".autopilot.toml": '[commands]\nsetup = ["sh", "-c", "echo ready > ready.txt"]\n'}
    there = bench(tmp_path, {**PYTHON, **policy})
    run_gates(there.context(sandbox=NoSandbox(), path=f"{uv.parent}:{SYSTEM_PATH}"))
    assert (there.checkout / "ready.txt").exists()
    assert calls(uv) == []


@pytest.mark.parametrize("is_tracked", [False, True])
def test_an_interpreter_below_the_checkout_is_used_only_when_the_setup_made_it(
    tmp_path: Path, is_tracked: bool
) -> None:
    make = "mkdir -p .venv/bin; cp /bin/true .venv/bin/python"
    policy = {".autopilot.toml": f"[commands]\nsetup = {json.dumps(['sh', '-c', make])}\n"}
    tracked = {".venv/bin/python": "#!/bin/sh\nexit 0\n"} if is_tracked else {}
    there = bench(tmp_path, {**PYTHON, **policy, **tracked})
    records = {record.gate: record for record in run_gates(there.context())}
    if is_tracked:  # passed over: python3 on PATH runs the tests
        assert records["test-summary"].verdict is Verdict.PASSED
    else:  # used: /bin/true is no Python, so it proves nothing
        assert records["test-summary"].code == "incomplete"
        assert records["build"].code == "incomplete"


HOMES = {
    ".autopilot.toml": '''
report = "reports.xml"
[commands]
setup = ["sh", "-c", "ls -A $HOME > $HOME/seen; mkdir -p $HOME/.cache && echo browser > $HOME/.cache/browser"]
test = ["sh", "-c", """
cat $HOME/.cache/browser && test ! -e $HOME/poison && echo > $HOME/poison && cp green.xml reports.xml"""]
''',
    "green.xml": "<testsuite><testcase name='a'/></testsuite>",
}


def test_what_set_up_left_in_its_home_is_there_for_the_tests_and_what_tests_left_is_not(
    tmp_path: Path,
) -> None:
    there = bench(tmp_path, HOMES)
    for _ in range(2):
        assert ungreen(run_gates(there.context()), head=there.head_sha) == ()
        (tmp_path / "checkout" / "reports.xml").unlink()
    assert not (tmp_path / "scratch" / "home" / "poison").exists()
    assert (tmp_path / "scratch" / "home" / "seen").read_text() == "seen\n"


def test_what_an_earlier_set_up_left_in_its_home_is_not_there_for_another(tmp_path: Path) -> None:
    there = bench(tmp_path, HOMES)
    run_gates(there.context())
    home = tmp_path / "scratch" / "home"
    (home / "poison").write_text("of the set-up before")
    run_gates(there.context(producer="publish"))
    assert not (home / "poison").exists()
