"""What git's complaint means: one code per kind of failure, with what to do about it.

Must not be asked about a success. Git speaks English to us (LC_ALL=C.UTF-8).
"""

from __future__ import annotations

import re
from typing import NamedTuple

from autopilot.config.plain import plain
from autopilot.schemas.errors import AutopilotError, ExitCode

_MAX_STDERR_CHARS = 2000


class GitError(AutopilotError):
    """Git failed. `is_transient`: the same call may well succeed later."""

    def __init__(
        self, code: str, what: str, *, hint: str = "", stderr_tail: str = "", exit_code: int | None = None
    ) -> None:
        """Take what AutopilotError takes, the end of what git said, and the code it ended with."""
        super().__init__(code, what, hint=hint)
        self.stderr_tail = stderr_tail
        self.git_exit_code = exit_code
        self.is_transient = code in _TRANSIENT
        if self.is_transient:
            self.exit_code = ExitCode.LATER


class _Kind(NamedTuple):
    code: str
    hint: str
    signs: tuple[str, ...]

    def fits(self, said: str) -> bool:
        return re.search("|".join(self.signs), said, re.IGNORECASE | re.MULTILINE) is not None


_TRANSIENT = frozenset(
    {"git-network", "git-lock", "git-timeout", "git-disk-full", "git-stopped", "git-killed"}
)
OF_THE_MACHINE = frozenset({"git-disk-full", "git-lock", "git-missing", "git-stopped"})
"""Faults that say nothing about the files that git was to read."""
# The first that fits counts: a full disk shows as many things, a refused login as a lost connection.
_KINDS = (
    _Kind("git-disk-full", "free some disk space", ("No space left on device", "Disk quota exceeded")),
    _Kind(
        "git-memory",
        "what it was to read is larger than any commit should be, or the machine has no memory left",
        ("Out of memory", "mmap failed", "Cannot allocate memory"),
    ),
    _Kind(
        "git-ref-conflict",
        "another branch has this name, or is named like its folder; rename one of them",
        (
            "cannot lock ref .*(exists; cannot create|reference already exists)",
            "a branch named .* already exists",
            "some local refs could not be updated",
        ),
    ),
    _Kind(
        "git-lock",
        "another git works there; when none does, remove the lock file that is named",
        (
            r"Unable to create '.*\.lock': File exists",
            "could not lock config file",
            "cannot lock ref",
            "Another git process seems to be running",
            "shallow file has changed",
        ),
    ),
    _Kind(
        "git-owner",
        "the repository belongs to another user; run as its owner, or add it to safe.directory",
        ("detected dubious ownership",),
    ),
    _Kind(
        "git-host-key",
        "connect to the host once by hand and accept its key",
        ("Host key verification failed", "REMOTE HOST IDENTIFICATION HAS CHANGED"),
    ),
    _Kind(
        "git-sso",
        "authorise the token for the organisation's single sign-on, at the forge's page of tokens",
        ("SAML SSO", "single sign-on", "enabled or enforced SAML"),
    ),
    _Kind(
        "git-proxy",
        "the proxy wants a login: set https_proxy=http://USER:PASSWORD@HOST:PORT where autopilot is started",
        ("HTTP code 407", "returned error: 407", "Proxy Authentication Required"),
    ),
    _Kind(
        "git-tls",
        "the remote's certificate is not trusted here: install its authority, or name it by SSL_CERT_FILE",
        (
            "certificate problem",
            "certificate verif(y|ication) failed",
            "certificate has expired",
            "unable to get local issuer certificate",
            "no alternative certificate subject name matches",
        ),
    ),
    _Kind(
        "git-auth",
        "check the credential that git uses for this remote",
        (
            "Authentication failed",
            "could not read (Username|Password)",
            r"Permission denied \(publickey",
            "Invalid username or",
            "returned error: 40[13]",
            "HTTP (Basic: )?Access denied",
            r"Permission to \S+ denied",
            "Bad credentials",
        ),
    ),
    _Kind(
        "git-rejected",
        "the remote refused the update; its own words are in the detail",
        (r"\[(remote )?rejected\]", "^!\t", "non-fast-forward", "stale info", "hook declined", r"GH0\d\d:"),
    ),
    _Kind(
        "git-no-repo",
        "check the path or URL, and that the credential may see it",
        (
            "does not appear to be a git repository",
            "not a git repository",
            "repository '.*' (not found|does not exist)",
            "Repository not found",
            "returned error: 404",
        ),
    ),
    _Kind(
        "git-no-ref",
        "check the name of the branch or commit",
        (
            "couldn't find remote ref",
            "unknown revision",
            "bad revision",
            "Needed a single revision",
            "not a valid (object|commit) name",
            "not a valid ref",
            "invalid reference",
            "not our ref",
            "unadvertised object",
            "bad object",
            "ambiguous argument",
            "not a (tree|commit) object",
            "did not match any file",
        ),
    ),
    _Kind(
        "git-network",
        "it will be tried again; check the network if it goes on",
        (
            "Could not resolve (host|proxy)",
            "(Couldn't|Failed to) connect",
            "Connection (refused|reset|timed|closed)",
            "timed out",
            "Network is unreachable",
            "No route to host",
            "hung up unexpectedly",
            "early EOF",
            "RPC failed",
            r"returned error: (429|5\d\d)",
            "SSL_|SSL cert|gnutls_|TLS (handshake|connect|packet)",
            "kex_exchange",
            "Operation too slow",
            "unable to access '",
            "Could not read from remote repository",
        ),
    ),
    _Kind(
        "git-lfs-missing",
        'install git-lfs, or set lfs = "skip" in .autopilot.toml',
        ("git-lfs('|:| filter-process| smudge)",),
    ),
    _Kind("git-signing", "commits of ours are not signed", ("gpg failed to sign", "cannot run gpg")),
    _Kind(
        "git-protocol", "use https or ssh", ("transport '.*' not allowed", "protocol '.*' is not supported")
    ),
    _Kind(
        "git-corrupt",
        "run git fsck there; a mirror of ours may be deleted, it is made anew",
        (
            "is corrupt",
            "object file .* is empty",
            "bad signature",
            "missing blob",
            "index file (corrupt|smaller)",
            "unable to read (tree|sha1 file)",
            "broken link",
            "unable to resolve reference",
        ),
    ),
    _Kind(
        "git-permission",
        "check who owns the files",
        ("Permission denied", "insufficient permission", "Read-only file system"),
    ),
)


def classify(words: str, *, exit_code: int | None, stderr: bytes) -> GitError:
    """Turn the complaint of a git that ended with an error into ours.

    Args:
        words: the command as a person would type it, without options of ours.
        exit_code: what git ended with.
        stderr: the end of what it said.
    """
    said = plain(stderr, max_chars=_MAX_STDERR_CHARS)
    kind = next((kind for kind in _KINDS if kind.fits(said)), None)
    what = f"{words}: {_telling_line(said, kind) or f'exit code {exit_code}'}"
    code, hint = (kind.code, kind.hint) if kind else ("git-failed", "")
    return GitError(code, what, hint=hint, stderr_tail=said, exit_code=exit_code)


def _telling_line(said: str, kind: _Kind | None) -> str:
    """Give the line that says what went wrong; git's last words are often a remark about it."""
    lines = said.splitlines()
    loud = [line for line in lines if line.startswith(("fatal:", "error:"))]
    fitting = [line for line in loud if kind is not None and kind.fits(line)]
    return (fitting or loud or lines or [""])[-1]
