"""One tracker of issues: a [tracker.<name>] of the configuration file.

A repository whose forge is GitHub needs none: its issues are read with the forge's own credential.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Annotated, Literal, Self

from pydantic import Field, model_validator

from autopilot.config.clear import goes_in_clear
from autopilot.config.values import CredentialName, Slug, WebUrl
from autopilot.schemas.records import Input

TrackerName = Annotated[str, Field(pattern=r"^[a-z][a-z0-9-]{0,30}$")]
_PROJECT: Mapping[str, str] = {"github": r"[A-Za-z0-9._-]+/[A-Za-z0-9._-]+", "jira": r"[A-Z][A-Z0-9_]+"}
_EXAMPLE: Mapping[str, str] = {"github": "you/shop", "jira": "PROJ"}


class Tracker(Input):
    """One tracker of issues, by the name that its accounts are called by in `trusted_authors`."""

    kind: Literal["github", "jira"] = Field(description="its interface")
    url: WebUrl = Field(description="address of its interface, e.g. https://you.atlassian.net")
    site: WebUrl | None = Field(default=None, description="where people read its issues; absent = from url")
    account: str | None = Field(
        default=None,
        pattern=r"^[!-9;-~]{1,200}$",
        description="jira: whose token it is, by mail, on Cloud; absent = a personal access token",
    )
    credential: CredentialName | None = Field(
        default=None, description="name of its token in the key ring; absent = what anybody may read"
    )
    projects: dict[str, Slug] = Field(
        default_factory=dict,
        description='whose issues are for which [[repo]]: { PROJ = "shop" }, or { "you/shop" = "shop" }',
    )

    @model_validator(mode="after")
    def _its_token_cannot_be_read_on_the_way(self) -> Self:
        if self.credential is not None and goes_in_clear(self.url):
            msg = "url: the token would go over http, which anybody on the way can read: it must be https"
            raise ValueError(msg)
        return self

    @model_validator(mode="after")
    def _account_is_of_its_kind(self) -> Self:
        if self.kind == "github" and self.account is not None:
            raise ValueError("account: a token of GitHub says itself whose it is: leave it out")
        return self

    @model_validator(mode="after")
    def _projects_are_of_its_kind(self) -> Self:
        for project in self.projects:
            if not re.fullmatch(_PROJECT[self.kind], project):
                msg = (
                    f"projects: {project[:60]!r} is none of {self.kind}; they look like {_EXAMPLE[self.kind]}"
                )
                raise ValueError(msg)
        return self
