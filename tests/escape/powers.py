"""Attempts on other processes, the kernel's powers, mounts and namespaces, and what an environment tells."""

from typing import Final

from tests.escape.attempt import GONE, NO_POWER, NO_WAY, NOBODY, NOTHING, Attempt, python, shell

_LIBC: Final = "import ctypes, os\nlibc = ctypes.CDLL(None, use_errno=True)\n"
_JUDGE: Final = (
    "\nerror = ctypes.get_errno()\nprint(os.strerror(error) if result < 0 else 'done')\n"
    "raise SystemExit(result < 0)"
)


def _call(code: str) -> str:
    """A program that makes one system call and fails with its error's text."""
    return f"{_LIBC}{code}{_JUDGE}"


_PROCESSES: Final = (
    *shell(
        "another process",
        NOBODY,
        [
            "grep -a @canary@ /proc/@victim@/environ",
            "grep -a pause /proc/@victim@/cmdline",
            "ls /proc/@victim@/fd",
            "cd /proc/@victim@ && ls -d root/.",
            "ls -d /proc/@victim@/cwd/.",
            "kill -0 @victim@",
            "kill -STOP @victim@ && kill -CONT @victim@",
            "renice -n 1 -p @victim@",
            "taskset -p @victim@",
            "prlimit --pid @victim@ --nofile",
            "chrt -p @victim@",
        ],
    ),
    *shell(
        "another process",
        NO_WAY + r"|\A\s*\Z",
        [
            "grep -alsE 'TOKEN=@canary@' /proc/[0-9]*/environ | grep -x /proc/@victim@/environ",
            "grep -als signal.pause /proc/[0-9]*/cmdline | grep -x /proc/@victim@/cmdline",
        ],
    ),
    *python(
        "another process",
        NOBODY,
        {
            "attached to": _call(
                "result = libc.ptrace(16, @victim@, None, None)\nerror = ctypes.get_errno()\n"
                "if result == 0:\n    os.waitid(os.P_ALL, 0, os.WEXITED | os.WSTOPPED | 0x40000000)\n"
                "    libc.ptrace(17, @victim@, None, None)\n"
                "ctypes.set_errno(error)"
            ),
            "its memory opened": "open('/proc/@victim@/mem', 'rb').close()",
            "held by a descriptor": "import os\nos.close(os.pidfd_open(@victim@))",
            "its descriptors taken": _call("result = libc.syscall(438, os.pidfd_open(@victim@), 0, 0)"),
            "its limits set": (
                "import resource\nlimit = resource.RLIMIT_NOFILE\n"
                "resource.prlimit(@victim@, limit, resource.prlimit(@victim@, limit))"
            ),
            "its place given": "import os\nos.setpriority(os.PRIO_PROCESS, @victim@, 1)",
            "its processors chosen": (
                "import os\nos.sched_setaffinity(@victim@, os.sched_getaffinity(@victim@))"
            ),
            "its group asked": "import os\nos.getpgid(@victim@)",
            "its scheduler asked": "import os\nos.sched_getscheduler(@victim@)",
        },
    ),
)
KERNEL: Final = (
    *shell(
        "mount",
        NO_POWER + "|" + GONE + "|must be",
        [
            "mount -t tmpfs none '@own_home@'",
            "mount --bind / '@own_home@'",
            "mount -o remount,rw /usr",
            "mount -o remount,rw,bind '@repo@'",
            "umount '@worktree@/.git'",
            "umount -l '@repo@/objects/info'",
            "umount '@admin@/commondir'",
            "umount /proc",
            "mount -t proc none /proc",
            "mount -t overlay none -o lowerdir=/,upperdir='@own_home@',workdir='@own_home@' '@own_home@'",
            "unshare -Urm true",
            "unshare -m true",
            "unshare -n true",
            "unshare -Upf --mount-proc true",
            "chroot / true",
            "pivot_root / /",
            "nsenter -t 1 -m true",
            "nsenter -t @victim@ -m true",
        ],
        only_inside=True,
    ),
    *shell(
        "become somebody",
        r"not permitted|denied|must be|no new privileges|not found|failure|Invalid|cannot|may not run",
        [
            "su -s /bin/sh -c true nobody < /dev/null",
            "sudo -n true",
            "setpriv --reuid 12345 true",
            "setpriv --inh-caps +sys_admin --ambient-caps +sys_admin true",
            "chown 12345 '@worktree@/answer.txt'",
            "echo 'test $(id -g) = 1' | newgrp daemon",
        ],
        only_inside=True,
    ),
    *python(
        "the kernel",
        NO_POWER,
        {
            "another user": "import os\nos.setuid(12345)",
            "another group": "import os\nos.setgroups([0, 4, 27])",
            "its name": "import socket\nsocket.sethostname('evil')",
            "the clock": "import time\ntime.clock_settime(time.CLOCK_REALTIME, time.time())",
            "its messages": _call("result = libc.klogctl(3, ctypes.create_string_buffer(64), 64)"),
            "accounting": _call("result = libc.acct(None)"),
            "a device": "import os\nos.mknod('@own_home@/disk', 0o60600, os.makedev(8, 0))",
            "a nicer place": "import os\nos.setpriority(os.PRIO_PROCESS, 0, -19)",
            "more than it may": (
                "import resource\nhard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]\n"
                "resource.setrlimit(resource.RLIMIT_NOFILE, (hard + 1, hard + 1))"
            ),
        },
        only_inside=True,
    ),
    # With arguments that nothing would come of: who may, is told that.
    *python(
        "the kernel",
        "not permitted",
        {
            "a program for it": _call("result = libc.syscall(321, 0, None, 0)"),
            "a module": _call("result = libc.syscall(175, None, 0, b'')"),
            "another kernel": _call("result = libc.syscall(246, 0, 0, None, 0)"),
            "swap": _call("result = libc.swapoff(b'/nowhere')"),
            "a file by its handle": _call("result = libc.syscall(304, -100, b'\\x08' + bytes(15), 0)"),
        },
        only_inside=True,
    ),
    # Not every kernel has any.
    *python(
        "the kernel",
        "not permitted|not implemented",
        {"ports": _call("result = libc.ioperm(0x70, 1, 1)")},
        only_inside=True,
    ),
)
_ENVIRONMENT: Final = (
    *shell(
        "environment",
        NOTHING,
        [
            'test -n "$SSH_AUTH_SOCK"',
            'test -n "$DBUS_SESSION_BUS_ADDRESS"',
            'test -n "$XDG_RUNTIME_DIR"',
            "env | grep -i @canary@",
            "env | grep -E '^(GITHUB|AWS|NPM|GH|FORGE)_'",
            "env | grep -E '^(LD|GIT|PYTHON|NODE_OPTIONS|BASH_ENV)'",
            "cat /proc/1/environ /proc/$PPID/environ | tr '\\0' '\\n' | grep -a '=@canary@'",
        ],
    ),
    # The control's own starter has no canary in its command line.
    *shell(
        "environment",
        NOTHING,
        ["cat /proc/1/cmdline /proc/$PPID/cmdline | grep -a @canary@"],
        only_inside=True,
    ),
)
POWERS: Final[tuple[Attempt, ...]] = (*_PROCESSES, *KERNEL, *_ENVIRONMENT)
