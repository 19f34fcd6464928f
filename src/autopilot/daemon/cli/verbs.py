"""The commands' registry: one line per verb, one module of the same name beside this file.

Must stay light: `autopilot status` is typed often, so only the chosen verb's module is imported.
"""

from __future__ import annotations

import importlib
from types import MappingProxyType

TYPE_CHECKING = False  # not from `typing`: ADR 0072
if TYPE_CHECKING:
    import argparse
    from collections.abc import Mapping
    from typing import Any, Protocol

    from autopilot.schemas.errors import ExitCode

    class Verb(Protocol):
        """What every module in this folder offers."""

        def add_arguments(self, parser: argparse.ArgumentParser) -> None:
            """Declare the verb's own arguments."""
            ...

        def run(self, args: argparse.Namespace) -> ExitCode:
            """Do it and say how it went."""
            ...


VERBS: Mapping[str, str] = MappingProxyType(
    {
        "init": "look at this repository, show what would be configured, write it",
        "add": "queue a ticket from text, a file or standard input",
        "list": "list tickets",
        "show": "show one ticket: text, attempts, gates, history",
        "why": "say why a ticket is where it is, and what would move it on",
        "logs": "show what a ticket's run did, or follow it",
        "cancel": "stop a ticket, killing its run if there is one",
        "retry": "give a failed, cancelled or parked ticket fresh attempts",
        "resume": "continue a parked ticket",
        "answer": "answer a parked ticket's question and continue it",
        "on": "let the night begin: arm and start launching",
        "off": "launch nothing more",
        "stop": "in an emergency: kill the daemon and everything that it started",
        "status": "show the switch, what runs, what waits and what it has cost",
        "digest": "show the morning digest",
        "review": "go through the draft pull requests",
        "budget": "show ceilings, spend and reservations",
        "breaker": "show or reset the breakers",
        "backup": "copy the queue while it is in use, or list the copies",
        "restore": "put a backup in the place of the queue; the present one is moved aside",
        "guard": "say whether an agent may run a command, and in which form",
        "doctor": "check this machine and configuration",
        "report": "write what a maintainer needs to help into one masked file, and send it to nobody",
        "config": "show, check or describe the configuration",
        "gc": "show what can be cleaned up, or clean it up",
        "daemon": "run the daemon in the foreground, or stop the one that runs",
        "install": "make the daemon a service of this user",
        "uninstall": "stop and remove the service; the queue stays",
        "service": "show how the installed service is",
        "demo": "watch three tickets go through the whole machine",
        "completion": "print shell completion",
    }
)


def load(verb: str) -> Verb:
    """Import the module of a verb in `VERBS`."""
    module: Any = importlib.import_module(f"autopilot.daemon.cli.{verb}")
    found: Verb = module
    return found
