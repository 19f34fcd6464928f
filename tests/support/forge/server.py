"""A forge on loopback: git smart HTTP and GitHub's REST behind one port.

with Forge(tmp_path / "forge") as forge:
    forge.repositories.add("o/r")
    forge.api_url, forge.git_url("o/r"), forge.token
"""

import base64
import binascii
import json
import threading
import urllib.parse
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final

from tests.support.forge import git_http
from tests.support.forge.faults import Fault
from tests.support.forge.github import Answer, GitHub
from tests.support.forge.issues import Issues
from tests.support.forge.spec import GitHubSpec
from tests.support.forge.state import Pull, Pulls, Repositories
from tests.support.gitcmd import git
from tests.support.loopback import LoopbackHandler, LoopbackServer

TOKEN: Final = "dummy-token-for-loopback"
_GHES_PREFIX: Final = "/api/v3"
_JSON_TYPE: Final = "application/json; charset=utf-8"


@dataclass(frozen=True, slots=True)
class Recorded:
    """One request as the forge saw it; the credential itself is never kept."""

    method: str
    path: str
    query: str
    body: Any
    headers: dict[str, str]
    is_authorized: bool
    status: int | None

    @property
    def line(self) -> str:
        """The request as "METHOD /path"."""
        return f"{self.method} {self.path}"


@dataclass(frozen=True, slots=True)
class _Reply:
    status: int
    headers: dict[str, str]
    data: bytes


class Forge(LoopbackServer):
    """The whole stand-in: state, faults to come, requests seen."""

    def __init__(self, root: Path, *, token: str = TOKEN) -> None:
        self.token = token
        self.repositories = Repositories(root)
        self.pulls = Pulls(self.repositories)
        self.issues = Issues()
        self.github = GitHub(GitHubSpec(), self.repositories, self.pulls, self.issues)
        self._faults: list[Fault] = []
        self._recorded: list[Recorded] = []
        self._arrived: list[str] = []
        self._state_lock = threading.Lock()
        super().__init__(_Handler)

    @property
    def api_url(self) -> str:
        """What a client takes for https://api.github.com."""
        return self.url

    def git_url(self, full_name: str) -> str:
        """The URL to clone from and push to."""
        return f"{self.url}/{full_name}.git"

    def fail_next(self, *faults: Fault) -> None:
        """Let requests that fit meet these faults, in this order."""
        with self._state_lock:
            self._faults += faults

    def take_fault(self, line: str) -> Fault | None:
        """The fault that a request meets, used up by one."""
        with self._state_lock:
            for index, fault in enumerate(self._faults):
                if fault.fits(line):
                    left = replace(fault, times=fault.times - 1)
                    self._faults[index : index + 1] = [left] if left.times > 0 else []
                    return fault
        return None

    def note_arrival(self, line: str) -> None:
        with self._state_lock:
            self._arrived.append(line)

    def arrivals(self, part: str = "") -> list[str]:
        """Every "METHOD /path" that reached us, answered or not yet (see `faults.slow`)."""
        with self._state_lock:
            return [line for line in self._arrived if part in line]

    def record(self, seen: Recorded) -> None:
        with self._state_lock:
            self._recorded.append(seen)

    def requests(self, part: str = "") -> list[Recorded]:
        """What was answered so far, oldest first, whose "METHOD /path" holds this part."""
        with self._state_lock:
            return [seen for seen in self._recorded if part in seen.line]

    def merge(self, full_name: str, number: int, *, delete_branch: bool = True) -> Pull:
        """A person merges the pull request and, as many do, deletes its branch."""
        pull = self.pulls.get(full_name, number)
        assert pull, f"no pull request {number} in {full_name}"
        path, base = self.repositories.existing(full_name), f"refs/heads/{pull.base}"
        tree = f"{pull.sha}^{{tree}}"
        sha = git(path, "commit-tree", tree, "-p", base, "-p", pull.sha, "-m", pull.title)
        git(path, "update-ref", base, sha)
        merged = replace(pull, state="closed", is_merged=True, draft=False)
        self.pulls.put(merged)
        if delete_branch:
            self.repositories.delete_branch(full_name, pull.head)
        return merged

    def close_pull(self, full_name: str, number: int) -> Pull:
        """A person closes the pull request without merging it."""
        pull = self.pulls.get(full_name, number)
        assert pull, f"no pull request {number} in {full_name}"
        return self.pulls.put(replace(pull, state="closed"))


class _Handler(LoopbackHandler):
    server: Forge

    def _handle(self) -> None:
        raw = self.read_body()
        path, _, query = self.path.partition("?")
        line = f"{self.command} {path}"
        self.server.note_arrival(line)
        reply = self._reply(self.server.take_fault(line), raw)
        self.server.record(
            Recorded(
                self.command,
                path,
                query,
                _recorded_body(raw),
                _recorded_headers(dict(self.headers.items())),
                self._is_authorized(),
                reply.status if reply else None,
            )
        )
        if reply is None:
            self.cut()
        else:
            self.send_bytes(reply.status, reply.headers, reply.data)

    do_GET = do_POST = do_PUT = do_PATCH = do_DELETE = _handle  # noqa: N815 - names of the base

    def _reply(self, fault: Fault | None, raw: bytes) -> _Reply | None:
        """What to send, or None to hang up; recorded before the client can see it."""
        if fault and fault.delay_s:
            self.server.closing.wait(fault.delay_s)
        if fault is None or (fault.status is None and not fault.drop):
            return _as_reply(self._work(raw))
        if fault.after:
            self._work(raw)
        if fault.drop or fault.status is None:
            return None
        text = fault.body.get("_raw")
        data = text.encode() if text else json.dumps(fault.body).encode()
        return _Reply(fault.status, {"Content-Type": _JSON_TYPE, **fault.headers}, data)

    def _work(self, raw: bytes) -> Answer | git_http.GitAnswer:
        path, _, query = self.path.partition("?")
        is_git = ".git/" in path
        if not self._is_authorized():
            asked = {"WWW-Authenticate": 'Basic realm="forge"'} if is_git else {}
            return Answer(401, {"message": "Requires authentication", "status": "401"}, asked)
        if is_git:
            return self._git(urllib.parse.unquote(path), query, raw)
        if not self.headers.get("User-Agent"):
            return Answer(403, {"message": "Request forbidden by administrative rules."})
        try:
            body = json.loads(raw) if raw else None
        except ValueError:
            return Answer(400, {"message": "Problems parsing JSON", "status": "400"})
        target = self.path.removeprefix(_GHES_PREFIX)
        base = f"http://{self.headers.get('Host', '127.0.0.1')}"
        return self.server.github.answer(self.command, target, body, base)

    def _git(self, path: str, query: str, raw: bytes) -> Answer | git_http.GitAnswer:
        full_name = path.partition(".git/")[0].strip("/")
        if not self.server.repositories.path(full_name):
            return Answer(404, {"message": "Not Found", "status": "404"})
        request = git_http.GitRequest(
            method=self.command,
            path=path,
            query=query,
            content_type=self.headers.get("Content-Type", ""),
            protocol=self.headers.get("Git-Protocol", ""),
            body=raw,
        )
        return git_http.serve(self.server.repositories.root, request)

    def _is_authorized(self) -> bool:
        kind, _, value = (self.headers.get("Authorization") or "").partition(" ")
        if kind.lower() == "basic":
            try:
                value = base64.b64decode(value).decode().partition(":")[2]
            except (binascii.Error, UnicodeDecodeError):
                return False
        return value == self.server.token


def _as_reply(answer: Answer | git_http.GitAnswer) -> _Reply:
    if isinstance(answer, git_http.GitAnswer):
        return _Reply(answer.status, dict(answer.headers), answer.body)
    headers = {"Content-Type": _JSON_TYPE, **answer.headers}
    return _Reply(answer.status, headers, json.dumps(answer.body).encode())


def _recorded_body(raw: bytes) -> object:
    try:
        return json.loads(raw) if raw else None
    except ValueError:
        return f"<{len(raw)} bytes>"


def _recorded_headers(headers: dict[str, str]) -> dict[str, str]:
    lowered = {name.lower(): value for name, value in headers.items()}
    if "authorization" in lowered:
        lowered["authorization"] = lowered["authorization"].partition(" ")[0]
    return lowered
