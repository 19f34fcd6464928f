"""The living processes of a home: those that work below it or were told of it, whoever started them.

The machine is shared: another test may play with the same programs at the same moment.
"""

from __future__ import annotations

import os
from pathlib import Path

import psutil


def of_home(home: Path) -> list[psutil.Process]:
    """Every process but this one that works below the folder, or has it in its words or environment.

    Each carries in `info` its `cmdline`, `cwd`, `environ` and `exe`, None where that is refused.
    """
    found = []
    for process in psutil.process_iter(["cmdline", "cwd", "environ", "exe"]):
        info = process.info
        told = [*(info["cmdline"] or ()), info["cwd"] or "", *(info["environ"] or {}).values()]
        if process.pid != os.getpid() and any(str(home) in text for text in told):
            found.append(process)
    return found
