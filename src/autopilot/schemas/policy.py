"""`.autopilot.toml`: what a repository says about itself, read from the base commit only."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field, StringConstraints

from autopilot.schemas.records import Input

POLICY_FILE = ".autopilot.toml"

# A word of a command is kept as it is, blanks included; no program can be given a NUL.
Word = Annotated[str, StringConstraints(strip_whitespace=False, pattern=r"^[^\x00]*$")]
Argv = Annotated[tuple[Word, ...], Field(min_length=1)]


class Commands(Input):
    """Commands as argv, run in the worktree without a shell. Absent: the stack adapter decides."""

    setup: Argv | None = Field(default=None, description="restore what the committed lock file names")
    build: Argv | None = None
    test: Argv | None = None


class Policy(Input):
    """The repository's policy. No key of it can loosen a limit of the operator."""

    stack: str | None = Field(default=None, description="python, backend-node or unknown; None = detect")
    commands: Commands = Commands.model_construct()
    report: str | None = Field(
        default=None,
        description="for stack unknown: path pattern of the JUnit XML that commands.test writes",
    )
    lfs: Annotated[str, Field(pattern="^(require|skip)$")] = "require"
