"""Where a path leads: inside the worktree or not, to a protected name, to a manifest, to a secret.

Looks at the disk only to follow symbolic links of what is there already, and to ask how old a program is.
Must not open a file, and must not compare paths as text: `/w/T-10` is not inside `/w/T-1`.
"""

from __future__ import annotations

import os
import posixpath
import re
from typing import TYPE_CHECKING, NamedTuple

from autopilot.runner.guard.grammar import ANY, NIL, ONE
from autopilot.runner.guard.names import Names, fold
from autopilot.runner.guard.verdict import Refused

if TYPE_CHECKING:
    from autopilot.runner.guard.verdict import GuardContext

_SECRET = (
    ".env*", ".git", ".git/**", ".git-credentials", ".netrc", ".npmrc", ".yarnrc*", ".pypirc",
    ".pgpass", ".ssh/**", ".aws/**", ".gnupg/**", ".docker/config.json", ".kube/**",
    ".htpasswd", ".vault-token", ".dockercfg", ".s3cfg", ".boto", "*.jks", "*.keystore", "*.tfstate",
    "id_rsa", "id_dsa", "id_ed25519", "id_ecdsa", "*.pem", "*.p12", "*.pfx", "*.key", "*.keychain*",
    "id_ed25519_sk", "id_ecdsa_sk", "*.ppk", "*.kdbx", "*.env", "credentials.json", "kubeconfig",
    "kubeconfig.y*ml", "*.kubeconfig", "service-account*.json", "service_account*.json",
    "serviceaccount*.json", "client_secret*.json", "application_default_credentials.json",
)  # fmt: skip
# A client looks for these where it starts, so `src/*` need not be taken for one of them.
_TOP = frozenset({"opencode.json*"})
# They show which names there are, with made-up values, and are committed.
_SAMPLES = frozenset(
    {
        *(".env.example", ".env.sample", ".env.template", ".env.dist"),
        *("example.env", "sample.env", "template.env", "dist.env"),
    }
)
_INSTALLED = ("node_modules/**", ".venv/**", "venv/**", "site-packages/**")
_SINKS = frozenset({"/dev/null"})
# NTFS has a second, short name for `.git`. Source: git-config(1), core.protectNTFS.
_SHORT_NAME = re.compile(r"git~[0-9]+")
_MAX_PATH = 4096
_MAX_DEPTH = 60
_SHOWN = 80


class Spot(NamedTuple):
    """A place inside."""

    path: str
    """As written, made whole; wildcards are marked."""
    marked: tuple[str, ...]
    """Its folded parts below the worktree or tmp, as written."""
    parts: tuple[str, ...] | None
    """Its folded parts below the worktree, as links lead; None: below tmp."""


class Places:
    """The folders and names of one run."""

    def __init__(self, context: GuardContext) -> None:
        self.worktree = posixpath.normpath(context.worktree)
        self.tmp = posixpath.normpath(context.tmp)
        self._real_worktree = os.path.realpath(self.worktree)
        self._real_tmp = os.path.realpath(self.tmp)
        self._started_ns = context.started_ns
        self.protected = Names(context.protected)
        self.manifests = Names((*context.manifests, *context.lockfiles))
        # `src/*.py` could be a setup.py only where a package of its own lies: too rare to refuse all sources.
        self._deep_manifests = Names(
            name for name in (*context.manifests, *context.lockfiles) if name != "setup.py"
        )
        self._deep_protected = Names(name for name in context.protected if name not in _TOP)
        self.secret = Names(_SECRET)
        self.installed = Names(_INSTALLED)

    def spot(self, text: str, pattern: str | None, base: str) -> Spot:
        """Find a place from a folder; every link that exists on the way is followed.

        Raises:
            Refused: it lies outside, or it cannot be told where.
        """
        shown = text if len(text) <= _SHOWN else f"{text[:_SHOWN]}..."
        depth = text.count("/")
        if not text or len(text) > _MAX_PATH or depth > _MAX_DEPTH or "\0" in text or "://" in text:
            raise Refused("not-a-path", f"{shown!r} is no file; give a path inside the worktree")
        marked = text if pattern is None else pattern.replace(NIL, "")
        lexical = posixpath.normpath(posixpath.join(base, marked))
        real = os.path.realpath(posixpath.join(base, marked))
        inside = self._inside(lexical, self.worktree, self.tmp)
        if inside is None:
            # By its own name too: tools that follow links tell an agent that one.
            inside = self._inside(lexical, self.worktree, self._real_tmp)
        really = self._inside(real, self._real_worktree, self._real_tmp)
        if inside is None:
            raise Refused(
                "outside",
                f"{shown!r} leads outside the worktree; stay below {self.worktree}, or {self.tmp} for "
                "temporary files",
            )
        if really is None:
            raise Refused("outside-by-link", f"a symbolic link leads {shown!r} outside the worktree")
        if any(self._is_hidden_wildcard(part) for part in marked.split("/")):
            raise Refused("wildcard-dot", f"{shown!r} could become a hidden file; name the files")
        if any(_SHORT_NAME.fullmatch(part) for part in inside[1] + really[1]):
            raise Refused("protected", f"{shown!r} is another name of .git; git's own commands read it")
        return Spot(lexical, inside[1], really[1] if really[0] else None)

    def is_under(self, spot: Spot, names: Names) -> bool:
        """Whether one of the names is met, by the path as written or as links lead."""
        if names is self.protected and self._is_deep_wild(spot):
            names = self._deep_protected
        return names.has(spot.marked) or (spot.parts is not None and names.has(spot.parts))

    def is_manifest(self, spot: Spot) -> bool:
        """Whether it is, or could become, a manifest or a lock file of the worktree."""
        if spot.parts is None:
            return False
        return self.is_under(spot, self._deep_manifests if self._is_deep_wild(spot) else self.manifests)

    @staticmethod
    def _is_deep_wild(spot: Spot) -> bool:
        return len(spot.marked) > 1 and (ANY in spot.marked[-1] or ONE in spot.marked[-1])

    def is_secret(self, spot: Spot) -> bool:
        """Whether what is read there may be a secret."""
        ways = [spot.marked] if spot.parts is None else [spot.parts, spot.marked]
        above = (way[:-1] if way and way[-1] in _SAMPLES else way for way in ways)
        return any(self.secret.has(way, is_lenient=True) for way in above)

    def may_hold(self, spot: Spot) -> bool:
        """Whether a protected name lies, or may lie, below this folder."""
        ways = [spot.marked] if spot.parts is None else [spot.parts, spot.marked]
        return any(map(self.protected.may_lie_in, ways))

    def is_new(self, path: str) -> bool:
        """Whether a file that is there was made or changed since the run began."""
        if self._started_ns is None:
            return False
        try:
            return os.stat(path).st_ctime_ns >= self._started_ns  # noqa: PTH116 - no Path: this is the hot path
        except OSError:
            return False

    def is_missing(self, path: str) -> bool:
        """Whether a run is under way, and nothing lies there: what is there by then was made by it."""
        return self._started_ns is not None and not os.path.lexists(path)

    def new_names(self, folder: str) -> set[str]:
        """List what lies in a folder and was made or changed since the run began."""
        if self._started_ns is None:
            return set()
        try:
            return {name for name in os.listdir(folder) if self.is_new(posixpath.join(folder, name))}  # noqa: PTH208
        except OSError:
            return set()

    def folders_above(self, folder: str) -> list[str]:
        """List a folder of the worktree and those above it, without the worktree itself."""
        found = []
        while folder.startswith(self.worktree + "/"):
            found.append(folder)
            folder = posixpath.dirname(folder)
        return found

    @staticmethod
    def is_folder(path: str) -> bool:
        """Whether a folder lies there now."""
        return os.path.isdir(path)  # noqa: PTH112 - no Path: this is the hot path

    @staticmethod
    def is_file(path: str) -> bool:
        """Whether a file lies there now, or a link leads to one."""
        return os.path.isfile(path)  # noqa: PTH113 - as above

    @staticmethod
    def exists(path: str) -> bool:
        """Whether anything lies there, be it a dangling link."""
        return os.path.lexists(path)

    @staticmethod
    def is_sink(text: str) -> bool:
        """Whether what is written there is gone."""
        return text in _SINKS

    def is_plain_folder(self, path: str) -> bool:
        """Whether no symbolic link lies between the worktree or tmp and a folder of it."""
        real_tmp = self._real_tmp
        for root, real in ((self.worktree, self._real_worktree), (self.tmp, real_tmp), (real_tmp, real_tmp)):
            if path == root or path.startswith(root + "/"):
                return os.path.realpath(path) == real + path[len(root) :]
        return False

    def in_tmp(self, path: str) -> bool:
        """Whether a whole path lies in the temporary folder."""
        inside = self._inside(path, self.worktree, self.tmp)
        return inside is None or not inside[0]

    @staticmethod
    def _is_hidden_wildcard(part: str) -> bool:
        return part.startswith(".") and (ANY in part or ONE in part)

    @staticmethod
    def _inside(path: str, worktree: str, tmp: str) -> tuple[bool, tuple[str, ...]] | None:
        for is_tree, root in ((True, worktree), (False, tmp)):
            if path == root:
                return is_tree, ()
            if path.startswith(root + "/"):
                return is_tree, tuple(map(fold, path[len(root) + 1 :].split("/")))
        return None
