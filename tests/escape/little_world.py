"""The first process of namespaces of its own: a system and a world of decoys, in which attempts are made.

    unshare --map-root-user --net --mount --propagation private -- python -I -S little_world.py ORDER.json

Must not import anything of ours. What the attempts aim at on the machine is laid over with files in memory
before any is made, and nothing of the machine is written; the network has a loopback alone, which has the
addresses of the world.
"""

import contextlib
import importlib.util
import json
import os
import socket
import subprocess
import sys
import threading
from pathlib import Path

WORLD = ("1.1.1.1", "8.8.8.8", "169.254.169.254", "10.0.0.1", "2606:4700:4700::1111")
STRANGER = "10.0.0.1"
"""Who is called example.com."""
PORTS = (22, 53, 80, 443)
OVERLAID = ("usr/bin", "usr/local", "opt")
FRESH = ("srv", "mnt", "media", "boot", "run", "var", "tmp")
DEVICES = ("null", "zero", "random", "urandom", "full")
PROGRAMS = ("usr", "lib", "lib64", "lib32", "libx32", "bin", "sbin")
KERNEL_FILES = dict.fromkeys(
    (
        *("proc/sys/kernel/core_pattern", "proc/sysrq-trigger", "proc/sys/vm/drop_caches", "proc/kcore"),
        "sys/power/state",
    ),
    "a decoy",
)
AUTHORITIES = Path("/etc/ssl/certs/ca-certificates.crt")
ETC = {
    "hosts": "127.0.0.1 localhost\n10.0.0.1 example.com\n",
    "nsswitch.conf": "hosts: files\npasswd: files\ngroup: files\n",
    "passwd": "root:x:0:0::/tmp:/bin/bash\n",
    "group": "root:x:0:\n",
    "shadow": "root:*:1::::::\n",
    "gshadow": "root:*::\n",
}


def main(order_file: str) -> None:
    order = json.loads(Path(order_file).read_text())
    canary = order["canary"].encode()
    machine = {Path(place).stat().st_dev for place in ("/", "/etc", "/usr", "/usr/bin", "/opt")}
    root = Path(order["root"])
    _lay(root, order["keep"])
    os.chroot(root)
    os.chdir("/")
    for place in ("/", "/etc", "/usr/bin", "/usr/local", "/opt", "/srv", "/boot", "/dev", "/tmp"):
        assert Path(place).stat().st_dev not in machine, f"{place} is the machine's own"
    reached = _open_the_world(canary)
    _serve(socket.AF_INET, ("127.0.0.1", order["port"]), canary, [])
    spec = importlib.util.spec_from_file_location("driver", order["driver"])
    assert spec is not None
    assert spec.loader is not None
    driver = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(driver)
    driver.main(order["attempts"], order["report"])
    Path(order["reached"]).write_text(json.dumps(reached))
    os._exit(0)  # the servers' threads wait for ever


def _mount(*words: str) -> None:
    subprocess.run(["mount", *words], check=True)


def _lay(root: Path, keep: list[str]) -> None:
    """Lay a system: programs of the machine, read-only; all else in memory."""
    _mount("-t", "tmpfs", "tmpfs", str(root))
    for here in Path("/").iterdir():
        if here.is_symlink():
            (root / here.name).symlink_to(here.readlink())
        elif here.name in PROGRAMS:
            _read_only(here, root / here.name)
    for name in OVERLAID:
        _overlay(root, name)
    for name in (*FRESH, "etc", "dev", "proc", "sys", "mnt/disk"):
        (root / name).mkdir(exist_ok=True)
    _lay_devices(root / "dev")
    for name, text in {**{f"etc/{each}": text for each, text in ETC.items()}, **KERNEL_FILES}.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text)
    if AUTHORITIES.is_file():  # without it, a client of TLS does not even ask
        (root / "etc/ssl/certs").mkdir(parents=True)
        (root / "etc/ssl/certs" / AUTHORITIES.name).write_bytes(AUTHORITIES.read_bytes())
    for place in keep:
        (root / place.strip("/")).mkdir(parents=True, exist_ok=True)
        _mount("--rbind", place, str(root / place.strip("/")))


def _overlay(root: Path, name: str) -> None:
    """Lay a folder in memory, from which links lead to what the machine has there."""
    _read_only(Path("/", name), root / "hidden" / name)
    (root / name).mkdir(parents=True, exist_ok=True)
    _mount("-t", "tmpfs", "tmpfs", str(root / name))
    for each in (root / "hidden" / name).iterdir():
        (root / name / each.name).symlink_to(f"/hidden/{name}/{each.name}")


def _lay_devices(folder: Path) -> None:
    for name in DEVICES:
        (folder / name).touch()
        _mount("--bind", f"/dev/{name}", str(folder / name))
    for name in ("mem", "kmsg", "sda"):
        (folder / name).write_text("a decoy")


def _read_only(here: Path, there: Path) -> None:
    there.mkdir(parents=True, exist_ok=True)
    if here.is_dir():
        _mount("--rbind", str(here), str(there))
        _mount("-o", "remount,bind,ro", str(there))


def _open_the_world(canary: bytes) -> list[int]:
    """Give the ports of a stranger to which somebody came, one for each time."""
    reached: list[int] = []
    for words in (
        *(("link", "set", "lo", "up"),),
        *(("addr", "add", f"{place}/{128 if ':' in place else 32}", "dev", "lo") for place in WORLD),
        *(("route", "add", "default", "dev", "lo"),),
    ):
        subprocess.run(["ip", *words], check=True)
    for place in WORLD:
        family = socket.AF_INET6 if ":" in place else socket.AF_INET
        for port in PORTS:
            _serve(family, (place, port), canary, reached if place == STRANGER else [])
    told = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    told.bind(("8.8.8.8", 53))
    threading.Thread(target=_answer, args=(told, canary), daemon=True).start()
    return reached


def _serve(family: int, address: tuple[str, int], canary: bytes, reached: list[int]) -> None:
    server = socket.socket(family, socket.SOCK_STREAM)
    server.bind(address)
    server.listen()
    threading.Thread(target=_greet, args=(server, canary, reached), daemon=True).start()


def _greet(server: socket.socket, canary: bytes, reached: list[int]) -> None:
    """Answer a page to who asks for one, and the canary to who says nothing."""
    while True:
        peer, _ = server.accept()
        reached.append(server.getsockname()[1])
        with peer, contextlib.suppress(OSError):
            peer.settimeout(0.3)
            heard = b""
            with contextlib.suppress(TimeoutError):
                heard = peer.recv(4096)
            page = b"HTTP/1.0 200 OK\r\nContent-Length: %d\r\n\r\n" % len(canary)
            peer.sendall((page if heard else b"") + canary)


def _answer(told: socket.socket, canary: bytes) -> None:
    while True:
        _, peer = told.recvfrom(64)
        told.sendto(canary, peer)


if __name__ == "__main__":
    main(*sys.argv[1:])
