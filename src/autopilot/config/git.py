"""The one place that runs git: hardened, never prompting, read by plumbing formats only.

Must not parse words meant for people, use a configuration but ours (one call apart: a fetch with the
user's own credentials), or inherit GIT_* from us. Source: docs/decisions/0003 and 0012.
"""

from __future__ import annotations

import os
import re
import secrets
import shutil
import threading
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, TypedDict, Unpack

from autopilot.config import environ, proc
from autopilot.config.gitfault import GitError, classify
from autopilot.config.outward import past_here
from autopilot.config.paths import PRIVATE_DIR_MODE

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path

    from autopilot.config.clock import Clock

__all__ = ["Git", "GitError"]

MAX_OUTPUT_BYTES = 512 * 1024 * 1024
FOREIGN_MEMORY_BYTES = 2 << 30
"""For a git that reads what somebody else wrote: no honest commit needs more, whatever it says of itself."""

_LOCK_PAUSES_S = (0.05, 0.1, 0.2, 0.3, 0.5)
# What a repository, or the user, may have set and that would run a program, ask, or change our output.
_HARDENED: Mapping[str, str] = {
    "core.hooksPath": os.devnull,
    "core.fsmonitor": "false",
    "core.attributesFile": os.devnull,
    "core.excludesFile": os.devnull,
    "core.quotePath": "false",
    "core.commitGraph": "false",
    "core.bigFileThreshold": "32m",
    "core.protectHFS": "true",
    "core.protectNTFS": "true",
    "commit.gpgSign": "false",
    "tag.gpgSign": "false",
    "push.gpgSign": "false",
    "log.showSignature": "false",
    "gc.auto": "0",
    "maintenance.auto": "false",
    "submodule.recurse": "false",
    "fetch.recurseSubmodules": "false",
    "protocol.ext.allow": "never",
    "init.templateDir": "",
    "init.defaultBranch": "main",
    "advice.detachedHead": "false",
    "http.lowSpeedLimit": "1",
    "http.lowSpeedTime": "120",
}
# Ours alone: these would take away what the user's own fetch needs.
_ISOLATED: Mapping[str, str] = {"credential.helper": "", "core.autocrlf": "false"}
_ALWAYS: Mapping[str, str] = {
    "LANG": "C.UTF-8",
    "LC_ALL": "C.UTF-8",
    "GIT_TERMINAL_PROMPT": "0",
    "GIT_ASKPASS": "",
    "SSH_ASKPASS_REQUIRE": "never",
    "GIT_OPTIONAL_LOCKS": "0",
    "GIT_NO_LAZY_FETCH": "1",
    "GIT_NO_REPLACE_OBJECTS": "1",
    "GIT_LITERAL_PATHSPECS": "1",
    "GIT_ATTR_NOSYSTEM": "1",
    "GIT_ALLOW_PROTOCOL": "file:git:http:https:ssh",
    "GIT_EDITOR": ":",
    "GIT_SEQUENCE_EDITOR": ":",
    "GIT_PAGER": "cat",
    "GIT_MERGE_AUTOEDIT": "no",
}
_NETWORK = re.compile(
    r"SSH_AUTH_SOCK|(https?|all|no)_proxy|SSL_CERT_(FILE|DIR)|CURL_CA_BUNDLE", re.IGNORECASE
)
_OF_THE_USER = re.compile(r"HOME|USER|LOGNAME|XDG_(CONFIG_HOME|RUNTIME_DIR)|DBUS_SESSION_BUS_ADDRESS")


class Where(TypedDict, total=False):
    """Where a command runs and what it is given; every key may be left out.

    git_dir: the repository; without it, it is found from `cwd`. work_tree: the files, when they are not where
    the repository says. cwd: without it, the work tree, or else a place that is in no repository. stdin: what
    it reads. env: added, as GIT_AUTHOR_NAME. config: added; a key that ends in `extraHeader` stays out of the
    command line, where other users could read it.
    """

    git_dir: Path
    work_tree: Path
    cwd: Path
    stdin: bytes
    env: Mapping[str, str]
    config: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Git:
    """Git as we run it.

    `scratch` is a folder of ours, out of an agent's reach; `timeout_s` and `grace_s` are seconds; `env` is
    added to every call; `user_config` keeps the user's HOME and configuration, for a fetch into a mirror
    that needs their credentials; `base` is where PATH and proxies come from (None: our own environment).
    `memory_bytes` is what each process of a command may take of the machine: for all that reads what an
    agent wrote. It holds where util-linux's prlimit is (Linux).
    """

    clock: Clock
    scratch: Path
    timeout_s: float = 600.0
    grace_s: float = 10.0
    env: Mapping[str, str] = field(default_factory=dict)
    user_config: bool = False
    base: Mapping[str, str] | None = None
    should_stop: Callable[[], str | None] | None = None
    memory_bytes: int | None = None

    def run(self, *args: str, **where: Unpack[Where]) -> bytes:
        """Run one command and give what it printed. Paths are taken literally, never as patterns.

        Raises:
            GitError: it failed or took too long; `code` says how. A held lock was waited for about a second.
        """
        ended, printed = self._patiently(args, where)
        if not ended.ok:
            raise _fault(args, ended, self.timeout_s)
        return printed

    def check(self, *args: str, **where: Unpack[Where]) -> bool:
        """Run a command that answers by its exit code: 0 is yes, 1 is no.

        Raises:
            GitError: it ended in any other way.
        """
        ended, _ = self._patiently(args, where)
        if ended.code not in {0, 1} or ended.stopped:
            raise _fault(args, ended, self.timeout_s)
        return ended.code == 0

    def lines_z(self, *args: str, **where: Unpack[Where]) -> list[bytes]:
        """Run a command that was told to end each item with NUL (`-z`), and give the items."""
        printed = self.run(*args, **where)
        return printed.removesuffix(b"\0").split(b"\0") if printed else []

    def _patiently(self, args: tuple[str, ...], where: Where) -> tuple[proc.Exit, bytes]:
        """Try again while only a lock is in the way."""
        for pause_s in _LOCK_PAUSES_S:
            ended, printed = self._once(args, where)
            if ended.ok or _fault(args, ended, self.timeout_s).code != "git-lock":
                return ended, printed
            threading.Event().wait(pause_s)
        return self._once(args, where)

    def _once(self, args: tuple[str, ...], where: Where) -> tuple[proc.Exit, bytes]:
        home = self.scratch / "home"
        home.mkdir(mode=PRIVATE_DIR_MODE, parents=True, exist_ok=True)
        output, errors = (self.scratch / f"{secrets.token_hex(8)}.{kind}" for kind in ("out", "err"))
        try:
            ended = proc.run(
                self._argv(args, where),
                cwd=where.get("cwd") or where.get("work_tree") or home,
                env=self._environment(where, home),
                output=output,
                stderr=errors,
                stdin=where.get("stdin"),
                clock=self.clock,
                wall_s=self.timeout_s,
                grace_s=self.grace_s,
                max_output_bytes=MAX_OUTPUT_BYTES,
                should_stop=self.should_stop,
            )
            return ended, output.read_bytes()
        finally:
            output.unlink(missing_ok=True)
            errors.unlink(missing_ok=True)

    def _argv(self, args: tuple[str, ...], where: Where) -> list[str]:
        config = {**_HARDENED, **({} if self.user_config else _ISOLATED), **_shown(where)}
        options = [part for key, value in config.items() for part in ("-c", f"{key}={value}")]
        if "git_dir" in where:
            options.append(f"--git-dir={where['git_dir']}")
        if "work_tree" in where:
            options.append(f"--work-tree={where['work_tree']}")
        own = ["git", *options, *args]
        return [*self._limited(), *own]

    def _limited(self) -> list[str]:
        """Put a limit of the kernel's before it; core files are none of ours either. Source: prlimit(1)."""
        path = environ.search_path(environ.current() if self.base is None else self.base)
        limiter = shutil.which("prlimit", path=path) if self.memory_bytes is not None else None
        return [] if limiter is None else [limiter, f"--data={self.memory_bytes}", "--core=0", "--"]

    def _environment(self, where: Where, home: Path) -> dict[str, str]:
        base = environ.current() if self.base is None else self.base
        kept = {name: value for name, value in base.items() if _NETWORK.fullmatch(name)}
        isolated = {"HOME": str(home), "GIT_CONFIG_NOSYSTEM": "1", "GIT_CONFIG_GLOBAL": os.devnull}
        if self.user_config:
            kept |= {name: value for name, value in base.items() if _OF_THE_USER.fullmatch(name)}
            isolated = {}
        else:
            isolated["GIT_SSH_COMMAND"] = "ssh -oBatchMode=yes"
        return {
            "PATH": environ.search_path(base),
            **kept,
            **past_here(kept),
            **_ALWAYS,
            **isolated,
            "GIT_CEILING_DIRECTORIES": str(self.scratch.resolve()),
            **_hidden(where),
            **self.env,
            **where.get("env", {}),
        }


def _shown(where: Where) -> dict[str, str]:
    return {key: value for key, value in where.get("config", {}).items() if not _is_hidden(key)}


def _hidden(where: Where) -> dict[str, str]:
    """Give the configuration that must not stand in a command line, as git reads it from its environment."""
    secret = [(key, value) for key, value in where.get("config", {}).items() if _is_hidden(key)]
    env = {"GIT_CONFIG_COUNT": str(len(secret))} if secret else {}
    for number, (key, value) in enumerate(secret):
        env |= {f"GIT_CONFIG_KEY_{number}": key, f"GIT_CONFIG_VALUE_{number}": value}
    return env


def _is_hidden(key: str) -> bool:
    return key.lower().endswith(".extraheader")


def _fault(args: tuple[str, ...], ended: proc.Exit, timeout_s: float) -> GitError:
    """Name what went wrong with a call that did not end well."""
    words = f"git {args[0]}" if args else "git"
    if ended.spawn_error:
        return GitError("git-missing", ended.spawn_error, hint="install git")
    if ended.stopped == "wall":
        return GitError("git-timeout", f"{words} took longer than {timeout_s:g} s")
    if ended.stopped == "output-ceiling":
        return GitError("git-too-much", f"{words} printed more than {MAX_OUTPUT_BYTES} bytes")
    if ended.stopped:
        return GitError("git-stopped", f"{words} was stopped: {ended.stopped}")
    if ended.signal is not None:
        return GitError("git-killed", f"{words} was killed by signal {ended.signal}")
    return classify(words, exit_code=ended.code, stderr=ended.stderr_tail)
