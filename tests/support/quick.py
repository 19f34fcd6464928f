"""What a test leaves out of `autopilot on` that is not about it: what takes seconds, or asks an account."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

QUICK: Mapping[str, str] = MappingProxyType(
    {
        "AUTOPILOT__CHECKUP__REHEARSE": "false",
        "AUTOPILOT__CHECKUP__BASELINE_S": "0",
        "AUTOPILOT__CHECKUP__ASK_AGENTS": "false",
        "AUTOPILOT__CHECKUP__EVERY_S": "0",
    }
)
