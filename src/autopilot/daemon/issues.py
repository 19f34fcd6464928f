"""Which tracker tells an issue that a person has named, and which repository of ours it is for.

Pure: the configuration decides, nothing is asked. Must not read a credential.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from autopilot.config.nearest import nearest
from autopilot.daemon.specs import GITHUB_API
from autopilot.schemas.errors import TicketError
from autopilot.schemas.issues import parse
from autopilot.schemas.tracking import TrackerSpec

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from autopilot.config.repository import Repo
    from autopilot.config.settings import Settings
    from autopilot.config.tracker import Tracker
    from autopilot.schemas.issues import Reference

GITHUB, GITHUB_SITE = "github", "https://github.com"
_GHES = "/api/v3"
_ADDRESS = re.compile(r"^(?:[a-z+]+://)?(?:[^@/]+@)?([^/:]+)(?::\d+(?=/))?[:/]+(.+?)(?:\.git)?/*$")


@dataclass(frozen=True, slots=True)
class Target:
    """An issue, who tells it, and the repository that its ticket is for."""

    tracker: TrackerSpec
    number: str
    name: str
    """The one name of the issue: the ticket's source key."""
    repo: str


def resolve(
    settings: Settings, reference: Reference, *, repo: str | None = None, here: Sequence[str] = ()
) -> Target:
    """Find out who tells an issue.

    Args:
        settings: the configuration.
        reference: the issue, as it was named.
        repo: the repository that the person said it is for.
        here: the folder of the checkout that the person stands in, and its remotes' addresses.

    Raises:
        TicketError: no tracker of the configuration tells it, or several repositories could be meant.
    """
    target = _of_key(settings, reference) if reference.is_key else _of_number(settings, reference, repo, here)
    if reference.host and reference.host != _host(target.tracker.site):
        raise _unknown_host(reference)
    return target if repo is None else Target(target.tracker, target.number, target.name, repo)


def tracker_of(settings: Settings, source_key: str | None, repo: str) -> Target | None:
    """Give who tells the issue that a ticket came from; None when it came from none that is told."""
    reference = parse(source_key or "")
    if reference is None:
        return None
    try:
        return resolve(settings, reference, repo=repo)
    except TicketError:
        return None


def trackers(settings: Settings) -> Iterator[TrackerSpec]:
    """Give each tracker that has a table of its own."""
    for name, tracker in settings.trackers.items():
        of_repos = (repo.project for repo in settings.repos if (repo.api_url or GITHUB_API) == tracker.url)
        yield _spec(name, tracker, next(iter((*tracker.projects, *filter(None, of_repos))), ""))


def _of_key(settings: Settings, reference: Reference) -> Target:
    for name, tracker in settings.trackers.items():
        if tracker.kind == "jira" and reference.project in tracker.projects:
            repo = tracker.projects[reference.project]
            return Target(_spec(name, tracker, ""), reference.number, reference.number, repo)
    known = [key for each in settings.trackers.values() if each.kind == "jira" for key in each.projects]
    cure = f'[tracker.jira] with projects = {{ {reference.project} = "REPO" }}: docs/trackers.md'
    raise TicketError(
        "tracker-unknown",
        f"no tracker is configured for the project {reference.project} of {reference.number}",
        hint=nearest(reference.project, known) or f"add to the configuration {cure}",
    )


def _of_number(settings: Settings, reference: Reference, repo: str | None, here: Sequence[str]) -> Target:
    if "/" in reference.project:
        spec, owner = _of_project(settings, reference)
    else:
        owner = reference.project or repo or _standing_in(settings, here)
        names = [each.name for each in settings.repos]
        if owner not in names:
            hint = nearest(owner, names) or f"known are {', '.join(names) or 'none'}"
            raise TicketError("repo-unknown", f"repo: {owner!r} is not configured", hint=hint)
        spec = _of_repository(settings, settings.repo(owner))
    return Target(spec, reference.number, f"{spec.project}#{reference.number}", owner)


def _of_project(settings: Settings, reference: Reference) -> tuple[TrackerSpec, str]:
    """Find whose project it is: a table's, or a repository's own."""
    wanted = reference.project.casefold()
    for name, tracker in settings.trackers.items():
        for project, repo in tracker.projects.items():
            if tracker.kind == GITHUB and project.casefold() == wanted:
                return _spec(name, tracker, project), repo
    for repository in settings.repos:
        if repository.forge == GITHUB and (repository.project or "").casefold() == wanted:
            return _of_repository(settings, repository), repository.name
    known = [each.project for each in settings.repos if each.forge == GITHUB and each.project]
    hint = nearest(reference.project, known) or (
        'add to the configuration the repository with forge = "github", or [tracker.github] with '
        f'projects = {{ "{reference.project}" = "REPO" }}: docs/trackers.md'
    )
    what = f"no repository or tracker is configured for {reference.project}"
    raise TicketError("tracker-unknown", what, hint=hint)


def _of_repository(settings: Settings, repo: Repo) -> TrackerSpec:
    """Say who tells the issues of a repository: a table that names it, else its own forge."""
    for name, tracker in settings.trackers.items():
        for project, owner in tracker.projects.items():
            if tracker.kind == GITHUB and owner == repo.name:
                return _spec(name, tracker, project)
    if repo.forge != GITHUB:
        hint = (
            'add to the configuration [tracker.github] with projects = { "owner/name" = '
            f'"{repo.name}" }}: docs/trackers.md'
        )
        what = f"the repository {repo.name} has no tracker: its forge is {repo.forge}"
        raise TicketError("tracker-unknown", what, hint=hint)
    url = repo.api_url or GITHUB_API
    for name, tracker in settings.trackers.items():
        if tracker.kind == GITHUB and tracker.url == url:
            return _spec(name, tracker, repo.project or "")
    return TrackerSpec(
        kind="github",
        name=GITHUB if url == GITHUB_API else _name_of_host(url),
        url=url,
        site=_site(url),
        project=repo.project or "",
        credential=repo.credential or "",
    )


def _spec(name: str, tracker: Tracker, project: str) -> TrackerSpec:
    return TrackerSpec(
        kind=tracker.kind,
        name=name,
        url=tracker.url,
        site=tracker.site or (_site(tracker.url) if tracker.kind == GITHUB else tracker.url),
        project=project if tracker.kind == GITHUB else "",
        account=tracker.account or "",
        credential=tracker.credential or "",
    )


def _standing_in(settings: Settings, here: Sequence[str]) -> str:
    """Give the only repository, or the one whose checkout a person stands in."""
    names = [repo.name for repo in settings.repos]
    if not names:
        raise TicketError(
            "repo-needed", "repo: no repository is configured", hint="run autopilot init inside one"
        )
    if len(names) == 1:
        return names[0]
    places = {_place(each) for each in here}
    found = [repo.name for repo in settings.repos if places & {_place(repo.fetch_from), _place(repo.push_to)}]
    if len(found) == 1:
        return found[0]
    hint = f"say which: {', '.join(f'{name}#N' for name in names)}, or stand in its checkout"
    raise TicketError("repo-needed", "repo: more than one repository could be meant", hint=hint)


def _place(address: str) -> str:
    """Give a place one name, however its address is written: host and path, or a folder."""
    match = None if address.startswith("/") else _ADDRESS.match(address)
    return address.rstrip("/") if match is None else f"{match[1]}/{match[2]}".casefold()


def _site(url: str) -> str:
    return GITHUB_SITE if url == GITHUB_API else url.removesuffix(_GHES)


def _host(url: str) -> str:
    return urlsplit(url).netloc.lower()


def _name_of_host(url: str) -> str:
    """Name a forge of its own: its accounts are other people than those of the same numbers at GitHub."""
    return f"{GITHUB}-{re.sub(r'[^a-z0-9]+', '-', _host(url)).strip('-')}"[:63]


def _unknown_host(reference: Reference) -> TicketError:
    hint = "name it by number or key, or correct the tracker's `site` in the configuration: docs/trackers.md"
    return TicketError("tracker-unknown", f"no tracker is configured at {reference.host}", hint=hint)
