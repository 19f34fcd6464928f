"""Runs inside: looks for a credential wherever a test of the repository could, and writes down where it was.

    python3 -I searcher.py HEX REPORT.json

Must not import anything of ours, nor be told the credential itself: it would find that.
"""

import json
import os
import re
import socket
import sys
from collections import Counter
from collections.abc import Iterator
from itertools import chain
from pathlib import Path
from typing import IO

Look = tuple[str, str, bytes]
_PIECE = 4 * 1024 * 1024
_MOST = 256 * 1024 * 1024
_SYSTEM = {"/proc", "/sys", "/dev", "/usr", "/lib", "/lib64", "/bin", "/sbin", "/etc", "/opt"}
_INSTALLED = {"site-packages", "node_modules", "lib", "lib64", "include", "share", "proc"}
_MAPPED = re.compile(r"([0-9a-f]+)-([0-9a-f]+) (\S+)")


def main(needle_hex: str, report_file: str) -> None:
    needle = bytes.fromhex(needle_hex)
    found, looked = set(), Counter[str]()
    for kind, place, data in chain(_of_processes(), _of_folders(), _of_sockets()):
        looked[kind] += 1
        if needle in data or needle[::-1] in data:
            found.add(f"{kind} {place}")
    Path(report_file).write_text(json.dumps({"found": sorted(found), "looked": looked}))


def _of_processes() -> Iterator[Look]:
    for process in Path("/proc").glob("[0-9]*"):
        if process.name == str(os.getpid()):
            continue
        for path in (process / "environ", process / "cmdline", *process.glob("task/*/environ")):
            yield from _read(path.name, path)
        for path in process.glob("fd/*"):
            if _is_file(path):
                yield from _read("descriptor", path)
        yield from _of_memory(process)


def _of_folders() -> Iterator[Look]:
    for path in (path for top in _folders() for path in _below(top)):
        if not path.is_symlink() and _is_file(path):
            yield from _read("file", path)


def _below(top: Path) -> Iterator[Path]:
    for folder, below, names in os.walk(top):
        below[:] = [name for name in below if name not in _INSTALLED]
        yield from (Path(folder, name) for name in names)


def _folders() -> list[Path]:
    """All that is not of the system: HOME, the worktree, what stands beside them."""
    own = [Path(os.environ["HOME"]), Path(os.environ["TMPDIR"]), Path.cwd(), Path("/dev/shm")]
    return own + [top for top in Path("/").iterdir() if str(top) not in _SYSTEM and top.is_dir()]


def _is_file(path: Path) -> bool:
    try:
        return path.is_file()
    except OSError:
        return False


def _read(kind: str, path: Path) -> Iterator[Look]:
    try:
        with path.open("rb") as file:
            yield kind, str(path), file.read(_MOST)
    except OSError:
        return


def _of_memory(process: Path) -> Iterator[Look]:
    """Read what of its memory is really there, as a debugger would."""
    begin = end = 0
    try:
        with (process / "mem").open("rb", buffering=0) as held:
            for line in (process / "smaps").read_text().splitlines():
                if mapped := _MAPPED.match(line):
                    begin, end = int(mapped[1], 16), int(mapped[2], 16)
                    end = min(end, begin + _MOST) if mapped[3].startswith("rw") else begin
                elif line.startswith("Rss:") and line.split()[1] != "0":
                    yield from _pieces(str(process), held, begin, end)
    except OSError:
        return


def _pieces(process: str, held: IO[bytes], begin: int, end: int) -> Iterator[Look]:
    tail = b""
    while begin < end:
        try:
            held.seek(begin)
            piece = held.read(min(_PIECE, end - begin))
        except (OSError, OverflowError):
            return
        yield "memory", process, tail + piece
        tail, begin = piece[-256:], begin + max(1, len(piece))


def _of_sockets() -> Iterator[Look]:
    """Hear what every socket within reach says: unasked, to a question, to a call of the model's service."""
    lines = Path("/proc/net/unix").read_text().splitlines()[1:]
    named = [line.split()[-1] for line in lines if "/" in line]
    port = os.environ.get("HTTPS_PROXY", "").rpartition(":")[2]
    beside = [str(path) for top in _folders() for path in _below(top) if path.suffix == ".sock"]
    for place in dict.fromkeys((*named, *beside, port)):
        for asked in _questions(port):
            yield "socket", place, _answer(place, asked)


def _questions(port: str) -> Iterator[bytes]:
    yield b""
    own = [value for name, value in os.environ.items() if "KEY" in name or "TOKEN" in name]
    for line in ("GET /", "GET /v1/models", "TRACE /v1/messages"):
        for key in ("", *own):
            signed = f"x-api-key: {key}\r\n" if key else ""
            head = f"{line} HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\n{signed}Content-Length: 0\r\n\r\n"
            yield head.encode()


def _answer(place: str, asked: bytes) -> bytes:
    is_port = place.isdigit()
    family = socket.AF_INET if is_port else socket.AF_UNIX
    got = b""
    try:
        with socket.socket(family, socket.SOCK_STREAM) as client:
            client.settimeout(0.5)
            client.connect(("127.0.0.1", int(place)) if is_port else place)
            client.sendall(asked)
            while piece := client.recv(65536):
                got += piece
    except OSError:
        return got
    return got


if __name__ == "__main__":
    main(*sys.argv[1:])
