"""The system calls that nothing inside needs and that lead out, or deep into the kernel: a filter for them.

Pure: gives the filter's bytes. Source: seccomp(2), `struct sock_filter`; numbers from the kernel's tables
(arch/x86/entry/syscalls/syscall_64.tbl, include/uapi/asm-generic/unistd.h).
"""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

Inet = Literal["none", "stream", "all"]
_ARCHITECTURES: Mapping[str, tuple[int, int]] = {"x86_64": (0xC000003E, 0), "aarch64": (0xC00000B7, 1)}
_SOCKET, _CLONE, _CLONE3 = (41, 198), (56, 220), (435, 435)
# Keys of the person's session, the kernel's insides, the machine's state, what walks past the file system.
_DENIED: Mapping[str, tuple[int, int]] = {
    "add_key": (248, 217),
    "request_key": (249, 218),
    "keyctl": (250, 219),
    "bpf": (321, 280),
    "perf_event_open": (298, 241),
    "userfaultfd": (323, 282),
    "io_uring_setup": (425, 425),
    "io_uring_enter": (426, 426),
    "io_uring_register": (427, 427),
    "init_module": (175, 105),
    "finit_module": (313, 273),
    "delete_module": (176, 106),
    "kexec_load": (246, 104),
    "kexec_file_load": (320, 294),
    "reboot": (169, 142),
    "syslog": (103, 116),
    "swapon": (167, 224),
    "swapoff": (168, 225),
    "acct": (163, 89),
    "quotactl": (179, 60),
    "settimeofday": (164, 170),
    "clock_settime": (227, 112),
    "open_by_handle_at": (304, 265),
    "pidfd_getfd": (438, 438),
    "kcmp": (312, 272),
}
_OF_NAMESPACES: Mapping[str, tuple[int, int]] = {
    "mount": (165, 40),
    "umount2": (166, 39),
    "pivot_root": (155, 41),
    "unshare": (272, 97),
    "setns": (308, 268),
    "open_tree": (428, 428),
    "move_mount": (429, 429),
    "fsopen": (430, 430),
    "fsconfig": (431, 431),
    "fsmount": (432, 432),
    "fspick": (433, 433),
    "mount_setattr": (442, 442),
}
# Where processes, memory and files of others are in reach: what neither a mount nor a namespace takes away.
_OF_OTHERS: Mapping[str, tuple[int, int]] = {
    "shmget": (29, 194),
    "shmat": (30, 196),
    "shmctl": (31, 195),
    "semget": (64, 190),
    "semop": (65, 193),
    "semctl": (66, 191),
    "semtimedop": (220, 192),
    "msgget": (68, 186),
    "msgsnd": (69, 189),
    "msgrcv": (70, 188),
    "msgctl": (71, 187),
    "mq_open": (240, 180),
    "mq_unlink": (241, 181),
    "setxattr": (188, 5),
    "lsetxattr": (189, 6),
    "fsetxattr": (190, 7),
    "removexattr": (197, 14),
    "lremovexattr": (198, 15),
    "fremovexattr": (199, 16),
    "setxattrat": (463, 463),
    "removexattrat": (466, 466),
}
# About itself only: the numbers of the arguments, and what they must be.
_OF_ITSELF: tuple[tuple[tuple[int, int], Mapping[int, int]], ...] = (
    ((302, 261), {0: 0}),  # prlimit64
    ((142, 118), {0: 0}),  # sched_setparam
    ((144, 119), {0: 0}),  # sched_setscheduler
    ((203, 122), {0: 0}),  # sched_setaffinity
    ((314, 274), {0: 0}),  # sched_setattr
    ((141, 140), {0: 0, 1: 0}),  # setpriority, of one process
    ((251, 30), {0: 1, 1: 0}),  # ioprio_set, of one process
)
# To connect by sending: no rule for ports is asked. Which argument holds the flags.
_FAST_OPEN = 0x20000000
_SENDS: tuple[tuple[tuple[int, int], int], ...] = (((44, 206), 3), ((46, 211), 2), ((307, 269), 3))
_NEW_NAMESPACES = 0x7E020000
_UNIX, _INET, _INET6, _NETLINK = 1, 2, 10, 16
_STREAM, _TYPE_MASK, _TCP = 1, 0xF, 6
_LOAD, _EQUAL, _AT_LEAST, _ANY_BIT, _AND, _RETURN = 0x20, 0x15, 0x35, 0x45, 0x54, 0x06
_NR, _ARCH = 0, 4
_ARGUMENTS = tuple(16 + 8 * number for number in range(6))  # the lower half of each
_ARG0, _ARG1, _ARG2 = _ARGUMENTS[:3]
_ALLOW, _KILL, _NO, _UNKNOWN = 0x7FFF0000, 0x80000000, 0x00050001, 0x00050026
_FOREIGN_ABI = 0x40000000

Instruction = tuple[int, int, int, int]


def call_filter(
    machine: str, *, unix: bool, inet: Inet, namespaces: bool, others: bool = False
) -> bytes | None:
    """Build the filter; None for a machine whose numbers we do not know.

    Args:
        machine: as platform.machine() calls it.
        unix: whether unix sockets may be made; pairs always may.
        inet: which sockets of the network may be made.
        namespaces: whether new namespaces and mounts may be tried.
        others: whether processes, memory and terminals of others are in reach, and have to be spared.
    """
    if machine not in _ARCHITECTURES:
        return None
    architecture, column = _ARCHITECTURES[machine]
    program = [
        (_LOAD, 0, 0, _ARCH),
        (_EQUAL, 1, 0, architecture),
        (_RETURN, 0, 0, _KILL),
        (_LOAD, 0, 0, _NR),
        (_AT_LEAST, 0, 1, _FOREIGN_ABI),
        (_RETURN, 0, 0, _NO),
    ]
    denied = {**_DENIED, **({} if namespaces else _OF_NAMESPACES), **(_OF_OTHERS if others else {})}
    for numbers in denied.values():
        program += [(_EQUAL, 0, 1, numbers[column]), (_RETURN, 0, 0, _NO)]
    if not namespaces:
        # clone3 has its flags in memory, where no filter can look: without it, libraries use clone.
        program += [(_EQUAL, 0, 1, _CLONE3[column]), (_RETURN, 0, 0, _UNKNOWN)]
        flags = [(_LOAD, 0, 0, _ARG0), (_ANY_BIT, 0, 1, _NEW_NAMESPACES), (_RETURN, 0, 0, _NO)]
        program += [(_EQUAL, 0, 4, _CLONE[column]), *flags, (_RETURN, 0, 0, _ALLOW)]
    for numbers, wanted in _OF_ITSELF if others else ():
        program += _when(numbers[column], list(_only(wanted)))
    for numbers, flags_at in _SENDS if inet == "stream" else ():
        flags = [(_LOAD, 0, 0, _ARGUMENTS[flags_at]), (_ANY_BIT, 0, 1, _FAST_OPEN), (_RETURN, 0, 0, _NO)]
        program += _when(numbers[column], flags)
    sockets = list(_sockets(unix=unix, inet=inet))
    program += [*_when(_SOCKET[column], sockets), (_RETURN, 0, 0, _ALLOW)]
    return b"".join(struct.pack("=HBBI", *each) for each in program)


def _when(number: int, then: list[Instruction]) -> list[Instruction]:
    """Do something at one call, which else is allowed."""
    return [(_EQUAL, 0, len(then) + 1, number), *then, (_RETURN, 0, 0, _ALLOW)]


def _only(wanted: Mapping[int, int]) -> Iterator[Instruction]:
    for at, value in wanted.items():
        yield from ((_LOAD, 0, 0, _ARGUMENTS[at]), (_EQUAL, 1, 0, value), (_RETURN, 0, 0, _NO))


def _sockets(*, unix: bool, inet: Inet) -> Iterator[Instruction]:
    """Look at the family, and of streams at type and protocol: MPTCP asks no rule for ports."""
    families = [_NETLINK, *([_UNIX] if unix else []), *([_INET, _INET6] if inet == "all" else [])]
    yield (_LOAD, 0, 0, _ARG0)
    for family in families:
        yield from ((_EQUAL, 0, 1, family), (_RETURN, 0, 0, _ALLOW))
    if inet == "stream":
        yield from ((_EQUAL, 1, 0, _INET), (_EQUAL, 0, 7, _INET6), (_LOAD, 0, 0, _ARG1))
        yield from ((_AND, 0, 0, _TYPE_MASK), (_EQUAL, 0, 4, _STREAM), (_LOAD, 0, 0, _ARG2))
        yield from ((_EQUAL, 1, 0, 0), (_EQUAL, 0, 1, _TCP), (_RETURN, 0, 0, _ALLOW))
    yield (_RETURN, 0, 0, _NO)
