"""Attempts on the two doors that a real run has: the forwarder with the outlet behind it, the guard's socket.

Inside they go through the door; without a sandbox there is none in the way, and they go straight.
"""

from typing import Final

from tests.escape.attempt import SHUT, Attempt, python, shell

_PAGE: Final = """
import os, urllib.error, urllib.request
ways = {{'http': os.environ['HTTP_PROXY']}} if 'HTTP_PROXY' in os.environ else {{}}
for name in ('NO_PROXY', 'no_proxy'):
    os.environ.pop(name, None)
ask = urllib.request.build_opener(urllib.request.ProxyHandler(ways))
try:
    got = ask.open(urllib.request.Request({url!r}, {data!r}), timeout=10).read().decode()
except urllib.error.HTTPError as refused:
    got = f"{{refused.code}} {{refused.headers.get('X-Autopilot-Refused')}}"
print(got)
raise SystemExit('@canary@' not in got)
"""
_WIRE: Final = """
import os, socket
if 'HTTP_PROXY' in os.environ:
    s = {door}
    s.settimeout(10)
    s.sendall({ask!r})
else:
    s = socket.create_connection(('127.0.0.1', @port@), 10)
got = b''
while b'@canary@' not in got and (piece := s.recv(4096)):
    got += piece
print(got.decode())
raise SystemExit(b'@canary@' not in got)
"""
_BY_PORT: Final = (
    "socket.create_connection(('127.0.0.1', int(os.environ['HTTP_PROXY'].rpartition(':')[2].strip('/'))), 10)"
)
_BY_FILE: Final = "socket.socket(socket.AF_UNIX); s.connect('@outlet@')"


def _page(url: str, data: bytes | None = None) -> str:
    return _PAGE.format(url=url, data=data)


def _wire(door: str, ask: str) -> str:
    return _WIRE.format(door=door, ask=ask.encode())


_OUTLET: Final = python(
    "the outlet",
    "403 |502 ",
    {
        "a page of the machine by its address": _page("http://127.0.0.1:@web@/secret"),
        "a page of the machine by its name": _page("http://localhost:@web@/secret"),
        "a page of the machine by a number": _page("http://2130706433:@web@/secret"),
        "something sent there": _page("http://127.0.0.1:@web@/secret", b"stolen"),
        "where its own service sends it": _page("http://127.0.0.1:@service@/away"),
        "a tunnel": _wire(_BY_PORT, "CONNECT 127.0.0.1:@port@ HTTP/1.1\r\n\r\n"),
        "a tunnel by a name": _wire(_BY_PORT, "CONNECT localhost:@port@ HTTP/1.1\r\nHost: localhost\r\n\r\n"),
        "a tunnel past the forwarder": _wire(_BY_FILE, "CONNECT 127.0.0.1:@port@ HTTP/1.1\r\n\r\n"),
        "its own service under another name": _wire(
            _BY_PORT,
            "GET http://127.0.0.1:@service@/ HTTP/1.1\r\nHost: 127.0.0.1:@port@\r\n\r\n",
        ),
    },
)
_PLACES: Final = shell(
    "a door",
    SHUT,
    [
        *(f"mv '{door}' '{door}.old' && mv '{door}.old' '{door}'" for door in ("@outlet@", "@guard@")),
        *(f"chmod 666 '{door}' && chmod 600 '{door}'" for door in ("@outlet@", "@guard@")),
    ],
)
DOORS: Final[tuple[Attempt, ...]] = (*_OUTLET, *_PLACES)

FLOOD: Final = """
import socket, time
held = []
for _ in range(300):
    s = socket.socket(socket.AF_UNIX)
    s.settimeout(0.2)
    try:
        s.connect('@guard@')
        s.send(b'{"tool_name": "Bash", ')
    except OSError:
        pass
    held.append(s)
"""
"""Half questions, far more than are listened to at one time."""
OTHER_QUESTIONS: Final = """
import json, socket
bash = {'hook_event_name': 'PreToolUse', 'tool_name': 'Bash', 'cwd': '@worktree@'}
for asked in (
    'GET / HTTP/1.0\\r\\n\\r\\n', 'stop', 'allow\\n', '[]', '[' * 90000, '{"hosts": ["evil.example"]}',
    json.dumps({**bash, 'tool_input': {'command': 'git push'}}),
    json.dumps({**bash, 'tool_input': {'command': 'git push'}, 'decision': 'allow'}),
    json.dumps({**bash, 'tool_input': {'command': 'cat x'}, 'cwd': '/'}),
    json.dumps({**bash, 'tool_name': 'Configure', 'tool_input': {'mcp_tools': ['x']}}),
):
    s = socket.socket(socket.AF_UNIX)
    s.settimeout(10)
    s.connect('@guard@')
    s.sendall(asked.encode())
    s.shutdown(socket.SHUT_WR)
    answer = b''
    while piece := s.recv(4096):
        answer += piece
    print(asked[:40], answer[:80])
    if not answer.startswith(b'block\\n'):
        raise SystemExit(0)
raise SystemExit(1)
"""
