"""Looks at a person's repository to propose its configuration: remote, base, stack, tests, identity, agent.

Must not write anything, and asks the network only for the remote's default branch.
"""

from __future__ import annotations

import re
import shutil
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from autopilot.config.git import Git, GitError
from autopilot.runner.policy import read_policy
from autopilot.runner.stacks.registry import choose
from autopilot.runner.stacks.tree import Tree
from autopilot.schemas.errors import AutopilotError, ConfigError
from autopilot.schemas.ids import slug

if TYPE_CHECKING:
    from collections.abc import Mapping

    import git

    from autopilot.config.clock import Clock

_GITHUB = re.compile(r"^(?:https://(?:[^@/]+@)?|ssh://git@|git@)github\.com[:/]([^/]+/[^/]+?)(?:\.git)?/?$")
_PASSWORD_IN_URL = re.compile(r"^(\w+://)[^@/]+@")
# Source: git-clone(1), GIT URLS: a colon before the first slash makes it user@host:path; else it is a folder.
_IS_URL = re.compile(r"^(?:\w[\w+.-]*://|[^/:]+:)")
_ASK_S = 20.0


@dataclass(frozen=True, slots=True)
class Survey:
    """What was found, and what a person should know about it."""

    root: Path
    name: str
    remote: str | None
    base: str
    base_source: str
    stack: str
    identity: tuple[str, str] | None
    agent: str | None
    forge: str
    project: str
    notes: tuple[str, ...]


def survey(start: Path, *, clock: Clock, scratch: Path, path: str | None) -> Survey:
    """Look at the repository that `start` lies in.

    Args:
        start: a folder inside the person's checkout.
        clock: measures how long git may take.
        scratch: a folder of ours.
        path: where agents are looked for, as in PATH.

    Raises:
        ConfigError: no repository, no commit yet, or no base branch can be found.
    """
    repo = _open(start)
    root = Path(str(repo.working_tree_dir)).resolve()
    asker = Git(clock=clock, scratch=scratch, timeout_s=_ASK_S)
    remote = _remote(repo)
    base, source = _base(repo, remote, asker)
    stack, notes = _stack(repo, base, asker)
    match = _GITHUB.match(remote or "")
    return Survey(
        root=root,
        name=slug(root.name),
        remote=remote,
        base=base,
        base_source=source,
        stack=stack,
        identity=_identity(repo),
        agent="claude" if shutil.which("claude", path=path) else None,
        forge="github" if match else "local",
        project=match.group(1) if match else "",
        notes=(*notes, *_remarks(repo, remote)),
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


def _remote(repo: git.Repo) -> str | None:
    names = [remote.name for remote in repo.remotes]
    chosen = "origin" if "origin" in names else names[0] if len(names) == 1 else None
    return _PASSWORD_IN_URL.sub(r"\1", repo.remotes[chosen].url) if chosen else None


def _base(repo: git.Repo, remote: str | None, asker: Git) -> tuple[str, str]:
    if remote is not None:
        try:
            answer = asker.run(
                "ls-remote", "--symref", "--", remote, "HEAD", cwd=Path(str(repo.working_tree_dir))
            )
        except GitError:
            answer = b""
        if match := re.match(rb"ref: refs/heads/(\S+)\tHEAD", answer):
            return match.group(1).decode(), "the remote's default branch"
    if not repo.head.is_detached:
        return repo.active_branch.name, "the branch you are on"
    hint = "switch to the branch that pull requests go to, or give --base"
    raise ConfigError("no-base-branch", "the checkout is detached and the remote names no default", hint=hint)


def _stack(repo: git.Repo, base: str, asker: Git) -> tuple[str, tuple[str, ...]]:
    git_dir = Path(repo.common_dir)
    try:
        tip = _tip(git_dir, base, asker)
        tree = Tree.at(asker, git_dir, tip)
        chosen = choose(tree, read_policy(asker, git_dir, tip))
    except AutopilotError as error:
        return "unknown", (f"{error.what} → {error.hint}",)
    return chosen.name, ()


def _tip(git_dir: Path, base: str, asker: Git) -> str:
    for name in (f"refs/remotes/origin/{base}", f"refs/heads/{base}", "HEAD"):
        try:
            return asker.run("rev-parse", "--verify", f"{name}^{{commit}}", git_dir=git_dir).decode().strip()
        except GitError:
            continue
    raise ConfigError("no-base-branch", f"the base branch {base} is not known here", hint="run git fetch")


def _identity(repo: git.Repo) -> tuple[str, str] | None:
    reader = repo.config_reader()
    name, email = (str(reader.get_value("user", key, default="")) for key in ("name", "email"))
    return (name, email) if name and email else None


def _remarks(repo: git.Repo, remote: str | None) -> tuple[str, ...]:
    remarks = []
    if remote is None:
        remarks.append(
            "there is no remote: finished branches are pushed into this repository, never checked out"
        )
    if repo.is_dirty(untracked_files=False):
        remarks.append("uncommitted changes here are not seen: tickets start from the committed base")
    return tuple(remarks)


def proposal(found: Survey, *, known: Mapping[str, bool]) -> str:
    """Write the configuration down as TOML, leaving out what is configured already.

    Args:
        found: the survey.
        known: which of `identity` and `agent` are set already.
    """
    lines: list[str] = []
    if found.identity and not known["identity"]:
        name, email = found.identity
        lines += ["[identity]", f"name = {_quoted(name)}", f"email = {_quoted(email)}", ""]
    if not known["agent"]:
        lines += [f"[agents.{found.agent}]", f"kind = {_quoted(str(found.agent))}", ""]
    lines += ["[[repo]]", f"name = {_quoted(found.name)}"]
    if found.remote and _IS_URL.match(found.remote):
        lines.append(f"url = {_quoted(found.remote)}")
    else:
        lines.append(f"path = {_quoted(str((found.root / (found.remote or '')).resolve()))}")
    lines += [f"base = {_quoted(found.base)}", f"forge = {_quoted(found.forge)}"]
    if found.project:
        lines.append(f"project = {_quoted(found.project)}")
    return "\n".join(lines) + "\n"


def _quoted(text: str) -> str:
    """Quote as a TOML basic string, which JSON's escapes are a part of (TOML 1.0, section String)."""
    import json  # noqa: PLC0415

    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")
