"""Commits to verify, and the verifier started as the publisher starts it."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

from autopilot.config.clock import SystemClock
from autopilot.runner.verify import verify
from autopilot.schemas.run import VerifyResult, VerifySpec
from tests.support.gate_runs import SYSTEM_PATH
from tests.support.repos import commit_files, init_bare
from tests.support.tree import ROOT

CASE = "import unittest\nclass A(unittest.TestCase):\n    def test_a(self):\n        {}\n"
ENTRY = (
    "import sys; from pathlib import Path; from autopilot.config.clock import SystemClock;"
    "from autopilot.runner.verify import main;"
    "sys.exit(main(Path(sys.argv[1]), Path(sys.argv[2]), SystemClock()))"
)
GREEN = {"pyproject.toml": "", "tests/test_a.py": CASE.format("pass")}


def spec_of(
    folder: Path, files: Mapping[str, str | bytes], *, base: Mapping[str, str | bytes] | None = None
) -> VerifySpec:
    """Commit a base and a head to a bare repository of ours, and ask for the head."""
    repository = init_bare(folder / "staging é.git")
    base_sha = commit_files(repository, "main", base if base is not None else files)
    head = commit_files(repository, "work", {**(base or {}), **files}, parentless=True)
    return VerifySpec(
        ticket_id="T-1",
        repository=repository,
        head=head,
        base_sha=base_sha,
        workdir=folder / "verify",
        gate_s=60,
        kill_grace_s=1,
    )


def result_of(spec: VerifySpec, **env: str) -> VerifyResult:
    return verify(spec, SystemClock(), base_env={"PATH": SYSTEM_PATH, **env})


def files_below(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def in_a_process(spec: VerifySpec, folder: Path, *, cwd: Path, env: Mapping[str, str]) -> VerifyResult:
    """Start the verifier as the publisher does: its own Python, with -P."""
    (folder / "spec.json").write_text(spec.model_dump_json(), encoding="utf-8")
    done = subprocess.run(
        [sys.executable, "-P", "-c", ENTRY, folder / "spec.json", folder / "result.json"],
        cwd=cwd,
        env={"PATH": SYSTEM_PATH, "PYTHONPATH": str(ROOT / "src"), "HOME": str(folder), **env},
        capture_output=True,
        timeout=100,
        check=False,
    )
    assert done.returncode == 0, done.stderr.decode()
    return VerifyResult.model_validate_json((folder / "result.json").read_bytes())
