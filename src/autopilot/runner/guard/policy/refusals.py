"""Why a well-known program is not started, and what to do in its place.

Nothing here decides: a program that no policy names is refused with or without a reason of its own.
"""

from __future__ import annotations

from types import MappingProxyType
from typing import TYPE_CHECKING

from autopilot.schemas.never import NEVER

if TYPE_CHECKING:
    from collections.abc import Mapping

_REASONS: Mapping[str, str] = {
    "wrapper": "it would run another program unseen; run that program by itself "
    "(timeout 60 COMMAND is accepted)",
    "shell": "the shell's own state is not changed or shown; write values where they are used, one plain "
    "command after another",
    "keyword": "no loops, conditions or functions; join plain commands by && or ||",
    "network": "nothing reaches out but curl, wget and WebFetch to a listed host",
    "tracker": "trackers and pull requests are written by the publisher after the gates have passed",
    "publication": "a run publishes nothing",
    "installer": "no package is added; say in your summary which one is needed",
    "cloud": "no container, cluster or cloud is touched",
    "keyring": "no credential store is read",
    "key": "no keys are made or used",
    "signal": "no process is signalled; a command that hangs is given timeout 60",
    "scheduler": "nothing is scheduled and no service is touched",
    "session": "nothing outlives the command",
    "system": "the system stays as it is",
    "screen": "nobody can type: show with cat, head, tail or sed -n, change with the Edit tool",
    "interpreter": "no interpreter takes a program from the command line; put it into a test "
    "and run the tests",
    "archive": "files are changed with the Edit and Write tools, cp, mv and rm",
    "machine": "the machine and its other processes are not this run's affair",
    "agent": "no agent, and no order to autopilot, is given from inside of a run",
}
WHY_NOT: Mapping[str, str] = MappingProxyType(
    {
        **{name: f"{name}: {_REASONS[kind]}" for kind, names in NEVER.items() for name in names.split()},
        "xargs": "xargs: it would run a program on names that nobody has judged; give the files or their "
        "folder themselves: grep -rn TEXT src, rg -l TEXT, wc -l src/*.py",
    }
)
