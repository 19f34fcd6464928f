"""The base commit of a repository: how its tests are run, and whether they are green before anybody works.

What is known already is not run again: a base's tests are remembered by its commit, or read from a run that
measured them. Must not run anything outside of the sandbox that runs have, or longer than it may.
"""

from __future__ import annotations

import shlex
from dataclasses import dataclass
from typing import TYPE_CHECKING

from pydantic import ValidationError

from autopilot.config import proc
from autopilot.config.foreign_file import UnreadableError, read_plain
from autopilot.config.git import Git, GitError
from autopilot.config.passing import status_of
from autopilot.config.paths import RESULT_FILE
from autopilot.config.plain import one_line
from autopilot.config.removal import remove_tree
from autopilot.config.shortage import FULL_CODES, full, shortage
from autopilot.daemon import children, policy_example, specs
from autopilot.daemon.checkup import remembered
from autopilot.daemon.checkup.check import blocked, ok, warning
from autopilot.runner import mirror
from autopilot.runner import remote as runner_remote
from autopilot.runner.locks import held
from autopilot.runner.phases.baseline import NOT_STARTED
from autopilot.runner.policy import read_policy
from autopilot.runner.stacks.registry import choose
from autopilot.runner.stacks.tree import Tree
from autopilot.schemas.errors import ConfigError
from autopilot.schemas.run import Baseline, RepoSpec, RunResult, VerifyResult, VerifySpec

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from autopilot.config.repository import Repo
    from autopilot.daemon.checkup.probe import Limit
    from autopilot.daemon.checkup.scene import Scene
    from autopilot.schemas.checkup import Check
    from autopilot.schemas.policy import Policy

_RESULTS = 30
_MAX_RESULT_BYTES = 16 * 1024 * 1024
_SHOWN_SHA = 12
_GATE = "test-summary"
_TOO_LONG, _NOT_KNOWN = "timed-out", "not-known"
_EARLY_ENDS = frozenset({_TOO_LONG, "stopped"})
_START_S = 20.0
"""What the child itself may take, beside the tests."""


@dataclass(frozen=True, slots=True)
class Base:
    """A base commit, read from a repository on this machine."""

    tree: Tree
    policy: Policy
    git: Git

    @property
    def sha(self) -> str:
        """Give its full name."""
        return self.tree.sha


def base(repo: Repo, scene: Scene, limit: Limit) -> Iterator[Check]:
    """Say how the tests are run, and what they say of the base.

    Raises:
        AutopilotError: the base cannot be had.
    """
    found = _found(repo, scene, limit)
    if found is None:
        yield ok(f"tests of {repo.name}", "known when a run, or autopilot on, has fetched the base branch")
        return
    try:
        stack = choose(found.tree, found.policy)
    except ConfigError as error:
        example = policy_example.lines(found.tree.blobs, error)
        cure = f"commit a .autopilot.toml to the base branch: {error.hint or example.splitlines()[0]}"
        yield warning(f"tests of {repo.name}", f"{error.what}: no ticket of it can be verified", cure)
        return
    command = shlex.join(stack.shown_test(found.tree, found.policy))
    yield ok(f"tests of {repo.name}", f"{stack.name}: {command}")
    yield from _green(repo, found, scene, limit)


def _green(repo: Repo, found: Base, scene: Scene, limit: Limit) -> Iterator[Check]:
    name, about = f"base of {repo.name}", f"{found.sha} {scene.settings.sandbox.kind}"
    if known := remembered.recall(scene, name, about=about):
        yield from known
        return
    measured = None if scene.is_fresh else _of_a_run(scene.paths.runs, found.sha)
    if measured is not None:
        yield line(name, found.sha, measured)
        return
    within_s = scene.settings.checkup.baseline_s
    if not within_s:
        yield ok(name, f"{found.sha[:_SHOWN_SHA]}: its first run measures it")
        return
    measured = _measured(repo, found, scene, limit)
    if measured.code in _EARLY_ENDS:
        what = f"{found.sha[:_SHOWN_SHA]}: not known, its tests take longer than {within_s:g} s"
        yield warning(name, what, "its first run measures it; or raise baseline_s in [checkup]")
        return
    if measured.code in FULL_CODES:  # passes, so it is not remembered
        yield line(name, found.sha, measured)
        return
    yield from remembered.keep(scene, name, (line(name, found.sha, measured),), about=about)


def line(name: str, sha: str, measured: Baseline) -> Check:
    """Judge what a base's own tests said: on a red one, tickets that do not mend it end with red gates.

    What could not be found out is a thing to know: the first run measures it.
    """
    seen = f"{sha[:_SHOWN_SHA]}: {measured.reason or 'its tests ended without a word'}"
    if measured.green:
        return ok(name, f"green, {seen}")
    if measured.code == NOT_STARTED:
        cure = "install what is missing, or say in .autopilot.toml how: commands.setup, commands.test"
        return blocked(name, f"its tests cannot be started here: {seen}", cure)
    if measured.code == _NOT_KNOWN:
        return warning(name, f"not known, {seen}", "its first run measures it; try its tests by hand")
    if measured.code in FULL_CODES:
        return warning(name, f"not known, {seen}", "free disk space; its first run measures it")
    cure = "mend the base branch first; or force this line where a ticket is there to mend it"
    return blocked(name, f"red, {seen}", cure)


def _found(repo: Repo, scene: Scene, limit: Limit) -> Base | None:
    """Read the base where it is on this machine; fetch it first where its tests may be run."""
    git = _git(scene, limit)
    if scene.settings.checkup.baseline_s:
        place, sha = scene.paths.mirror(repo.name), _fetched(repo, scene, limit, git)
    else:
        place = repo.path if repo.path is not None else scene.paths.mirror(repo.name)
        if not place.exists():
            return None
        try:
            place, sha = _standing(git, place, repo)
        except GitError:
            return None
    tree = Tree.at(git, place, sha)
    return Base(tree, read_policy(git, place, sha), git)


def _fetched(repo: Repo, scene: Scene, limit: Limit, git: Git) -> str:
    """Bring the base into our mirror, as the first run of the night would."""
    spec = RepoSpec(name=repo.name, url=repo.fetch_from, mirror=scene.paths.mirror(repo.name), base=repo.base)
    network = _git(scene, limit, is_users=True)
    remote = runner_remote.look_at(network, spec.url)
    chosen = runner_remote.choose_base(spec, remote)
    return mirror.fetch_base(git, network, spec, base=chosen, remote=remote, on_lock_removed=lambda _: None)


def _standing(git: Git, place: Path, repo: Repo) -> tuple[Path, str]:
    """Give the repository's own folder, and the base as it stands there."""
    inside = git.run("rev-parse", "--absolute-git-dir", cwd=place).decode().strip()
    folder = type(place)(inside)
    names = (f"refs/heads/{repo.base}", mirror.base_ref(repo.base)) if repo.base else ("HEAD",)
    for name in names:
        if git.check("rev-parse", "--verify", "--quiet", f"{name}^{{commit}}", git_dir=folder):
            sha = git.run("rev-parse", "--verify", f"{name}^{{commit}}", git_dir=folder)
            return folder, sha.decode().strip()
    raise GitError("git-no-ref", f"{place} has none of {', '.join(names)}")


def _of_a_run(runs: Path, sha: str) -> Baseline | None:
    """Find a run that measured this very commit."""
    try:
        seen = {folder: status_of(folder) for folder in runs.iterdir()}
    except OSError:
        return None
    by_time = {folder: status.st_mtime_ns for folder, status in seen.items() if status is not None}
    for folder in sorted(by_time, key=lambda each: by_time[each], reverse=True)[:_RESULTS]:
        try:
            raw = read_plain(folder / RESULT_FILE, max_bytes=_MAX_RESULT_BYTES)
            result = RunResult.model_validate_json(raw)
        except (UnreadableError, ValidationError):
            continue
        if result.base_sha == sha and result.baseline is not None:
            return result.baseline
    return None


def _measured(repo: Repo, found: Base, scene: Scene, limit: Limit) -> Baseline:
    """Have the base's own tests run by a child, as before a publication; its folder goes away again.

    Raises:
        AutopilotError: they cannot be run here.
    """
    work = remembered.place(scene) / f"base-{repo.name}"
    with held(work.with_suffix(".lock"), timeout_s=limit.left_s, clock=scene.clock):
        try:
            remove_tree(work)
            (work / "home").mkdir(mode=0o700, parents=True)
            return _verdict(_verified(repo, found, scene, limit, work=work))
        except OSError as exc:
            if (told := full(exc, work)) is None:
                raise
            return Baseline(counts=None, green=False, reason=told.what, code=told.code)
        finally:
            remove_tree(work)


def _verified(repo: Repo, found: Base, scene: Scene, limit: Limit, *, work: Path) -> VerifyResult | str:
    """Start the child; a text says why there is no result."""
    within_s = min(scene.settings.timeouts.gate_s, scene.settings.checkup.baseline_s)
    spec = VerifySpec(
        ticket_id=f"base of {repo.name}",
        repository=found.tree.git_dir,
        head=found.sha,
        base_sha=found.sha,
        workdir=work / "work",
        env_pass=repo.env_pass,
        sandbox=specs.sandbox_spec(scene.settings, scene.paths),
        network=scene.settings.network.spec(),
        gate_s=within_s,
        kill_grace_s=1.0,
    )
    spec_file, result_file = work / "spec.json", work / "result.json"
    spec_file.write_text(spec.model_dump_json(), encoding="utf-8")
    argv, env = children.verification(
        spec_file, result_file, passed=repo.env_pass, base=scene.runner.surroundings
    )
    ended = proc.run(
        argv,
        cwd=work,
        env=env,
        output=work / "verify.log",
        clock=scene.clock,
        wall_s=within_s + _START_S,
        grace_s=1.0,
        should_stop=limit.should_stop,
    )
    try:
        return VerifyResult.model_validate_json(read_plain(result_file, max_bytes=_MAX_RESULT_BYTES))
    except (UnreadableError, ValidationError):
        if not ended.stopped and (short := shortage((work,))):
            told = short.error("its tests left no result")
            return VerifyResult(head=found.sha, stack="unknown", gates=(), error=told.what, code=told.code)
        return _TOO_LONG if ended.stopped else one_line(ended.spawn_error or ended.tail)


def _verdict(result: VerifyResult | str) -> Baseline:
    """Read what the gate of the tests says."""
    if isinstance(result, str):
        code = _TOO_LONG if result == _TOO_LONG else _NOT_KNOWN
        return Baseline(counts=None, green=False, reason=result, code=code)
    record = next((each for each in result.gates if each.gate == _GATE), None)
    if record is None:
        reason = result.error or "its tests were not run"
        return Baseline(counts=None, green=False, reason=reason, code=result.code or _NOT_KNOWN)
    return Baseline(counts=record.counts, green=record.is_green, reason=record.reason, code=record.code)


def _git(scene: Scene, limit: Limit, *, is_users: bool = False) -> Git:
    return Git(
        scene.clock,
        scratch=scene.paths.state,
        timeout_s=limit.left_s,
        grace_s=1.0,
        user_config=is_users,
        should_stop=limit.should_stop,
    )
