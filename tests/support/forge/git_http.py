"""Real git over HTTP: hands one request to `git http-backend` and back."""

import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from tests.support.gitcmd import git_binary, git_environment

BACKEND_TIMEOUT_S: Final = 60.0


@dataclass(frozen=True, slots=True)
class GitRequest:
    """One request of the smart protocol, body already un-chunked and un-gzipped."""

    method: str
    path: str
    query: str
    content_type: str
    protocol: str
    body: bytes


@dataclass(frozen=True, slots=True)
class GitAnswer:
    """What the backend said."""

    status: int
    headers: tuple[tuple[str, str], ...]
    body: bytes


def serve(root: Path, request: GitRequest) -> GitAnswer:
    """Run the backend of the installed git below `root`.

    Source: git-http-backend(1); RFC 3875 for the variables.
    """
    env = git_environment(run_hooks=True) | {
        "GIT_PROJECT_ROOT": str(root),
        "GIT_HTTP_EXPORT_ALL": "1",
        "PATH_INFO": request.path,
        "QUERY_STRING": request.query,
        "REQUEST_METHOD": request.method,
        "CONTENT_TYPE": request.content_type,
        "CONTENT_LENGTH": str(len(request.body)),
        "REMOTE_USER": "bot",
        "REMOTE_ADDR": "127.0.0.1",
    }
    if request.protocol:
        env["GIT_PROTOCOL"] = request.protocol
    done = subprocess.run(
        [git_binary(), "http-backend"],
        env=env,
        input=request.body,
        capture_output=True,
        timeout=BACKEND_TIMEOUT_S,
        check=False,
    )
    head, _, data = done.stdout.partition(b"\r\n\r\n")
    rows = [line.split(": ", 1) for line in head.decode().split("\r\n") if ": " in line]
    status = next((int(value.split()[0]) for name, value in rows if name == "Status"), 200)
    headers = tuple((name, value) for name, value in rows if name != "Status")
    return GitAnswer(status, headers, data)
