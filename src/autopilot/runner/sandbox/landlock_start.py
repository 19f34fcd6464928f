"""Locks itself up by Landlock and seccomp, then becomes the program. One file, standard library only.

    python -I -S landlock_start.py RULES STATUS PROGRAM ARGUMENTS…

RULES is JSON; STATUS a descriptor on which is told why the program could not be started. Must not import
anything of ours: it runs where the package may not be in reach.
Source: landlock(7), seccomp(2), prctl(2), capabilities(7).
"""

from __future__ import annotations

import contextlib
import ctypes
import json
import os
import resource
import signal
import struct
import sys
from pathlib import Path

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

_CREATE, _ADD, _RESTRICT = 444, 445, 446
_BENEATH, _PORT = 1, 2
_ALL = (1 << 16) - 1
_READ = 1 << 0 | 1 << 2 | 1 << 3
_LIST = 1 << 3
_WRITE = _ALL & ~(1 << 6 | 1 << 11)  # all but devices
_OF_A_FILE = 1 << 0 | 1 << 1 | 1 << 2 | 1 << 14 | 1 << 15
# Abstract sockets and signals. Before Linux 6.12 what is locked up could signal every process of the user,
# the daemon too; such a kernel does not know the field and refuses the call (E2BIG), so nothing starts there.
_SCOPE = 3
_NO_NEW_PRIVILEGES, _DEATH_SIGNAL, _SECCOMP, _DROP, _SECUREBITS = 38, 1, 22, 24, 28
_CAPSET: Mapping[str, int] = {"x86_64": 126, "aarch64": 91}
_LAST_CAPABILITY = 63
_NO_ROOT = 0x2F
_GOES_FIRST = "500"  # `GOES_FIRST` of config/cgroup.py


def _libc() -> ctypes.CDLL:
    return ctypes.CDLL(None, use_errno=True)


def failure() -> OSError:
    """Give the error of the call that failed."""
    number = ctypes.get_errno()
    return OSError(number, os.strerror(number))


def call(number: int, *arguments: object) -> int:
    """Make a system call; OSError when it fails."""
    result = int(_libc().syscall(number, *arguments))
    if result < 0:
        raise failure()
    return result


def control(option: int, argument: int) -> None:
    """Set something of our own process; OSError when it fails."""
    if _libc().prctl(option, ctypes.c_ulong(argument), 0, 0, 0) != 0:
        raise failure()


def confine(rules: dict[str, Any]) -> None:
    """Allow what the rules name, and nothing else, from now on."""
    net = 0 if rules["network"] else 3
    attributes = struct.pack("QQQ", _ALL, net, _SCOPE)
    ruleset = call(_CREATE, attributes, ctypes.c_size_t(len(attributes)), ctypes.c_uint32(0))
    for access, paths in ((_READ, rules["read"]), (_LIST, rules["list"]), (_WRITE, rules["write"])):
        for path in paths:
            place = os.open(path, os.O_PATH | os.O_CLOEXEC)
            granted = access if Path(path).is_dir() else access & _OF_A_FILE
            rule = struct.pack("=Qi", granted, place)
            call(_ADD, ctypes.c_int(ruleset), ctypes.c_int(_BENEATH), rule, ctypes.c_uint32(0))
            os.close(place)
    for port in rules["ports"] if net else ():
        rule = struct.pack("=QQ", 3, port)
        call(_ADD, ctypes.c_int(ruleset), ctypes.c_int(_PORT), rule, ctypes.c_uint32(0))
    call(_RESTRICT, ctypes.c_int(ruleset), ctypes.c_uint32(0))
    os.close(ruleset)


def bound(limit: int, most: int) -> None:
    """Lower a limit, 0 = leave it; one that is lower already stays."""
    if not most:
        return
    _, hard = resource.getrlimit(limit)
    least = most if hard == resource.RLIM_INFINITY else min(most, hard)
    resource.setrlimit(limit, (least, least))


def give_up_powers() -> None:
    """Keep no capability, and none that a program of root's would bring back."""
    with contextlib.suppress(OSError):
        control(_SECUREBITS, _NO_ROOT)
    for capability in range(_LAST_CAPABILITY + 1):
        _libc().prctl(_DROP, ctypes.c_ulong(capability), 0, 0, 0)
    header = struct.pack("=II", 0x20080522, 0)
    call(_CAPSET[os.uname().machine], header, bytes(24))


def filter_calls(program: bytes) -> None:
    """Refuse the system calls that the filter names."""
    count = len(program) // 8
    code = ctypes.create_string_buffer(program, len(program))
    described = struct.pack("HxxxxxxP", count, ctypes.addressof(code))
    if _libc().prctl(_SECCOMP, ctypes.c_ulong(2), described, 0, 0) != 0:
        raise failure()


def main(rules_text: str, status_text: str, argv: list[str]) -> int:
    """Lock up and become the program; returns only when that failed."""
    status = int(status_text)
    os.set_inheritable(status, False)  # noqa: FBT003 - its signature
    try:
        rules = json.loads(rules_text)
        if rules["group"]:
            Path(rules["group"], "cgroup.procs").write_text("0\n", encoding="ascii")
            Path("/proc/self/oom_score_adj").write_text(_GOES_FIRST, encoding="ascii")
        control(_DEATH_SIGNAL, signal.SIGKILL)
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        for limit, most in (
            (resource.RLIMIT_DATA, rules["memory"]),
            (resource.RLIMIT_NPROC, rules["threads"]),
            (resource.RLIMIT_FSIZE, rules["file"]),
        ):
            bound(limit, most)
        control(_NO_NEW_PRIVILEGES, 1)
        give_up_powers()
        confine(rules)
        filter_calls(bytes.fromhex(rules["filter"]))
        for number in (signal.SIGPIPE, signal.SIGXFSZ):  # an interpreter ignores them, and so would its heir
            signal.signal(number, signal.SIG_DFL)
    except (OSError, ValueError, KeyError) as error:
        os.write(status, json.dumps({"fault": str(error)}).encode())
        return 1
    try:
        os.execvp(argv[0], argv)  # noqa: S606 - it becomes what it is told to
    except OSError as error:
        os.write(status, json.dumps({"exec": error.strerror or str(error)}).encode())
    return 127


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], sys.argv[2], sys.argv[3:]))
