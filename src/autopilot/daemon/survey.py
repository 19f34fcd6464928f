"""Looks at a person's repository to propose its configuration: remote, base, stack, tests, identity.

Must not write anything, and asks the network only for the remote's default branch.
"""

from __future__ import annotations

import re
import shlex
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from autopilot.config.git import Git, GitError
from autopilot.daemon import policy_example
from autopilot.runner.allowed import allowed_commands
from autopilot.runner.policy import read_policy
from autopilot.runner.stacks.registry import choose
from autopilot.runner.stacks.tree import Tree
from autopilot.schemas.errors import AutopilotError, ConfigError
from autopilot.schemas.ids import ref_name_fault, slug

if TYPE_CHECKING:
    import git

    from autopilot.config.clock import Clock

_GITHUB = re.compile(r"^(?:https://|ssh://git@|git@)github\.com[:/]([^/]+/[^/]+?)(?:\.git)?/?$")
# Source: git-clone(1), GIT URLS: a colon before the first slash makes it user@host:path; else it is a folder.
_IS_URL = re.compile(r"^(?:\w[\w+.-]*://|[^/:]+:)")
_DEFAULT_BRANCH = re.compile(rb"^ref: refs/heads/(\S+)\tHEAD", re.MULTILINE)
_ASK_S = 20.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Remote:
    """Where branches are fetched from and pushed to."""

    name: str
    address: str
    """A URL without a credential, or an absolute path."""
    had_credential: bool = False

    @property
    def is_url(self) -> bool:
        """Tell whether the address is a URL, and not a folder."""
        return bool(_IS_URL.match(self.address))

    @property
    def is_hosted(self) -> bool:
        """Tell whether it is on another machine."""
        return self.is_url and not self.address.startswith("file:")

    @property
    def project(self) -> str:
        """Give `owner/name` when it is on GitHub."""
        match = _GITHUB.match(self.address)
        return match.group(1) if match else ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Tests:
    """How the base commit's tests would be run."""

    __test__ = False  # not a test class, whatever a collector thinks of its name

    stack: str
    command: str = ""
    fault: str = ""
    policy: str = ""
    """What to commit as `.autopilot.toml` so that tests can be run at all."""
    allowed: tuple[tuple[str, ...], ...] = ()
    """The repository's own commands, which an agent may run."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Survey:
    """What was found, and what a person should know about it."""

    root: Path
    """The checkout that the person is in."""
    repository: Path
    """Its main checkout, or its bare repository: what stays when a linked worktree goes."""
    name: str
    remote: Remote | None
    base: str
    base_source: str
    tests: Tests
    identity: tuple[str, str] | None
    notes: tuple[str, ...]


def survey(start: Path, *, clock: Clock, scratch: Path, base: str | None = None) -> Survey:
    """Look at the repository that `start` lies in.

    Args:
        start: a folder inside the person's checkout.
        clock: measures how long git may take.
        scratch: a folder of ours.
        base: the base branch, when the person has named it.

    Raises:
        ConfigError: no repository, no commit yet, or no base branch can be found.
    """
    repo = _open(start)
    root = Path(str(repo.working_tree_dir)).resolve()
    asker = Git(clock=clock, scratch=scratch, timeout_s=_ASK_S, user_config=True)
    remote = _remote(repo, root)
    chosen, source, remarks = _base(repo, remote, asker, wanted=base)
    return Survey(
        root=root,
        repository=_repository(repo, root),
        name=slug(root.name),
        remote=remote,
        base=chosen,
        base_source=source,
        tests=_tests(repo, remote, chosen, asker),
        identity=_identity(repo, asker),
        notes=(*remarks, *_remarks(repo, remote, asker)),
    )


def _open(start: Path) -> git.Repo:
    try:
        import git  # noqa: PLC0415 - costs 180 ms, and only `init` needs it
    except ImportError as exc:  # what GitPython raises when there is no git
        raise ConfigError("git-missing", "git is not on PATH", hint="install git") from exc

    try:
        repo = git.Repo(start, search_parent_directories=True)
    except (git.InvalidGitRepositoryError, git.NoSuchPathError) as exc:
        what = f"{start} is not inside a git repository"
        raise ConfigError("no-repository", what, hint="run autopilot init inside your checkout") from exc
    if repo.bare or repo.working_tree_dir is None:
        raise ConfigError("bare-repository", f"{start} is a bare repository", hint="run it inside a checkout")
    if not repo.head.is_valid():
        hint = "make a first commit; a ticket needs something to start from"
        raise ConfigError("unborn-branch", f"{repo.working_tree_dir} has no commit yet", hint=hint)
    return repo


def _repository(repo: git.Repo, root: Path) -> Path:
    shared = Path(repo.common_dir).resolve()
    if shared == Path(repo.git_dir).resolve():
        return root
    return shared.parent if shared.name == ".git" else shared


def _remote(repo: git.Repo, root: Path) -> Remote | None:
    names = [remote.name for remote in repo.remotes]
    chosen = "origin" if "origin" in names else names[0] if len(names) == 1 else None
    if chosen is None:
        return None
    stated = repo.remotes[chosen].url  # as it is written down: `git remote get-url` would apply insteadOf
    if not _IS_URL.match(stated):
        return Remote(name=chosen, address=str((root / stated).resolve()))
    address = without_credential(stated)
    return Remote(name=chosen, address=address, had_credential=address != stated)


def without_credential(url: str) -> str:
    """Take user and password out of a web URL, and the password alone out of others: `ssh://git@` stays."""
    parts = urlsplit(url)
    if "://" not in url or "@" not in parts.netloc:
        return url
    user, _, host = parts.netloc.rpartition("@")
    keeps_user = parts.scheme not in {"http", "https"}
    netloc = f"{user.partition(':')[0]}@{host}" if keeps_user else host
    return parts._replace(netloc=netloc).geturl()


def _base(
    repo: git.Repo, remote: Remote | None, asker: Git, *, wanted: str | None
) -> tuple[str, str, tuple[str, ...]]:
    """Give the base branch, who says so, and what is to be remarked about that."""
    if wanted is not None:
        if fault := ref_name_fault(wanted):
            raise ConfigError("base-invalid", f"--base: {wanted!r} {fault}", hint="name a branch")
        return wanted, "you say so", ()
    remarks: tuple[str, ...] = ()
    if remote is not None:
        try:
            answer = asker.run("ls-remote", "--symref", "--", remote.address, "HEAD")
        except GitError as error:
            answer, remarks = b"", (f"the remote did not answer: {error.what}",)
        match = _DEFAULT_BRANCH.search(answer)
        if match and ref_name_fault(name := match.group(1).decode(errors="surrogateescape")) is None:
            return name, "the remote's default branch", ()
    if not repo.head.is_detached:
        return repo.active_branch.name, "the branch you are on", remarks
    what = "the checkout is detached, and the remote names no default branch"
    raise ConfigError(
        "no-base-branch", what, hint="say which branch drafts are for: autopilot init --base main"
    )


def _tests(repo: git.Repo, remote: Remote | None, base: str, asker: Git) -> Tests:
    git_dir = Path(repo.common_dir)
    try:
        tip = _tip(git_dir, base, remote, asker)
        tree = Tree.at(asker, git_dir, tip)
        policy = read_policy(asker, git_dir, tip)
    except AutopilotError as error:
        return Tests(stack="unknown", fault=f"{error.what}: {error.hint}")
    try:
        stack = choose(tree, policy)
    except ConfigError as error:
        return Tests(stack="unknown", fault=error.what, policy=policy_example.lines(tree.blobs, error))
    return Tests(
        stack=stack.name,
        command=shlex.join(stack.shown_test(tree, policy)),
        allowed=allowed_commands(policy, stack.name),
    )


def _tip(git_dir: Path, base: str, remote: Remote | None, asker: Git) -> str:
    places = (f"refs/remotes/{remote.name}/{base}" if remote else "", f"refs/heads/{base}", "HEAD")
    for name in filter(None, places):
        try:
            return asker.run("rev-parse", "--verify", f"{name}^{{commit}}", git_dir=git_dir).decode().strip()
        except GitError:
            continue
    raise ConfigError("no-base-branch", f"the base branch {base} is not known here", hint="run git fetch")


def _identity(repo: git.Repo, asker: Git) -> tuple[str, str] | None:
    """Ask git itself: what is configured may depend on the folder."""
    found = []
    for key in ("user.name", "user.email"):
        try:
            value = asker.run("config", "--null", "--get", key, git_dir=Path(repo.git_dir))
        except GitError:
            return None
        found.append(value.rstrip(b"\0").decode(errors="replace").strip())
    name, email = found
    return (name, email) if name and email else None


def _remarks(repo: git.Repo, remote: Remote | None, asker: Git) -> tuple[str, ...]:
    remarks = []
    if remote is None:
        why = "no remote is called origin" if repo.remotes else "there is no remote"
        remarks.append(f"{why}: finished branches are pushed into this repository, never checked out")
    elif remote.had_credential:
        remarks.append("the remote's URL holds a credential: it is left out, and git's own helper is asked")
    if remote is not None and remote.is_hosted and not remote.project:
        remarks.append(
            "no forge of this kind is known: branches are pushed there, their drafts are kept here"
        )
    root = Path(str(repo.working_tree_dir))
    if _has_edits(root, asker):
        remarks.append("uncommitted changes here are not seen: tickets start from the committed base")
    return tuple(remarks)


def _has_edits(root: Path, asker: Git) -> bool:
    """Tell whether files differ from the commit; no filter runs for it, so its work may be taken for an edit.

    Source: git-config(1), GIT_CONFIG_COUNT: by the environment, for a filter's name may hold a `=`.
    """
    listed = asker.lines_z("config", "--null", "--name-only", "--list", cwd=root)
    names = {name.decode(errors="surrogateescape") for name in listed}
    filters = sorted(name for name in names if name.startswith("filter."))
    env = {"GIT_CONFIG_COUNT": str(len(filters))}
    for number, name in enumerate(filters):
        env[f"GIT_CONFIG_KEY_{number}"] = name
        env[f"GIT_CONFIG_VALUE_{number}"] = "false" if name.endswith(".required") else ""
    words = ("status", "--porcelain", "-z", "--untracked-files=no", "--ignore-submodules")
    return bool(asker.run(*words, cwd=root, env=env))
