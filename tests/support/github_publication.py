"""A publication over GitHub's protocol to the loopback forge."""

from pathlib import Path

from autopilot.config.secrets import variable_for
from tests.support.forge.server import Forge
from tests.support.forge.state import Pull
from tests.support.publication import BASE_FILES, BRANCH, CREDENTIAL, Publication, make_publication
from tests.support.publisher import Published, deliver_only, run_publisher

REPO = "o/r"


def github_publication(forge: Forge, root: Path, more: dict[str, str] | None = None) -> Publication:
    """Make the forge's repository and a publication to it; `more` are files of the base."""
    remote = forge.repositories.add(REPO, BASE_FILES | (more or {}))
    order = {
        "kind": "github",
        "push_url": forge.git_url(REPO),
        "api_url": forge.api_url,
        "project": REPO,
        "credential": CREDENTIAL,
    }
    return make_publication(root, remote, order)


def publish(publication: Publication, forge: Forge) -> Published:
    """Run a publisher that can read the forge's token."""
    return run_publisher(publication, AUTOPILOT_SECRET_FORGE_TOKEN=forge.token)


def deliver(publication: Publication, forge: Forge) -> Published:
    """Deliver in this process, as if every check had passed."""
    return deliver_only(publication, {variable_for(CREDENTIAL): forge.token})


def told(done: Published) -> tuple[str, str, str | None]:
    """Outcome, code, and what the ticket waits for."""
    return done.verdict["outcome"], done.verdict["code"], done.verdict["waiting_for"]


def open_by_a_person(forge: Forge, **other: object) -> Pull:
    """A pull request that is there already."""
    values = {
        "repo": REPO,
        "number": 12,
        "title": "T",
        "body": "words of a person",
        "head": BRANCH,
        "base": "main",
        "draft": True,
        "sha": "",
    }
    return forge.pulls.put(Pull(**{**values, **other}))  # type: ignore[arg-type]
