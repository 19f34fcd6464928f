"""The report of a clean-up, for programs and for people: what could go or went, what stays, and why."""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from autopilot.config.atomic import write_atomically
from autopilot.config.plain import one_line
from autopilot.daemon.digest.night import Disk
from autopilot.schemas.units import MS_PER_S, iso_utc

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
    from pathlib import Path

    from autopilot.daemon.gc.item import Deed, Item
    from autopilot.daemon.gc.mirrors import MirrorState

REPORT_VERSION = 1
_MIB = 1024 * 1024
_MAX_TOLD = 10
_PREFIX, _STAMP = "gc-report-", "%Y%m%dT%H%M%SZ"


@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    """What was found, and, where something was to be removed, what became of it."""

    created_ms: int
    is_applied: bool
    items: Sequence[Item]
    deeds: Sequence[Deed] = ()
    mirrors: Sequence[MirrorState] = ()

    @property
    def removable(self) -> list[Item]:
        """Give what may go."""
        return [item for item in self.items if item.may_go]

    @property
    def kept(self) -> list[Item]:
        """Give what stays."""
        return [item for item in self.items if not item.may_go]

    @property
    def failed(self) -> list[Deed]:
        """Give what was to go and stays."""
        return [deed for deed in self.deeds if not deed.is_removed]


def as_json(report: Report) -> dict[str, Any]:
    """Give the report as plain values."""
    removed = [deed.item for deed in report.deeds if deed.is_removed]
    return {
        "report_version": REPORT_VERSION,
        "created_ms": report.created_ms,
        "created_at": iso_utc(report.created_ms),
        "is_applied": report.is_applied,
        "totals": {
            "removable_bytes": sum(item.size_bytes for item in report.removable),
            "removed_bytes": sum(item.size_bytes for item in removed),
            "kept_bytes": sum(item.size_bytes for item in report.kept),
        },
        "removable": [_item(item) for item in report.removable],
        "removed": [_item(item) for item in removed],
        "failed": [
            {**_item(deed.item), "reason": deed.told, "is_news": deed.is_news} for deed in report.failed
        ],
        "kept": [_item(item) for item in report.kept],
        "mirrors": [asdict(mirror) for mirror in report.mirrors],
    }


def _item(item: Item) -> dict[str, Any]:
    return {**asdict(item), "path": str(item.path), "parts": [str(part) for part in item.parts]}


def markdown(report: Report) -> str:
    """Write the report for a person."""
    return "\n".join(_lines(report)) + "\n"


def _lines(report: Report) -> Iterator[str]:
    moment = datetime.fromtimestamp(report.created_ms / MS_PER_S, tz=UTC)
    yield f"# Clean-up of {moment:%Y-%m-%d %H:%M} UTC"
    yield ""
    size = _size(sum(item.size_bytes for item in report.removable))
    if report.is_applied:
        gone = [deed.item for deed in report.deeds if deed.is_removed]
        freed = _size(sum(item.size_bytes for item in gone))
        yield f"{len(gone)} of {len(report.removable)} removed ({freed})."
    else:
        yield f"{len(report.removable)} could be removed ({size}). Nothing was yet: autopilot gc --apply"
    yield from _section("May go", ((item, item.why) for item in report.removable))
    yield from _section("Could not be removed", ((deed.item, deed.told) for deed in report.failed))
    yield from _section("Stays", ((item, item.why) for item in report.kept))
    if report.mirrors:
        yield from ("", "## Mirrors", "")
        yield from (f"- {_plain(str(mirror))}" for mirror in report.mirrors)


def _section(title: str, rows: Iterable[tuple[Item, str]]) -> Iterator[str]:
    listed = [
        f"- {item.kind} `{_plain(str(item.path))}` ({_size(item.size_bytes)}): {_plain(why)}"
        for item, why in rows
    ]
    if listed:
        yield from ("", f"## {title}", "", *listed)


def summary(report: Report) -> str:
    """Say in one line how many of each kind may go, or went."""
    items = [deed.item for deed in report.deeds if deed.is_removed] if report.is_applied else report.removable
    kinds = Counter(item.kind for item in items)
    told = ", ".join(f"{number} {kind}" for kind, number in sorted(kinds.items())) or "nothing"
    return f"{told} ({_size(sum(item.size_bytes for item in items))})"


def write(report: Report, folder: Path) -> Path:
    """Write both files.

    Returns:
        The one for people; the other has the same name and `.json`.

    Raises:
        OSError: they cannot be written.
    """
    folder.mkdir(mode=0o700, exist_ok=True)
    moment = datetime.fromtimestamp(report.created_ms / MS_PER_S, tz=UTC)
    target = folder / f"{_PREFIX}{moment:{_STAMP}}.md"
    text = json.dumps(as_json(report), indent=2, sort_keys=True)
    write_atomically(target.with_suffix(".json"), text.encode("utf-8", "backslashreplace"))
    write_atomically(target, markdown(report).encode("utf-8", "backslashreplace"))
    return target


def last_count(folder: Path, now_ms: int) -> Disk | None:
    """Read the last report for the digest; nothing where there is none, or it cannot be read.

    One from a time when the clock was ahead counts only while there is no other.
    """
    now = datetime.fromtimestamp(now_ms / MS_PER_S, tz=UTC)
    try:
        found = list(folder.glob(f"{_PREFIX}*.json"))
        latest = max([path for path in found if path.stem <= f"{_PREFIX}{now:{_STAMP}}"] or found)
        document = json.loads(latest.read_bytes())
        failed = [f"{one['path']}: {one['reason']}" for one in document["failed"]]
        return Disk(
            counted_ms=int(document["created_ms"]),
            mirrors={str(one["repo"]): int(one["size_bytes"]) for one in document["mirrors"]},
            removable=len(document["removable"]) - len(document["removed"]),
            removable_bytes=document["totals"]["removable_bytes"] - document["totals"]["removed_bytes"],
            stays=tuple(failed[:_MAX_TOLD]),
        )
    except (OSError, ValueError, KeyError, TypeError):
        return None


def _size(size_bytes: int) -> str:
    return f"{size_bytes / _MIB:.1f} MiB"


def _plain(text: str) -> str:
    return one_line(text, max_chars=500).replace("`", "'")
