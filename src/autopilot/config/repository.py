"""One repository of the operator: a [[repo]] of the configuration file."""

from __future__ import annotations

import re
from typing import Any, Literal, Self

from pydantic import Field, model_validator

from autopilot.config.clear import goes_in_clear
from autopilot.config.values import (
    Branch,
    CredentialName,
    Folder,
    GitUrl,
    Project,
    Slug,
    VariableName,
    WebUrl,
)
from autopilot.schemas.records import Input

_PATH_OF_URL = re.compile(r"^(?:[a-z]+://[^/]+/|[^/:]+:)/*(?P<path>.+?)(?:\.git)?/*$")


class Repo(Input):
    """Where a repository is, where work on it starts, who works on it, and where drafts go."""

    name: Slug = Field(description="what tickets call it; also a folder name")
    path: Folder | None = Field(default=None, description="a repository on this machine; this or url")
    url: GitUrl | None = Field(default=None, description="a repository elsewhere; this or path")
    base: Branch | None = Field(default=None, description="branch to start from; absent = ask the remote")
    agent: str | None = Field(
        default=None, min_length=1, description="who works on it; absent = default_agent"
    )
    forge: Literal["local", "github"] = Field(description="where drafts go: this machine, or GitHub")
    project: Project | None = Field(
        default=None, description="owner/name on the forge; absent = from the URL"
    )
    api_url: WebUrl | None = Field(default=None, description="the forge's API; absent = the forge's own")
    push_url: GitUrl | None = Field(
        default=None, description="where branches are pushed; absent = path or url"
    )
    credential: CredentialName | None = Field(
        default=None, description="name of the forge's token in the key ring"
    )
    env_pass: tuple[VariableName, ...] = Field(description="variables that its builds and tests may see")

    @model_validator(mode="after")
    def _one_place(self) -> Self:
        if (self.path is None) == (self.url is None):
            raise ValueError("needs either path or url" if self.path is None else "has both path and url")
        if self.forge == "github" and self.project is None:
            raise ValueError('needs project = "owner/name": its address does not tell')
        return self

    @model_validator(mode="before")
    @classmethod
    def _project_of_address(cls, raw: Any) -> Any:  # noqa: ANN401  not yet checked
        if not isinstance(raw, dict) or raw.get("forge") != "github" or raw.get("project"):
            return raw
        found = _PATH_OF_URL.match(str(raw.get("push_url") or raw.get("url") or ""))
        return {**raw, "project": found["path"]} if found and "/" in found["path"] else raw

    @model_validator(mode="after")
    def _its_token_cannot_be_read_on_the_way(self) -> Self:
        """The token goes to the forge's interface with each question, and to git's address with each push."""
        pushed = "url" if self.push_url is None else "push_url"
        for key, address in (("api_url", self.api_url), (pushed, self.push_to)):
            if self.credential is not None and address is not None and goes_in_clear(address):
                what = f"{key}: the token would go over http, which anybody on the way can read"
                raise ValueError(f"{what}: it must be https")
        return self

    @property
    def fetch_from(self) -> str:
        """What git fetches from: the URL, or the absolute path."""
        return self.url if self.url is not None else str(self.path)

    @property
    def issues_of(self) -> str:
        """What a bare `#12` is a number of: the forge's project, or else this repository."""
        return self.project or self.name if self.forge == "github" else self.name

    @property
    def push_to(self) -> str:
        """What git pushes to."""
        return self.push_url or self.fetch_from
