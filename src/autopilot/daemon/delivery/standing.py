"""How a delivery stands, as one sentence of plain values. Stdlib only: the command line says it too."""

from __future__ import annotations

from types import MappingProxyType

TYPE_CHECKING = False  # not from `typing`: ADR 0072
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

_WHAT: Mapping[str, str] = MappingProxyType(
    {"digest": "digest", "draft": "report of a draft", "issue": "comment"}
)
_STANDS: Mapping[str, str] = MappingProxyType(
    {
        "waiting": "waits to be sent",
        "sending": "is under way",
        "sent": "was sent",
        "refused": "was refused by our own gate and not sent",
        "failed": "was not sent",
        "unsure": "may have been sent",
    }
)


def sentence(row: Mapping[str, Any]) -> str:
    """Say what it is, through which channel, how it stands, and why."""
    of = f" of {row['ticket']}" if row["ticket"] else ""
    way = "on" if row["kind"] == "issue" else "through"
    what = f"{_WHAT.get(row['kind'], row['kind'])}{of} {way} {row['channel']}"
    reason = f": {row['reason']}" if row["reason"] else ""
    return f"{what} {_STANDS.get(row['state'], row['state'])}{reason}"
