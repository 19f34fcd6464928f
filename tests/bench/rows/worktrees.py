"""A worktree for a ticket, from nothing, and what its removal costs the run that wants its place."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

from autopilot.runner.worktree import cut, move_to_trash
from autopilot.schemas.run import RunSpec
from tests.bench.house import folder
from tests.bench.measure import Bench, Finding, Row, Scale, Spent, ratio, spent_on
from tests.support.gitcmd import git
from tests.support.projects import python_project
from tests.support.repos import Repo
from tests.support.runs import Host

_READY, _ASIDE = "worktree", "worktree, removal"
_FILE = "line\n" * 100


def _measure(scale: Scale) -> Iterator[Finding]:
    spent: dict[str, list[Spent]] = {name: [] for name in ("ours", "git", "aside", "delete")}
    with folder() as place:
        repo, host = _remote(place, scale.files), Host(place / "state")
        base, sha = host.fetch(host.spec(repo))
        for round_ in range(1, scale.rounds + 2):
            for name, took in _round(host, host.spec(repo, attempt=round_), base.name, sha).items():
                spent[name] += [took] if round_ > 1 else []
    yield ratio(_READY, spent["ours"], spent["git"])
    yield ratio(_ASIDE, spent["aside"], spent["delete"])


def _round(host: Host, spec: RunSpec, base: str, sha: str) -> dict[str, Spent]:
    """Make both, each first in every other round, and take both away."""
    branch = f"plain-{spec.attempt}"
    plain = spec.worktree.parent / branch  # beside ours: where a disk puts a folder decides its cost
    add = ("worktree", "add", "-q", "-b", branch, str(plain), sha)
    actions: dict[str, Callable[[], object]] = {
        "ours": lambda: cut(host.git, spec, base=base, base_sha=sha),
        "git": lambda: host.git.run(*add, git_dir=spec.repo.mirror, config={"checkout.workers": "0"}),
    }
    turns = sorted(actions, reverse=spec.attempt % 2 == 0)
    spent = {name: spent_on(actions[name]) for name in turns}
    spent["aside"] = spent_on(lambda: move_to_trash(spec.worktree, spec.run_id))
    spent["delete"] = spent_on(lambda: shutil.rmtree(plain))
    git(spec.repo.mirror, "worktree", "prune")  # each that is left would make the next one slower
    git(spec.repo.mirror, "branch", "-q", "-D", branch)
    return spent


def _remote(place: Path, files: int) -> Repo:
    remote, files_of = place / "remote.git", place / "files"
    for number in range(files):
        file = files_of / f"part{number % 50}" / f"file{number}.txt"
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(f"{number}\n{_FILE}")
    git(files_of, "init", "-q", "-b", "main")
    git(files_of, "add", "-A")
    git(files_of, "commit", "-q", "-m", "Many files")
    git(place, "clone", "-q", "--bare", str(files_of), str(remote))
    sha = git(remote, "rev-parse", "main").strip()
    return Repo(remote, files_of, "main", sha, python_project())


BENCH = Bench(
    (
        Row(
            _READY,
            "a ticket's worktree, in a repository of its own",
            "git worktree add, checkout.workers=0",
            "x",
            1.15,
        ),
        Row(_ASIDE, "an old worktree out of the way", "deleting it", "x", 0.1),
    ),
    _measure,
)
