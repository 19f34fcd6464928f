"""While modules are imported the collector rests, and what they brought is never looked at again."""

from __future__ import annotations

import subprocess
import sys

import pytest

from tests.support.tree import ROOT

LOADS = "with loading():\n    import colorsys\n"
CASES = {
    "with loading():\n    print(gc.isenabled())": "False",
    f"{LOADS}print(gc.isenabled())": "True",
    f"{LOADS}print(gc.get_freeze_count() > 1000)": "True",
    "with loading():\n    pass\nprint(gc.get_freeze_count())": "0",
    f"gc.disable()\n{LOADS}print(gc.isenabled(), gc.get_freeze_count())": "False 0",
}
NAMES = (
    *("the collector rests inside", "it works behind", "what came is put aside"),
    *("where nothing came nothing is put aside", "whoever has it off keeps it off"),
)


def told(code: str) -> str:
    done = subprocess.run(
        [sys.executable, "-P", "-c", f"import gc\nfrom autopilot.config.heap import loading\n{code}"],
        env={"PYTHONPATH": str(ROOT / "src")},
        capture_output=True,
        text=True,
        check=True,
    )
    return done.stdout.strip()


@pytest.mark.parametrize(("code", "wanted"), CASES.items(), ids=NAMES)
def test_modules_are_loaded_beside_the_collector(code: str, wanted: str) -> None:
    assert told(code) == wanted


def test_the_collector_works_again_when_a_module_cannot_be_imported() -> None:
    code = (
        "try:\n    with loading():\n        import no_such_module\n"
        "except ImportError:\n    print(gc.isenabled())"
    )
    assert told(code) == "True"
