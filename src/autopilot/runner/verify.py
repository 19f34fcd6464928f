"""The second entrance of the runner: run the gates of one commit again, in a checkout nobody has touched.

Must not see a token, read the worktree of the run, or let the code under test reach the repository that is
pushed from: the checkout is a repository of its own. Source: docs/decisions/0036.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pydantic import ValidationError

from autopilot.config.atomic import write_atomically
from autopilot.config.environ import child_environment
from autopilot.config.git import FOREIGN_MEMORY_BYTES, Git
from autopilot.config.gitfault import GitError
from autopilot.config.removal import remove_tree
from autopilot.config.room import unusable
from autopilot.config.shortage import FULL_CODES, full, shortage
from autopilot.runner.failure import RunFailure
from autopilot.runner.footprint import Footprint
from autopilot.runner.gates.context import GateContext
from autopilot.runner.gates.run import run_gates
from autopilot.runner.policy import policy_of
from autopilot.runner.sandbox.bounds import RESOURCE_LIMIT
from autopilot.runner.sandbox.confinement import SandboxError
from autopilot.runner.sandbox.registry import open_sandbox
from autopilot.runner.stacks.registry import choose
from autopilot.runner.stacks.tree import Tree
from autopilot.schemas.errors import AutopilotError, ConfigError, ExitCode, TransientError
from autopilot.schemas.run import Outcome, VerifyResult, VerifySpec

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path

    from autopilot.config.clock import Clock
    from autopilot.runner.sandbox.confinement import Sandbox
    from autopilot.runner.stacks.stack import Stack

_FOLDERS = ("checkout", "gates", "home", "restored")


def main(spec_path: Path, result_path: Path, clock: Clock) -> int:
    """Verify what a file asks for and write the result into another.

    Returns:
        0 whenever the result was written, whatever it says.

    Raises:
        ConfigError: the specification cannot be read.
        TransientError: the result cannot be written for want of room.
        OSError: the result cannot be written.
    """
    try:
        spec = VerifySpec.model_validate_json(spec_path.read_bytes())
    except (OSError, ValidationError) as exc:
        what = f"{spec_path} is no specification to verify: {exc}"
        hint = "the publisher writes it; a verification is not started by hand"
        raise ConfigError("spec-unreadable", what, hint=hint) from exc
    try:
        write_atomically(result_path, verify(spec, clock).model_dump_json(indent=2).encode())
    except OSError as exc:
        if (told := full(exc, result_path.parent)) is not None:
            raise told from exc
        raise
    return ExitCode.OK


def verify(
    spec: VerifySpec,
    clock: Clock,
    *,
    base_env: Mapping[str, str] | None = None,
    should_stop: Callable[[], str | None] | None = None,
) -> VerifyResult:
    """Check a commit out afresh and run every gate over it.

    Args:
        spec: which commit, from which repository of ours, in which folder of ours.
        clock: for records and limits.
        base_env: where the values of the children's environment come from; None = our own environment.
        should_stop: asked while a gate runs; a text it returns stops everything.

    Returns:
        The ledger entries with producer `publish`; or why it could not run at all, and then none.
    """
    stack: Stack | None = None
    try:
        sandbox, footprint = _opened(spec, clock)
        git = _git(spec, clock, should_stop := footprint.or_over(should_stop))
        base, head = (Tree.at(git, spec.repository, sha) for sha in (spec.base_sha, spec.head))
        policy = policy_of(base)
        stack = choose(base, policy)
        check_out(git, spec.repository, spec.head, spec.workdir / "checkout")
    except (AutopilotError, OSError) as exc:
        return _impossible(spec, stack, exc)
    context = GateContext(
        checkout=spec.workdir / "checkout",
        base=base,
        head=head,
        policy=policy,
        stack=stack,
        sandbox=sandbox,
        network=spec.network,
        reports=spec.workdir / "gates",
        root=spec.workdir,
        scratch=spec.workdir / "restored",
        env=child_environment(base_env, home=spec.workdir / "home", passed=spec.env_pass),
        clock=clock,
        gate_s=spec.gate_s,
        grace_s=spec.kill_grace_s,
        producer="publish",
        should_stop=should_stop,
    )
    try:
        return VerifyResult(head=spec.head, stack=stack.name, gates=run_gates(context), sandbox=sandbox.kind)
    except (TransientError, OSError) as exc:
        return _impossible(spec, stack, _overgrown(footprint) or exc)


def _overgrown(footprint: Footprint) -> RunFailure | None:
    """Tell whether the disk is full of what the commit's own tests wrote."""
    if (reason := footprint.settled()) is None:
        return None
    what = f"the folders of the verification took {reason}"
    return RunFailure(Outcome.AGENT_FAILED, RESOURCE_LIMIT, what)


def _impossible(spec: VerifySpec, stack: Stack | None, exc: AutopilotError | OSError) -> VerifyResult:
    """Say why it could not run; without room that is the disk, whatever git or the sandbox made of it.

    Raises:
        OSError: it is about something else than room.
    """
    name = stack.name if stack else "unknown"
    if isinstance(exc, OSError):
        told = full(exc, spec.workdir)
        if told is None:
            raise exc
        exc = told
    if isinstance(exc, GitError | SandboxError) and exc.code not in FULL_CODES:
        short = shortage((spec.workdir,))
        exc = short.error(exc.what) if short else exc
    return VerifyResult(head=spec.head, stack=name, gates=(), error=exc.what, code=exc.code)


def _opened(spec: VerifySpec, clock: Clock) -> tuple[Sandbox, Footprint]:
    """Make room and open the sandbox; give it, and what watches how much is taken."""
    _make_room(spec.workdir)
    footprint = Footprint.of(spec.sandbox, (spec.workdir,), clock)
    sandbox = open_sandbox(footprint.bounded(spec.sandbox), clock)
    sandbox.check()
    return sandbox, footprint


def _git(spec: VerifySpec, clock: Clock, should_stop: Callable[[], str | None] | None) -> Git:
    place, grace_s = spec.workdir / "git", spec.kill_grace_s
    return Git(
        clock,
        place,
        timeout_s=spec.git_s,
        grace_s=grace_s,
        should_stop=should_stop,
        memory_bytes=FOREIGN_MEMORY_BYTES,
    )


def check_out(git: Git, repository: Path, sha: str, checkout: Path) -> None:
    """Copy one commit, without its history, into a repository of its own and show its files.

    Nothing in it names `repository`: what a test does to the git configuration around it stays there.

    Raises:
        GitError: the commit is not there, or its files cannot be written.
    """
    git.run("init", "-q", str(checkout))
    own = checkout / ".git"
    git.run("fetch", "-q", "--depth=1", "--no-tags", repository.absolute().as_uri(), sha, git_dir=own)
    git.run("checkout", "-q", "--detach", sha, git_dir=own, work_tree=checkout)
    (own / "FETCH_HEAD").unlink(missing_ok=True)


def _make_room(workdir: Path) -> None:
    """Make our folders anew: nothing of an earlier try may count."""
    try:
        workdir.mkdir(mode=0o700, parents=True, exist_ok=True)
        for name in _FOLDERS:
            remove_tree(workdir / name)
            (workdir / name).mkdir(mode=0o700)
    except OSError as exc:
        what = f"the folder {workdir} cannot be used: {exc.strerror}"
        raise unusable("workdir-unusable", what, exc, hint="remove it, or free some space") from exc
