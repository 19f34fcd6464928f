"""The hook's command: hands one event to the guard's socket and ends with 0 (allowed) or 2 (refused).

Run as `python -I -S client.py SOCKET [SECONDS]`, inside the sandbox too: so it is one file, and imports only
built-in modules. Must not judge, and must never end with anything but 0 or 2: an agent takes another code for
"go on". Silence is an allowed answer; a reason for a refusal goes to standard error.
Source: Claude Code hooks, exit codes: 2 blocks, every other code but 0 is shown and does not.
"""

import _signal  # type: ignore[import-not-found] # the module behind `signal`, without its 3 ms of enums
import _socket
import sys
from posix import _exit, chdir, read, write

DEADLINE_S = 5.0
ALLOWED, REFUSED = 0, 2
CHUNK_BYTES = 65536
YES = b"allow\n"
NO = b"block\n"


def main(words: list[str]) -> int:
    """Ask and give the exit code; every fault leaves by an exception, which the caller turns into 2."""
    seconds = min(float(words[2]), DEADLINE_S) if len(words) > 2 else DEADLINE_S  # noqa: PLR2004 - argv
    _signal.signal(_signal.SIGALRM, _late)
    _signal.pthread_sigmask(_signal.SIG_UNBLOCK, (_signal.SIGALRM,))
    _signal.setitimer(_signal.ITIMER_REAL, seconds)
    event = _all_of(lambda: read(0, CHUNK_BYTES))
    folder, slash, name = words[1].rpartition("/")
    if slash:
        chdir(folder or "/")  # a socket's address is short, its folder's path need not be
    asked = _socket.socket(_socket.AF_UNIX, _socket.SOCK_STREAM)
    asked.connect(name)
    asked.sendall(event)
    asked.shutdown(_socket.SHUT_WR)
    answer = _all_of(lambda: asked.recv(CHUNK_BYTES))
    if answer == YES:
        return ALLOWED
    write(2, answer[len(NO) :] if answer.startswith(NO) and len(answer) > len(NO) else b"guard: no answer\n")
    return REFUSED


def _all_of(more: object) -> bytes:
    chunks = []
    while chunk := more():  # type: ignore[operator]
        chunks.append(chunk)
    return b"".join(chunks)


def _late(_number: int, _frame: object) -> None:
    write(2, b"guard: no answer in time, so this is refused\n")
    _exit(REFUSED)


if __name__ == "__main__":
    code = REFUSED
    try:
        code = main(sys.argv)
    except BaseException as fault:
        write(2, f"guard: {fault!r}, so this is refused\n".encode(errors="replace"))
        raise
    finally:
        _exit(code)
