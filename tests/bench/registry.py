"""Every row that exists. A row is listed when what it measures is built, not before."""

from __future__ import annotations

from tests.bench.measure import Row
from tests.bench.rows import startup

ROWS: tuple[Row, ...] = (*startup.ROWS,)
