"""What a child prints, on its way from the pipe into a file and the last of it into memory.

Must not decode or look for lines: a child may print bytes that are no text, and a line of any length.
"""

from __future__ import annotations

import os
import selectors
import sys
from contextlib import ExitStack, suppress
from typing import IO, TYPE_CHECKING, Self

from autopilot.config.redactor import Redactor

if TYPE_CHECKING:
    from collections.abc import Collection
    from pathlib import Path

CHUNK_BYTES = 64 * 1024
TAIL_BYTES = 64 * 1024
END_BYTES = 32 * 1024
"""How much of the end of a file is kept when there is more than it may hold."""
LEAST_FREE_BYTES, LEAST_FREE_SHARE = 64 * 1024 * 1024, 10
"""A log grows no more once the disk has less than this free, or less than a tenth of it all: what a child
prints must not take the room that its result, and the queue, still need."""
_FOR_ENDS_BYTES = 2 * (END_BYTES + 64)
"""Of the ceiling, what the ends of both files and the line above them take."""


class Stream:
    """One pipe, its file, and its tail."""

    def __init__(self, path: Path, files: ExitStack, redactor: Redactor | None) -> None:
        """Open the file anew, for this user only, and a pipe whose far end is the child's."""
        self.redactor = redactor
        self.file = files.enter_context(_open_private(path, os.O_TRUNC))
        self.near, self.far = os.pipe()
        files.callback(os.close, self.near)
        self._tail = bytearray()
        self._end = bytearray()
        self._left_out_bytes = 0
        self.is_short = False

    def clean(self, raw: bytes) -> bytes:
        """Take credentials out of what came; nothing more comes after an empty piece."""
        if self.redactor is None:
            return raw
        if raw:
            return self.redactor.feed(raw)
        rest, self.redactor = self.redactor.end(), None
        return rest

    @property
    def tail(self) -> bytes:
        """The last of it."""
        return bytes(self._tail)

    def keep(self, chunk: bytes, *, head: bytes) -> None:
        """Remember a chunk; write down what belongs to the head of the file, while there is room."""
        if head and not self.is_short and _has_room(self.file):
            self.file.write(head)
            self.file.flush()
        elif head:
            self.is_short = True
            self.hold_back(head, is_over=True)
        self._tail += chunk
        del self._tail[:-TAIL_BYTES]

    def hold_back(self, rest: bytes, *, is_over: bool) -> None:
        """Remember what comes after the head; of too much its end, which says more than its middle."""
        self._end += rest
        if is_over:
            self._left_out_bytes += max(0, len(self._end) - END_BYTES)
            del self._end[:-END_BYTES]

    def write_end(self) -> None:
        """Write below the head what was held back, and how much is missing in between."""
        if self._left_out_bytes:
            self.file.write(b"\n[%d bytes are left out here]\n" % self._left_out_bytes)
        self.file.write(self._end)
        self._end.clear()


class Streams:
    """Output and errors of one child. `discards` makes it read on without keeping anything."""

    def __init__(
        self,
        *,
        output: Path,
        stderr: Path | None,
        most_bytes: int | None,
        hides: Collection[str] | None = None,
    ) -> None:
        """Take the files (None: errors go with the output) and the most that is kept of both.

        `hides` are values that are never written down or handed on, nor is what looks like one; None: all is.
        """
        self._hides = hides
        self._files = ExitStack()
        self._selector = selectors.DefaultSelector()
        self._ceiling_bytes = most_bytes
        self._seen_bytes = 0
        self._opened: list[Stream] = []
        self.discards = False
        with ExitStack() as half_open:
            half_open.callback(self.close)
            self.output = self._open(output)
            self.errors = self.output if stderr is None else self._open(stderr)
            half_open.pop_all()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close files and pipes; a file that was cut gets its end, where there is room."""
        for stream in self._opened:
            with suppress(OSError):
                self._keep(stream, stream.clean(b""))
                stream.write_end()
        self._opened.clear()
        self._selector.close()
        self._files.close()

    @property
    def is_over_ceiling(self) -> bool:
        """Whether the child printed more than is kept."""
        return self._ceiling_bytes is not None and self._seen_bytes > self._ceiling_bytes

    @property
    def stderr_tail(self) -> bytes:
        """The last of the errors; empty when they go with the output."""
        return b"" if self.errors is self.output else self.errors.tail

    def wake_when_ended(self, pid: int) -> None:
        """Let `pump` return early when the child ends, where the system can tell (pidfd_open(2))."""
        if sys.platform == "linux":
            with suppress(OSError):
                descriptor = os.pidfd_open(pid)
                self._files.callback(os.close, descriptor)
                self._selector.register(descriptor, selectors.EVENT_READ, None)

    def close_far_ends(self) -> None:
        """Give up the child's ends, so that the pipe ends when the child's side does."""
        for stream in {self.output, self.errors}:
            os.close(stream.far)

    def has_input(self) -> bool:
        """Whether something waits to be moved, the end of a pipe included."""
        return bool(self._selector.select(0))

    def pump(self, timeout_s: float) -> tuple[bool, list[bytes]]:
        """Move what has arrived.

        Args:
            timeout_s: how long to wait for the first of it.

        Returns:
            Whether anything was moved, and the chunks of output (not of errors) in their order.
        """
        moved, chunks = False, []
        for key, _ in self._selector.select(timeout_s):
            stream: Stream | None = key.data
            raw = os.read(stream.near, CHUNK_BYTES) if stream is not None else b""
            if stream is None or not raw:
                self._selector.unregister(key.fileobj)
            if stream is None:
                continue
            moved = moved or bool(raw)
            kept = self._keep(stream, stream.clean(raw))
            if kept and stream is self.output:
                chunks.append(kept)
        return moved, chunks

    def finish(self) -> list[bytes]:
        """Let go of what was kept back until the pipe's end, for others may hold that open; gives output."""
        chunks = []
        for stream in self._opened:
            kept = self._keep(stream, stream.clean(b""))
            if kept and stream is self.output:
                chunks.append(kept)
        return chunks

    def _keep(self, stream: Stream, raw: bytes) -> bytes:
        kept, head = raw, raw
        if self._ceiling_bytes is not None:
            kept = raw[: max(0, self._ceiling_bytes - self._seen_bytes)]
            head_bytes = self._ceiling_bytes - min(_FOR_ENDS_BYTES, self._ceiling_bytes)
            head = raw[: max(0, head_bytes - self._seen_bytes)]
        self._seen_bytes += len(raw)
        if not self.discards:
            stream.keep(kept, head=head)
            stream.hold_back(raw[len(head) :], is_over=self.is_over_ceiling or stream.is_short)
        return kept

    def _open(self, path: Path) -> Stream:
        redactor = None if self._hides is None else Redactor(self._hides)
        stream = Stream(path, self._files, redactor)
        self._opened.append(stream)
        self._selector.register(stream.near, selectors.EVENT_READ, stream)
        return stream


def _has_room(file: IO[bytes]) -> bool:
    """Tell whether a log may grow. Source: statvfs(3): blocks are counted in `f_frsize`."""
    disk = os.fstatvfs(file.fileno())
    return disk.f_bavail * disk.f_frsize >= least_free_bytes(disk)


def least_free_bytes(disk: os.statvfs_result) -> int:
    """Give what has to be free on a disk for a log to grow."""
    return min(LEAST_FREE_BYTES, disk.f_blocks * disk.f_frsize // LEAST_FREE_SHARE)


def append_to(path: Path) -> IO[bytes]:
    """Open a file of ours at its end, for this user only."""
    return _open_private(path, os.O_APPEND)


def _open_private(path: Path, how: int) -> IO[bytes]:
    return os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | how, 0o600), "wb")
