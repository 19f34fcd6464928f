"""The bench's result as a table for a terminal, as Markdown for docs/performance.md, and as JSON."""

from __future__ import annotations

import os
import platform
import sqlite3
import sys
from collections.abc import Sequence
from typing import NamedTuple, TypedDict

from tests.bench.measure import Finding, Row, Scale


class Result(NamedTuple):
    """A row with what was measured."""

    row: Row
    finding: Finding

    @property
    def is_within(self) -> bool:
        """Whether the row keeps its bar; without one there is nothing to miss."""
        return self.row.bar is None or self.value <= self.row.bar

    @property
    def value(self) -> float:
        """What the row is judged by."""
        return self.finding.worst if self.row.judged == "worst" else self.finding.value

    @property
    def verdict(self) -> str:
        """The bar's word on it."""
        return "info" if self.row.bar is None else "ok" if self.is_within else "MISSED"


class Machine(TypedDict):
    """Where it was measured, in general words."""

    system: str
    cores: int
    python: str
    sqlite: str
    load: float
    """Processes that wanted to run, a minute's average: above the cores, times tell little."""


class Entry(TypedDict):
    """A row as JSON."""

    name: str
    ours: str
    yardstick: str
    unit: str
    value: float
    judged: str
    low: float
    high: float
    rounds: int
    bar: float | None
    within: bool
    notes: dict[str, float]


class Report(TypedDict):
    """Everything as JSON."""

    scale: str
    machine: Machine
    rows: list[Entry]
    missed: list[str]


def machine() -> Machine:
    """Say where this runs."""
    return {
        "system": f"{platform.system()} {platform.machine()}",
        "cores": os.cpu_count() or 1,
        "python": sys.version.split()[0],
        "sqlite": sqlite3.sqlite_version,
        "load": round(os.getloadavg()[0], 1),
    }


def as_json(results: Sequence[Result], scale: Scale) -> Report:
    """The whole result for a machine to read."""
    return {
        "scale": scale.name,
        "machine": machine(),
        "rows": [_entry(result) for result in results],
        "missed": missed(results),
    }


def missed(results: Sequence[Result]) -> list[str]:
    """Name the rows that are over their bar."""
    return [result.row.name for result in results if not result.is_within]


def _entry(result: Result) -> Entry:
    row, finding = result
    low, high = finding.spread
    return {
        "name": row.name,
        "ours": row.ours,
        "yardstick": row.yardstick,
        "unit": row.unit,
        "value": round(result.value, 4),
        "judged": row.judged,
        "low": round(low, 4),
        "high": round(high, 4),
        "rounds": len(finding.values),
        "bar": row.bar,
        "within": result.is_within,
        "notes": {name: round(number, 3) for name, number in finding.notes.items()},
    }


def as_table(results: Sequence[Result], scale: Scale) -> str:
    """The whole result for a person to read."""
    lines = [_where(scale), "", f"{'row':<34}{'value':>12}{'half lie in':>20}{'bar':>10}"]
    for result in results:
        row, finding = result
        low, high = (amount(row, value) for value in finding.spread)
        bar = "" if row.bar is None else amount(row, row.bar)
        value, spread = amount(row, result.value), f"{low} to {high}"
        lines.append(f"{row.name:<34}{value:>12}{spread:>20}{bar:>10}  {result.verdict}")
        told = ", ".join(f"{name} {number:.4g}" for name, number in finding.notes.items())
        lines.append(f"    {row.ours}, against {row.yardstick}" + (f" ({told})" if told else ""))
    return "\n".join(lines)


def as_markdown(results: Sequence[Result], scale: Scale) -> str:
    """The table of docs/performance.md."""
    lines = [_where(scale), "", "| row | value | half of the rounds | bar | |", "|---|---|---|---|---|"]
    for result in results:
        row, finding = result
        low, high = (amount(row, value) for value in finding.spread)
        bar = "–" if row.bar is None else f"≤ {amount(row, row.bar)}"
        cells = (f"`{row.name}`", amount(row, result.value), f"{low} to {high}", bar, result.verdict)
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines)


def amount(row: Row, value: float) -> str:
    """Show a value in the row's unit."""
    number = f"{value:.0f}" if value >= 100 or value == int(value) else f"{value:.3g}"
    return f"{number} {row.unit}".strip() if row.unit != "x" else f"{value:.2f}x"


def _where(scale: Scale) -> str:
    at = machine()
    return (
        f"{scale.name}: {at['system']}, {at['cores']} cores, Python {at['python']}, SQLite {at['sqlite']},"
        f" load {at['load']}"
    )
