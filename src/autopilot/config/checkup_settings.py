"""Settings of what is looked at before and during a night.

Must not hold a default (they stand in `defaults.toml`).
"""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from autopilot.schemas.records import Input

_DAY_S = 86_400
_WEEK_S = 7 * _DAY_S


class Checkup(Input):
    """What `autopilot on` and `doctor` try out, and what the daemon asks again while it is on."""

    rehearse: bool = Field(
        description="one scripted ticket goes through the whole machine, in a folder of its own"
    )
    rehearsal_s: Annotated[float, Field(gt=0, le=3600)] = Field(description="seconds that it may take")
    baseline_s: Annotated[float, Field(ge=0, le=_DAY_S)] = Field(
        description="seconds that a base commit's own tests may take before the night; 0 = not run then"
    )
    ask_agents: bool = Field(
        description="each agent's account is asked for one word, which costs a fraction of a cent"
    )
    fresh_s: Annotated[float, Field(ge=0, le=_WEEK_S)] = Field(
        description="seconds for which a good answer to one of these three counts"
    )
    every_s: Annotated[float, Field(ge=0, le=_DAY_S)] = Field(
        description="seconds between two looks of a daemon that is on; 0 = it does not look"
    )
