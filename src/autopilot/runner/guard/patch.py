"""Names the files that a patch of Codex's `apply_patch` changes.

Must not guess: what is not plainly such a patch is refused. Source: recorded calls; the tool's grammar names
files in lines of their own, `*** Add File: `, `*** Update File: `, `*** Delete File: ` and `*** Move to: `.
"""

from __future__ import annotations

from autopilot.runner.guard.verdict import Refused

_BEGIN, _END = "*** Begin Patch", "*** End Patch"
_FILES = ("*** Add File: ", "*** Update File: ", "*** Delete File: ", "*** Move to: ")
_OTHERS = (_BEGIN, _END, "*** End of File")
_STARS = "***"


def changed_files(patch: str) -> tuple[str, ...]:
    """Give the files, as the patch names them.

    Raises:
        Refused: it is no such patch, or a line of it could be read in two ways.
    """
    lines = patch.strip().split("\n")
    if lines[0].strip() != _BEGIN or lines[-1].strip() != _END:
        raise Refused("patch", f"a patch begins with {_BEGIN!r} and ends with {_END!r}")
    named = []
    for line in lines:
        bare = line.strip()
        mark = next((mark for mark in _FILES if bare.startswith(mark)), None)
        if mark is not None:
            named.append(bare.removeprefix(mark).strip())
        elif bare.startswith(_STARS) and not line.startswith(("+", "-", " ")) and bare not in _OTHERS:
            raise Refused("patch", f"{bare[:80]!r} is no line of a patch")
    if not named or not all(named):
        raise Refused("patch", "the patch names no file; give each a line such as '*** Update File: a.py'")
    return tuple(dict.fromkeys(named))
