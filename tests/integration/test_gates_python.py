from __future__ import annotations

from pathlib import Path

import pytest

from autopilot.schemas.gate import Verdict, ungreen
from tests.support.gate_runs import bench, listener

MANIFEST = {"pyproject.toml": '[project]\nname = "bill"\nversion = "1"\n'}
WITH_OPTIONS = {"pyproject.toml": MANIFEST["pyproject.toml"] + "[tool.pytest.ini_options]\n"}
CASE = """\
import unittest

class Bill(unittest.TestCase):
    def test_first(self):
        self.assertEqual(1, 1)

    def test_second(self):
        {}
"""


def project(second: str) -> dict[str, str]:
    return {**MANIFEST, "bill.py": "x = 1\n", "tests/test_bill.py": CASE.format(second)}


@pytest.mark.covers("K01", "K02", "K05", "J11")
def test_a_green_project_passes_every_gate_with_its_evidence(tmp_path: Path) -> None:
    heard, on_event = listener()
    there = bench(tmp_path, project("pass"))
    from autopilot.runner.gates.run import run_gates

    context = there.context(on_event=on_event)
    records = run_gates(context)
    assert [(record.gate, record.verdict) for record in records] == [
        ("build", Verdict.PASSED),
        ("test-summary", Verdict.PASSED),
        ("evidence", Verdict.PASSED),
    ]
    assert ungreen(records, head=there.head_sha) == ()
    counts = records[1].counts
    assert counts is not None
    assert (counts.executed, counts.passed, counts.skipped) == (2, 2, 0)
    assert [event.value for event, _ in heard] == ["gate.passed"] * 3
    assert all(record.base == there.base_sha for record in records)
