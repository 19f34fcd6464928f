"""Writes down what a child may know, from our own records and the operator's configuration only.

Pure: builds values. Must not read what a run left behind; what the judge has believed of it is handed in.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from autopilot.config.paths import JUDGE_REPOSITORY, LEASE_FILE
from autopilot.schemas.cell import SandboxSpec
from autopilot.schemas.ids import slug
from autopilot.schemas.publication import ForgeSpec, PublishSpec, PullQuestion, PullStateSpec
from autopilot.schemas.run import Lease, RepoSpec, RunSpec

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from autopilot.config.paths import Paths
    from autopilot.config.repository import Repo
    from autopilot.config.settings import Settings
    from autopilot.daemon.store.rows import Claim, LivePublication, Publication
    from autopilot.schemas.gate import GateRecord
    from autopilot.schemas.run import RunResult
    from autopilot.schemas.ticket import Exchange, Ticket

GITHUB_API = "https://api.github.com"
_ISSUE = re.compile(r"#[1-9]\d*$")
_TRACKER_KEY = re.compile(r"\b[A-Z][A-Z0-9_]+-[1-9]\d*$")


def tracker_key(ticket: Ticket) -> str | None:
    """Give `#12` or `PROJ-7` when the ticket came from a tracker."""
    for pattern in (_ISSUE, _TRACKER_KEY):
        if match := pattern.search(ticket.source_key or ""):
            return match.group()
    return None


def run_spec(
    claim: Claim, exchanges: Sequence[Exchange], *, settings: Settings, paths: Paths, now_ms: int
) -> RunSpec:
    """Say what the runner is to do.

    Raises:
        ConfigError: the ticket's repository or agent is not configured any more.
    """
    ticket, attempt = claim.ticket, claim.attempt
    return RunSpec(
        run_id=attempt.run_id,
        ticket_id=ticket.id,
        task_id=tracker_key(ticket) or slug(ticket.title),
        short_id=ticket.short_id,
        attempt=attempt.no,
        fence=attempt.fence,
        title=ticket.title,
        body=ticket.body,
        acceptance=ticket.acceptance,
        exchanges=tuple(exchanges),
        repo=_repo_spec(ticket, settings, paths),
        branch=ticket.branch,
        worktree=paths.worktree(ticket.id),
        run_dir=paths.run_dir(attempt.run_id),
        pr_request=paths.request(attempt.run_id),
        salvage_dir=paths.salvage / ticket.id,
        agent=settings.agent(attempt.agent),
        identity=settings.identity,
        limits=settings.limits(),
        lease=_lease(paths.run_dir(attempt.run_id), settings),
        sandbox=sandbox_spec(settings, paths),
        network=settings.network.spec(),
        guard=settings.guard.spec(),
        output_language=settings.output_language,
        created_ms=now_ms,
    )


def publish_spec(
    live: LivePublication,
    *,
    behind: RunResult,
    gates: Sequence[GateRecord],
    attempted: Sequence[str],
    settings: Settings,
    paths: Paths,
    now_ms: int,
) -> PublishSpec:
    """Say what the publisher is to do; `behind` is what its run told, of `attempted` nobody heard.

    Raises:
        ConfigError: the repository is not configured any more.
    """
    ticket, publication = live.ticket, live.publication
    repo, limits = settings.repo(publication.repo), settings.limits()
    return PublishSpec(
        id=publication.id,
        ticket_id=ticket.id,
        ticket_ref=_reference(ticket, repo),
        run_id=publication.run_id,
        request=paths.request(publication.run_id),
        verdict=paths.verdict(publication.run_id),
        workdir=paths.publish_dir(publication.run_id) / "work",
        source=paths.run_dir(publication.run_id) / JUDGE_REPOSITORY,
        mirror=paths.mirror(repo.name),
        forge=forge_spec(repo, paths),
        base=publication.base,
        base_sha=publication.base_sha,
        branch=publication.branch,
        head=publication.head,
        recorded_branch=behind.branch,
        expected_remote_head=publication.expected_remote_head,
        attempted_heads=tuple(attempted),
        idempotency_key=publication.idempotency_key,
        fence=publication.fence,
        lease=_lease(paths.publish_dir(publication.run_id), settings),
        identity=settings.identity,
        recorded_gates=tuple(gates),
        run_sandbox=behind.sandbox,
        env_pass=repo.env_pass,
        sandbox=sandbox_spec(settings, paths),
        network=settings.network.spec(),
        gate_s=limits.gate_s,
        git_s=limits.git_s,
        kill_grace_s=limits.kill_grace_s,
        created_ms=now_ms,
    )


def pull_state_spec(
    repo_name: str, drafts: Sequence[Publication], *, settings: Settings, paths: Paths, now_ms: int
) -> PullStateSpec:
    """Say which drafts of a repository are asked about.

    Raises:
        ConfigError: the repository is not configured any more.
    """
    repo, limits, folder = settings.repo(repo_name), settings.limits(), paths.drafts_dir(repo_name)
    return PullStateSpec(
        id=f"{repo.name}-{now_ms}",
        report=folder / "report.json",
        workdir=folder / "work",
        forge=forge_spec(repo, paths),
        mirror=paths.mirror(repo.name),
        pulls=tuple(
            PullQuestion(publication=draft.id, number=draft.pr_number, branch=draft.branch)
            for draft in drafts
            if draft.pr_number is not None
        ),
        kill_grace_s=limits.kill_grace_s,
        created_ms=now_ms,
    )


def _reference(ticket: Ticket, repo: Repo) -> str:
    """Say how a draft refers to its ticket; an issue of another project is called by its whole name."""
    key = tracker_key(ticket)
    if key is None:
        return ticket.id
    source = ticket.source_key or ""
    project = source.rpartition("#")[0] if repo.forge == "github" else ""
    is_elsewhere = "/" in project and "://" not in project
    return source if is_elsewhere and project.casefold() != (repo.project or "").casefold() else key


def _lease(folder: Path, settings: Settings) -> Lease:
    return Lease(file=folder / LEASE_FILE, lease_s=settings.daemon.lease_s)


def sandbox_spec(settings: Settings, paths: Paths) -> SandboxSpec:
    """Say what everything foreign is locked up in; what is ours is sealed whatever else may be read."""
    sealed = (paths.state, paths.config_file, paths.logs)
    return SandboxSpec(sealed=sealed, **settings.sandbox.model_dump())


def forge_spec(repo: Repo, paths: Paths) -> ForgeSpec:
    """Say where a repository's branches and drafts go, and by which credential."""
    if repo.forge == "local":
        folder = paths.local_forge / repo.name
        return ForgeSpec(kind="local", push_url=repo.push_to, project=repo.name, record_dir=folder)
    return ForgeSpec(
        kind=repo.forge,
        push_url=repo.push_to,
        api_url=repo.api_url or GITHUB_API,
        project=repo.project or "",
        credential=repo.credential or "",
    )


def _repo_spec(ticket: Ticket, settings: Settings, paths: Paths) -> RepoSpec:
    repo = settings.repo(ticket.repo)
    base = ticket.base or repo.base
    return RepoSpec(
        name=repo.name,
        url=repo.fetch_from,
        mirror=paths.mirror(repo.name),
        base=base,
        base_source="input" if ticket.base else "remembered" if base else "default",
        env_pass=repo.env_pass,
    )
