"""A stand-in for systemd-logind on a private bus: gives sleep locks, and notes when one is let go.

Run as a program: `logind.py ADDRESS JOURNAL give|refuse|refuse-lid`. Each lock is a pipe, as with the real
one: it is held for as long as anybody has the far end open.
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
def private_logind(folder: Path, *, behaviour: str = "give") -> Iterator[tuple[str, Path]]:
    """Start a bus and the stand-in on it; gives the address and the journal of locks."""
    journal = folder / "locks"
    journal.touch()
    with _private_bus(folder) as address:
        argv = [sys.executable, "-m", "tests.support.logind", address, str(journal), behaviour]
        env = {**os.environ, "PYTHONPATH": f"{ROOT}{os.pathsep}{ROOT / 'src'}"}
        with subprocess.Popen(argv, cwd=ROOT, env=env) as logind:
            try:
                wait_until(lambda: "ready" in journal.read_text(), 20, "logind is on the bus")
                yield address, journal
            finally:
                logind.kill()


@contextlib.contextmanager
def dbusmock_logind(folder: Path) -> Iterator[str]:
    """Start python-dbusmock's own template of logind on a bus; gives its address. It lists its locks."""
    with _private_bus(folder) as address:
        env = {"PATH": "/usr/bin:/bin", "DBUS_SYSTEM_BUS_ADDRESS": address}
        argv = ["/usr/bin/python3", "-m", "dbusmock", "--system", "--template", "logind"]
        with subprocess.Popen(argv, cwd=folder, env=env, stdout=subprocess.DEVNULL) as logind:
            try:
                wait_until(lambda: listed(address) is not None, 20, "the template is on the bus")
                yield address
            finally:
                logind.kill()


def listed(address: str) -> list[str] | None:
    """Give the locks as the real `systemd-inhibit --list` shows them; None while nobody answers."""
    argv = ["systemd-inhibit", "--list", "--no-legend", "--no-pager"]
    env = {"PATH": "/usr/bin:/bin", "DBUS_SYSTEM_BUS_ADDRESS": address, "LC_ALL": "C.UTF-8"}
    done = subprocess.run(argv, env=env, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        return None
    return [" ".join(line.split()) for line in done.stdout.splitlines() if "autopilot" in line]


@contextlib.contextmanager
def _private_bus(folder: Path) -> Iterator[str]:
    argv = ["dbus-daemon", "--session", "--nofork", "--nopidfile", "--print-address=1"]
    argv.append(f"--address=unix:dir={folder}")
    with subprocess.Popen(argv, stdout=subprocess.PIPE, text=True) as bus:
        assert bus.stdout is not None
        try:
            yield bus.stdout.readline().strip()
        finally:
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
    elif behaviour == "refuse" or (behaviour == "refuse-lid" and "handle-lid-switch" in call.body[0]):
        bus.send(new_error(call, "org.freedesktop.DBus.Error.AccessDenied", "s", ("Access denied",)))
    else:
        near, far = os.pipe()
        locks[near] = "+" + " | ".join(call.body)
        bus.send(new_method_return(call, "h", (far,)))
        os.close(far)


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]), sys.argv[3])
