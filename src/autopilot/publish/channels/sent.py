"""What a channel says of one text, by how sure it is.

Must not repeat a word of the other side, nor an address: it is a credential.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from autopilot.schemas.delivery import DeliveryOutcome


@dataclass(frozen=True, slots=True)
class Sent:
    """How it ended, as a report has it."""

    outcome: DeliveryOutcome
    code: str = ""
    message: str = ""
    hint: str = ""
