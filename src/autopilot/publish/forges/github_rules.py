"""What GitHub tells of a token and of the rules of a branch, and what is wanting in it.

Pure. Must not ask anything.
Source: https://docs.github.com/en/rest/repos/rules (2022-11-28), where `current_user_can_bypass` is told to
whoever asks; X-OAuth-Scopes, which is sent for classic tokens only: "Scopes for OAuth apps".
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pydantic import BaseModel, ConfigDict, Field, TypeAdapter

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

_NEEDED: Mapping[str, str] = {
    "non_fast_forward": "force pushes are not blocked",
    "deletion": "it can be deleted",
    "pull_request": "it can be pushed to without a pull request",
}
_MIGHTY = ("admin", "maintain")


class _Told(BaseModel):
    model_config = ConfigDict(extra="ignore", frozen=True)


class Repository(_Told):
    """The repository, as this token sees it."""

    default_branch: str
    permissions: dict[str, bool] = Field(default_factory=dict)


class Rule(_Told):
    """One active rule of a branch."""

    type: str
    ruleset_id: int | None = None
    parameters: dict[str, Any] = Field(default_factory=dict)


class Ruleset(_Told):
    """Whose rule it is."""

    name: str
    current_user_can_bypass: str | None = None


class Ref(_Told):
    """A branch by its full name."""

    ref: str


RULES = TypeAdapter(tuple[Rule, ...])
REFS = TypeAdapter(tuple[Ref, ...])


def of_token(repository: Repository, scopes: str | None) -> Iterator[str]:
    """Say in what the token may do more than it needs."""
    if scopes is not None:
        named = scopes or "no scopes"
        yield f"the token is a classic one ({named}), which reaches every repository of its account"
    mighty = [name for name in _MIGHTY if repository.permissions.get(name)]
    if mighty:
        yield f"the token's account has the role {mighty[0]} in the repository"


def of_branch(branch: str, rules: Iterable[Rule]) -> Iterator[str]:
    """Say what the rules of a branch leave open."""
    by_type = {rule.type: rule for rule in rules}
    yield from (f"{branch}: {wanting}" for kind, wanting in _NEEDED.items() if kind not in by_type)
    reviewed = by_type.get("pull_request")
    if reviewed is not None and reviewed.parameters.get("require_code_owner_review") is not True:
        yield f"{branch}: no review by code owners is required"


def of_ruleset(ruleset: Ruleset) -> Iterator[str]:
    """Say whether the token's account walks past it."""
    if ruleset.current_user_can_bypass not in {None, "never"}:
        yield f"the token's account may bypass the ruleset {ruleset.name!r}"
