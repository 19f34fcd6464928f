"""One way out of this machine for what is told to people: a [channels.<name>] of the configuration file.

Must not hold a default (they stand in `defaults.toml`), nor an address: a webhook's is a credential.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal, Self

from pydantic import Field, model_validator

from autopilot.config.tokens import holds_secret
from autopilot.config.values import CredentialName
from autopilot.schemas.records import Input


class Channel(Input):
    """Where the digest and reports of drafts may go, once they have passed the outbound gate."""

    kind: Literal["command", "webhook"] = Field(description="a program of yours, or an address of the web")
    argv: tuple[Annotated[str, Field(min_length=1)], ...] = Field(
        description="command only: the program and its arguments; the text is what it reads"
    )
    credential: CredentialName | None = Field(
        default=None, description="webhook only: the name under which its address lies in the key ring"
    )
    format: Literal["slack", "plain"] | None = Field(
        default=None,
        description='webhook only: JSON with a "text", for Slack, or the bare text, for ntfy; absent = slack',
    )
    limit_s: Annotated[float, Field(gt=0, le=300)] = Field(description="seconds that one delivery may take")

    @property
    def form(self) -> Literal["slack", "plain"]:
        """How its text is written."""
        return self.format or "slack"

    @model_validator(mode="before")
    @classmethod
    def _no_address(cls, raw: Any) -> Any:  # noqa: ANN401  not yet checked
        """Refuse the address itself, which is a secret, before any message could repeat it."""
        if isinstance(raw, dict) and "://" in str(raw.get("credential")):
            raise ValueError("has the address in credential; put it into the key ring, and its name here")
        return raw

    @model_validator(mode="after")
    def _whole(self) -> Self:
        if self.kind == "command" and not self.argv:
            raise ValueError("needs argv: the program to start")
        if self.kind == "command" and self.credential is not None:
            raise ValueError("is handed no credential: leave it out, or let the program read its own")
        if self.kind == "command" and self.format is not None:
            raise ValueError("reads the bare text: leave format out")
        if self.kind == "webhook" and self.credential is None:
            raise ValueError("needs credential: the name under which its address is stored")
        if self.kind == "webhook" and self.argv:
            raise ValueError("starts no program: leave argv out")
        if any(map(holds_secret, self.argv)):
            raise ValueError("has a credential in argv; let the program read it from where you keep it")
        return self
