"""Checks the fragments in changelog.d, and turns them into a release in CHANGELOG.md.

A fragment is one file `changelog.d/<topic>.md` with one line, `Kind: what a user notices.`
Standard library only.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path

KINDS = ("Added", "Changed", "Fixed", "Removed", "Security")
NAME = re.compile(r"[a-z0-9]+(-[a-z0-9]+)*\.md")
LINE = re.compile(rf"({'|'.join(KINDS)}): \S.*[.!`)]")
LONGEST = 300
USAGE = "usage: script/changelog check | script/changelog release VERSION DATE"


def main(argv: list[str]) -> int:
    """Run one command on the checkout that the first argument names."""
    root, *command = argv
    fragments = Path(root) / "changelog.d"
    problems = check(fragments)
    for problem in problems:
        print(problem, file=sys.stderr)
    match command:
        case ["check"]:
            return 1 if problems else 0
        case ["release", version, date] if not problems:
            release(Path(root) / "CHANGELOG.md", fragments, f"{version} - {date}")
            return 0
        case ["release", _, _]:
            return 1
    print(USAGE, file=sys.stderr)
    return 2


def check(folder: Path) -> list[str]:
    """What is wrong with the fragments, one line each."""
    problems = []
    for path in sorted(folder.iterdir()):
        lines = path.read_text(encoding="utf-8").splitlines()
        if path.name == ".gitkeep":
            continue
        if not NAME.fullmatch(path.name):
            problems.append(f"{path.name}: a fragment is called like some-topic.md")
        if len(lines) != 1 or not LINE.fullmatch(lines[0]):
            problems.append(f"{path.name}: want one line, one of {', '.join(KINDS)}, a colon, a sentence")
        elif len(lines[0]) > LONGEST:
            problems.append(f"{path.name}: {len(lines[0])} characters; at most {LONGEST}")
    return problems


def release(changelog: Path, folder: Path, title: str) -> None:
    """Put the fragments, grouped by kind, above the last release, and remove them."""
    texts = {path: path.read_text(encoding="utf-8").strip() for path in sorted(folder.glob("*.md"))}
    section = f"## {title}\n"
    for kind in KINDS:
        lines = [text.partition(": ")[2] for text in texts.values() if text.startswith(f"{kind}: ")]
        if lines:
            section += f"\n### {kind}\n\n" + "".join(f"- {line}\n" for line in lines)
    head, mark, older = changelog.read_text(encoding="utf-8").partition("\n## ")
    changelog.write_text(f"{head.rstrip()}\n\n{section}{mark}{older}", encoding="utf-8")
    for path in texts:
        path.unlink()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
