"""Attempts on the network: servers of the machine, sockets of the person, names, the world."""

from typing import Final

from tests.escape.attempt import GONE, NO_ROUTE, NO_WAY, Attempt, python, shell

_HEARD: Final = "\nraise SystemExit(b'@canary@' not in s.recv(64))"


def _tcp(family: str, host: str, port: str) -> str:
    return (
        f"import socket\ns = socket.socket(socket.{family})\ns.settimeout(5)\ns.connect(({host!r}, {port}))"
        + _HEARD
    )


_SERVERS: Final = (
    *python(
        "a server",
        NO_ROUTE,
        {
            "by its address": _tcp("AF_INET", "127.0.0.1", "@port@"),
            "by its name": _tcp("AF_INET", "localhost", "@port@"),
            "by no address": _tcp("AF_INET", "0.0.0.0", "@port@"),  # noqa: S104 - where an attempt connects to
            "by a number": _tcp("AF_INET", "2130706433", "@port@"),
            "in octal": _tcp("AF_INET", "0177.0.0.1", "@port@"),
            "shortened": _tcp("AF_INET", "127.1", "@port@"),
            "over IPv6": _tcp("AF_INET6", "::1", "@port6@"),
            "over several paths": _tcp("AF_INET", "127.0.0.1", "@port@").replace(
                "AF_INET)", "AF_INET, socket.SOCK_STREAM, 262)"
            ),
            "with the first packet": (
                "import socket\ns = socket.socket(socket.AF_INET)\n"
                "s.sendto(b'x', 0x20000000, ('127.0.0.1', @port@))" + _HEARD
            ),
            "mapped into IPv6": _tcp("AF_INET6", "::ffff:127.0.0.1", "@port@"),
        },
    ),
    *python(
        "a server",
        r"timed out|" + NO_ROUTE,
        {
            "by datagram": (
                "import socket\ns = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)\ns.settimeout(1)\n"
                "s.connect(('127.0.0.1', @udp@))\ns.send(b'x')" + _HEARD
            ),
        },
    ),
    *shell(
        "a server",
        NO_ROUTE,
        ["exec 3<>/dev/tcp/127.0.0.1/@port@ && grep -a @canary@ <&3"],
    ),
)
_SOCKETS: Final = python(
    "a unix socket",
    f"{GONE}|refused",
    {
        **{
            name: f"import socket\ns = socket.socket(socket.AF_UNIX)\ns.connect({path!r})" + _HEARD
            for name, path in {
                "the session bus": "@bus@",
                "the session bus by a link": "@person@/.bus",
                "the daemon's": "@control@",
                "the daemon's by a link": "@state@/control.sock",
                "without a file": "\0@abstract@",
            }.items()
        },
    },
)
_PLACES: Final = {
    "its bus": "/run/dbus/system_bus_socket",
    "its init": "/run/systemd/private",
    "its containers": "/run/docker.sock",
    "its log": "/run/systemd/journal/socket",
    "its screen": "/tmp/.X11-unix/X0",
}
_MACHINE: Final = (
    *python(
        "the machine",
        NO_WAY + "|" + NO_ROUTE,
        {
            name: f"import socket\ns = socket.socket(socket.AF_UNIX)\ns.settimeout(5)\ns.connect({path!r})"
            for name, path in _PLACES.items()
        },
        only_inside=True,
    ),
    # The same with a decoy that is there on every machine.
    *python(
        "a decoy of the machine",
        NO_WAY + "|" + NO_ROUTE,
        {
            name: f"import socket\ns = socket.socket(socket.AF_UNIX)\ns.connect('@machine@{path}')" + _HEARD
            for name, path in _PLACES.items()
        },
    ),
)
_WORLD: Final = (
    *python(
        "the world",
        NO_ROUTE,
        {
            "a resolver": _tcp("AF_INET", "1.1.1.1", "53"),
            "a cloud's secrets": _tcp("AF_INET", "169.254.169.254", "80"),
            "a neighbour": _tcp("AF_INET", "10.0.0.1", "22"),
            "over IPv6": _tcp("AF_INET6", "2606:4700:4700::1111", "53"),
            "a name": "import socket\nsocket.getaddrinfo('example.com', 80)",
            "a question to a resolver": (
                "import socket\ns = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)\ns.settimeout(1)\n"
                "s.sendto(b'x' * 20, ('8.8.8.8', 53))\ns.recv(64)"
            ),
            "everybody": (
                "import socket\ns = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)\n"
                "s.setsockopt(socket.SOL_SOCKET, socket.SO_BROADCAST, 1)\n"
                "s.sendto(b'x', ('255.255.255.255', 9))"
            ),
            "a group": (
                "import socket\ns = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)\n"
                "s.sendto(b'x', ('224.0.0.251', 9))"
            ),
        },
        only_inside=True,
    ),
    *python(
        "raw",
        r"not permitted|not supported|denied|unreachable|No such device|refused|invalid|reset|timed out",
        {
            "packets": "import socket\nsocket.socket(socket.AF_INET, socket.SOCK_RAW, 1)",
            "frames": "import socket\nsocket.socket(17, socket.SOCK_RAW, 768)",
            "the hypervisor": (
                "import socket\ns = socket.socket(40, socket.SOCK_STREAM)\ns.settimeout(2)\ns.connect((2, 1))"
            ),
            "a new link": (
                "import socket, struct\ns = socket.socket(16, socket.SOCK_RAW, 0)\n"
                "s.send(struct.pack('=IHHIIBxHiII', 32, 16, 0x605, 1, 0, 0, 0, 0, 0, 0))\n"
                "answer = s.recv(512)\nerror = -struct.unpack_from('=i', answer, 16)[0]\n"
                "import os\nprint(os.strerror(error))\nraise SystemExit(error != 0)"
            ),
        },
        only_inside=True,
    ),
    *shell(
        "commands",
        r"resolve|refused|connect|unreachable|not permitted|No such|403",
        [
            "curl -sSf -m 5 http://127.0.0.1:@web@/ | grep @canary@",
            "curl -sSf -m 5 --noproxy '*' http://localhost:@web@/ | grep @canary@",
            "curl -sSf -m 5 --unix-socket '@machine@/run/web.sock' http://x/ | grep @canary@",
            "curl -sS -m 5 --http0.9 http://127.0.0.1:@port@/ | grep @canary@",
            "curl -sS -m 5 --http0.9 --unix-socket '@control@' http://x/ | grep @canary@",
            "exec 3<>/dev/tcp/127.1/@web@ && echo -e 'GET / HTTP/1.0\\r\\n\\r' >&3 && grep -a @canary@ <&3",
        ],
    ),
    *shell(
        "commands",
        r"not found|resolve|refused|connect|unreachable|not permitted|No such|No user exists|403",
        [
            "curl -sS -m 5 https://example.com/",
            "curl -sS -m 5 --proxy 127.0.0.1:@port@ http://example.com/",
            "git ls-remote https://example.com/x.git",
            "ssh -o BatchMode=yes -o ConnectTimeout=3 git@example.com true",
            "getent ahosts example.com || { echo not found; false; }",
            "ip link add evil type dummy",
        ],
        only_inside=True,
    ),
)
NETWORK: Final[tuple[Attempt, ...]] = (*_SERVERS, *_SOCKETS, *_MACHINE, *_WORLD)
