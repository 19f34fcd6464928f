"""The small projects that the tests' repositories hold: one red test, one green one.

Each project comes with the edit that turns it green. Nothing here touches a disk.
"""

from dataclasses import dataclass
from typing import Final


@dataclass(frozen=True, slots=True)
class Project:
    """Files of a project, and the one replacement that makes its tests pass."""

    name: str
    files: dict[str, str]
    broken_path: str
    broken_text: str
    fixed_text: str
    test_argv: tuple[str, ...]
    test_paths: tuple[str, ...]

    def fixed_file(self) -> str:
        """The whole content of the broken file after the fix."""
        return self.files[self.broken_path].replace(self.broken_text, self.fixed_text)


_SPLIT_PY: Final = '''\
"""Splitting a bill."""


def split_bill(total_cents: int, people: int) -> list[int]:
    """Shares that differ by one cent at most and add up to the total."""
    share = total_cents // people
    return [share] * people
'''
_SPLIT_PY_BROKEN: Final = "    return [share] * people\n"
_SPLIT_PY_FIXED: Final = """\
    extra = total_cents % people
    return [share + 1] * extra + [share] * (people - extra)
"""
_SPLIT_PY_TEST: Final = """\
import unittest

from bill.split import split_bill


class SplitBill(unittest.TestCase):
    def test_an_even_bill_is_split_evenly(self) -> None:
        self.assertEqual(split_bill(900, 3), [300, 300, 300])

    def test_no_cent_is_lost(self) -> None:
        self.assertEqual(sum(split_bill(1000, 3)), 1000)


if __name__ == "__main__":
    unittest.main()
"""
_SPLIT_JS: Final = """\
export function splitBill(totalCents, people) {
  const share = Math.floor(totalCents / people);
  return Array(people).fill(share);
}
"""
_SPLIT_JS_BROKEN: Final = "  return Array(people).fill(share);\n"
_SPLIT_JS_FIXED: Final = """\
  const extra = totalCents % people;
  return Array.from({ length: people }, (_, index) => (index < extra ? share + 1 : share));
"""
_SPLIT_JS_TEST: Final = """\
import assert from "node:assert/strict";
import { test } from "node:test";
import { splitBill } from "../bill/split.js";

test("an even bill is split evenly", () => {
  assert.deepEqual(splitBill(900, 3), [300, 300, 300]);
});

test("no cent is lost", () => {
  assert.equal(splitBill(1000, 3).reduce((sum, share) => sum + share, 0), 1000);
});
"""
_PYPROJECT: Final = '[project]\nname = "bill"\nversion = "0.1.0"\nrequires-python = ">=3.11"\n'
_PACKAGE_JSON: Final = """\
{
  "name": "bill",
  "version": "0.1.0",
  "private": true,
  "type": "module",
  "scripts": { "test": "node --test" }
}
"""


def python_project() -> Project:
    """A package `bill` whose unittest `test_no_cent_is_lost` fails."""
    return Project(
        name="python",
        files={
            "README.md": "# bill\n",
            "pyproject.toml": _PYPROJECT,
            ".gitignore": "__pycache__/\n",
            "bill/__init__.py": "",
            "bill/split.py": _SPLIT_PY,
            "tests/__init__.py": "",
            "tests/test_split.py": _SPLIT_PY_TEST,
        },
        broken_path="bill/split.py",
        broken_text=_SPLIT_PY_BROKEN,
        fixed_text=_SPLIT_PY_FIXED,
        test_argv=("python3", "-m", "unittest"),
        test_paths=("tests/test_split.py",),
    )


def node_project() -> Project:
    """A package `bill` whose `node --test` case "no cent is lost" fails."""
    return Project(
        name="node",
        files={
            "README.md": "# bill\n",
            "package.json": _PACKAGE_JSON,
            ".gitignore": "node_modules/\n",
            "bill/split.js": _SPLIT_JS,
            "test/split.test.js": _SPLIT_JS_TEST,
        },
        broken_path="bill/split.js",
        broken_text=_SPLIT_JS_BROKEN,
        fixed_text=_SPLIT_JS_FIXED,
        test_argv=("node", "--test"),
        test_paths=("test/split.test.js",),
    )
