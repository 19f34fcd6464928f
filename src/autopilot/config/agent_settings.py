"""Settings of one coding agent.

Must not hold a default (they stand in `defaults.toml`).
"""

from __future__ import annotations

from pathlib import Path
from typing import Literal, Self

from pydantic import Field, model_validator

from autopilot.config.clear import goes_in_clear
from autopilot.config.values import VariableName, WebUrl
from autopilot.schemas.records import Input


class Agent(Input):
    """One coding agent, by the name that tickets use."""

    kind: Literal["claude", "codex", "command", "copilot", "gemini", "opencode", "scripted"] = Field(
        description="its adapter"
    )
    argv: tuple[str, ...] = Field(description="program and leading arguments; empty = the adapter's own")
    model: str | None = Field(default=None, min_length=1, description="model name handed to the agent")
    billing: Literal["metered", "subscription"] = Field(description="whether its dollars are really paid")
    env_pass: tuple[VariableName, ...] = Field(description="variables that this agent alone may see")
    api: tuple[WebUrl, ...] = Field(
        description="addresses of its model's service, which it alone may reach; empty = the adapter's own"
    )
    broker: Literal["auto", "off"] = Field(
        description="auto = what signs it in stays outside of its cell, where that is known to work"
    )
    base_url_env: VariableName | None = Field(
        default=None,
        description="command and scripted only: the variable that tells its program the service's address",
    )
    key_env: VariableName | None = Field(
        default=None,
        description="command and scripted only: the variable of its key, which stays outside then",
    )
    script: Path | None = Field(default=None, description="scripted only: the YAML to play, absolute")

    @property
    def account(self) -> tuple[object, ...] | None:
        """Say by what it signs in: agents of which this is equal share an account. None: by nothing.

        Model and arguments say how it works, and not as whom.
        """
        if self.kind in {"command", "scripted"} and not (self.env_pass or self.key_env):
            return None
        return self.kind, self.billing, frozenset(self.env_pass), self.key_env, self.api

    @model_validator(mode="after")
    def _has_what_its_kind_takes(self) -> Self:
        if self.script is not None and self.kind != "scripted":
            raise ValueError(f"has a script, which the adapter {self.kind} does not play: leave it out")
        return self

    @model_validator(mode="after")
    def _told_of_its_key(self) -> Self:
        if self.base_url_env is None and self.key_env is None:
            return self
        if self.base_url_env is None or self.key_env is None:
            raise ValueError("needs both base_url_env and key_env, or neither")
        if self.kind not in {"command", "scripted"}:
            msg = f"has base_url_env and key_env, which the adapter {self.kind} knows itself: leave them out"
            raise ValueError(msg)
        if len(self.api) != 1:
            raise ValueError("needs one address in api, for which key_env is the key")
        if goes_in_clear(self.api[0]):
            raise ValueError(
                "api: the key would go over http, which anybody on the way can read: it must be https"
            )
        return self
