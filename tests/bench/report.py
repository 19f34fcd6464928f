"""The bench's result as a table and as JSON."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple, TypedDict

from tests.bench.measure import Row, Sample


class Result(NamedTuple):
    """A row with what was measured."""

    row: Row
    sample: Sample

    @property
    def is_within(self) -> bool:
        """Whether the row keeps its bar."""
        return self.sample.ratio <= self.row.bar


class Entry(TypedDict):
    """A row as JSON."""

    name: str
    ours: str
    yardstick: str
    ratio: float
    bar: float
    within: bool
    ours_ms: float
    yardstick_ms: float
    rounds: int


def as_json(results: Sequence[Result]) -> dict[str, list[Entry]]:
    """The whole result for a machine to read."""
    return {"rows": [_entry(result) for result in results]}


def _entry(result: Result) -> Entry:
    row, sample = result
    return {
        "name": row.name,
        "ours": row.ours,
        "yardstick": row.yardstick,
        "ratio": round(sample.ratio, 3),
        "bar": row.bar,
        "within": result.is_within,
        "ours_ms": round(sample.ours_s * 1000, 3),
        "yardstick_ms": round(sample.yardstick_s * 1000, 3),
        "rounds": sample.rounds,
    }


def as_table(results: Sequence[Result]) -> str:
    """The whole result for a person to read."""
    lines = [f"{'row':<16}{'ratio':>8}{'bar':>8}  {'':<6}{'ours':>10}{'yardstick':>12}"]
    for result in results:
        row, sample = result
        verdict = "ok" if result.is_within else "OVER"
        times = f"{sample.ours_s * 1000:>8.1f}ms{sample.yardstick_s * 1000:>10.1f}ms"
        lines.append(f"{row.name:<16}{sample.ratio:>7.2f}x{row.bar:>7.2f}x  {verdict:<6}{times}")
        lines.append(f"    {row.ours}, against {row.yardstick}")
    return "\n".join(lines)
