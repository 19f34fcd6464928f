"""A stand-in for systemd-logind on a private bus: gives sleep locks, and notes when one is let go.

Run as a program: `logind.py ADDRESS JOURNAL give|refuse`. Each lock is a pipe, as with the real one: it is
held for as long as anybody has the far end open.
"""

from __future__ import annotations

import contextlib
import os
import select
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from tests.support.tree import ROOT
from tests.support.wait import wait_until

_NAME = "org.freedesktop.login1"
_POLL_S = 0.02


@contextlib.contextmanager
def private_logind(folder: Path, *, refuses: bool = False) -> Iterator[tuple[str, Path]]:
    """Start a bus and the stand-in on it; gives the address and the journal of locks."""
    journal = folder / "locks"
    journal.touch()
    with subprocess.Popen(
        [
            "dbus-daemon",
            "--session",
            "--nofork",
            "--nopidfile",
            "--print-address=1",
            f"--address=unix:dir={folder}",
        ],
        stdout=subprocess.PIPE,
        text=True,
    ) as bus:
        assert bus.stdout is not None
        address = bus.stdout.readline().strip()
        argv = [
            sys.executable,
            "-m",
            "tests.support.logind",
            address,
            str(journal),
            "refuse" if refuses else "give",
        ]
        env = {**os.environ, "PYTHONPATH": f"{ROOT}{os.pathsep}{ROOT / 'src'}"}
        with subprocess.Popen(argv, cwd=ROOT, env=env) as logind:
            try:
                wait_until(lambda: "ready" in journal.read_text(), 20, "logind is on the bus")
                yield address, journal
            finally:
                logind.kill()
                bus.kill()


def main(address: str, journal: Path, behaviour: str) -> None:
    """Answer until killed."""
    from jeepney.bus_messages import message_bus  # on Linux only, where keyring brings it
    from jeepney.io.blocking import open_dbus_connection

    locks: dict[int, str] = {}
    with open_dbus_connection(address, enable_fds=True) as bus, journal.open("a", buffering=1) as notes:
        bus.send_and_get_reply(message_bus.RequestName(_NAME))
        notes.write("ready\n")
        while True:
            with contextlib.suppress(TimeoutError):
                _answer(bus, bus.receive(timeout=_POLL_S), locks, behaviour)
            for fd in list(locks):
                if locks[fd].startswith("+"):
                    locks[fd] = locks[fd][1:]
                    notes.write(f"held {locks[fd]}\n")
                if select.select([fd], [], [], 0)[0]:
                    notes.write(f"released {locks.pop(fd)}\n")
                    os.close(fd)


def _answer(bus: Any, call: Any, locks: dict[int, str], behaviour: str) -> None:  # noqa: ANN401  untyped
    from jeepney import HeaderFields, MessageType, new_error, new_method_return

    if call.header.message_type is not MessageType.method_call:
        return
    if call.header.fields.get(HeaderFields.member) != "Inhibit":
        bus.send(new_error(call, "org.freedesktop.DBus.Error.UnknownMethod"))
    elif behaviour == "refuse":
        bus.send(new_error(call, "org.freedesktop.DBus.Error.AccessDenied", "s", ("Access denied",)))
    else:
        near, far = os.pipe()
        locks[near] = "+" + " | ".join(call.body)
        bus.send(new_method_return(call, "h", (far,)))
        os.close(far)


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]), sys.argv[3])
