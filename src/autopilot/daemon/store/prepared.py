"""Statements that are built and compiled once, when first needed, and then run by the driver itself.

SQLAlchemy's Core still writes every one of them: from the tables, for any database. What it does around each
execution costs ten times what SQLite needs for one, so on SQLite only the compiled text, the types and the
order of the parameters are taken from it. Any other database gets the statement through SQLAlchemy.
Must not know tickets. Source: docs/decisions/0095.
"""

from __future__ import annotations

from operator import itemgetter
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NamedTuple

from autopilot.schemas.errors import InvariantError

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from sqlalchemy import Connection, Dialect, Executable, Result
    from sqlalchemy.types import TypeEngine

    Named = Mapping[str, Any]
    Turn = Callable[[Any], Any]
    Turns = tuple[tuple[str, Turn], ...]

_NOTHING: Mapping[str, Any] = MappingProxyType({})


class _Plan(NamedTuple):
    """What SQLite's driver is given, and how its rows are read."""

    text: str
    picked: Callable[[Named], tuple[Any, ...]]
    """Puts the values in the order of the text."""
    literals: Named
    """Parameters that are constants of the statement."""
    given: Turns
    """Parameters that the driver does not take as they are: JSON."""
    names: tuple[str, ...]
    held: Turns
    """Columns whose values are not what the driver gives: booleans, JSON."""

    def bound(self, values: Named) -> tuple[Any, ...]:
        if self.literals or self.given:
            values = {**values, **self.literals}
            for name, turn in self.given:
                values[name] = turn(values[name])
        return self.picked(values)

    def read(self, row: tuple[Any, ...]) -> dict[str, Any]:
        found = dict(zip(self.names, row, strict=True))
        for name, turn in self.held:
            found[name] = turn(found[name])
        return found


class Prepared:
    """A statement of Core with its plans: one for each set of parameters that it was ever given.

    The columns that an INSERT or UPDATE sets are named by the parameters. Lists of any length (`expanding`)
    have no plan, for their text differs from call to call: `statement` is for those.
    """

    __slots__ = ("_build", "_plans", "_statement")

    def __init__(self, build: Callable[[], Executable]) -> None:
        """Take what builds the statement: once it is run, and only for a plan, which is all that is kept."""
        self._build = build
        self._plans: dict[tuple[str, ...], _Plan] = {}
        self._statement: Executable | None = None

    @property
    def statement(self) -> Executable:
        """Give it to be run by SQLAlchemy, which knows it again: built once, and kept from then on."""
        if self._statement is None:
            self._statement = self._build()
        return self._statement

    def rows(self, conn: Connection, values: Named = _NOTHING) -> list[dict[str, Any]]:
        """Give every row, by column."""
        raw = _sqlite(conn)
        if raw is None:
            return named(conn.execute(self.statement, values))
        plan = self._plan(conn.dialect, values)
        return list(map(plan.read, raw.execute(plan.text, plan.bound(values)).fetchall()))

    def row(self, conn: Connection, values: Named = _NOTHING) -> dict[str, Any] | None:
        """Give the first row, by column; None where there is none."""
        found = self.rows(conn, values)
        return found[0] if found else None

    def scalar(self, conn: Connection, values: Named = _NOTHING) -> Any:  # noqa: ANN401 - whatever the column holds
        """Give the first column of the first row; None where there is none."""
        row = self.row(conn, values)
        return None if row is None else next(iter(row.values()))

    def run(self, conn: Connection, values: Named) -> int:
        """Write; give how many rows that was."""
        raw = _sqlite(conn)
        if raw is None:
            return conn.execute(self.statement, values).rowcount
        plan = self._plan(conn.dialect, values)
        return raw.execute(plan.text, plan.bound(values)).rowcount

    def run_many(self, conn: Connection, values: Sequence[Named]) -> None:
        """Write once for each of these, which all name the same parameters."""
        raw = _sqlite(conn)
        if raw is None:
            conn.execute(self.statement, values)
        elif values:
            plan = self._plan(conn.dialect, values[0])
            raw.executemany(plan.text, map(plan.bound, values))

    def _plan(self, dialect: Dialect, values: Named) -> _Plan:
        names = tuple(values)
        plan = self._plans.get(names)
        if plan is None:
            plan = self._plans[names] = _planned(self._build(), dialect, names)
        return plan


def named(result: Result[Any]) -> list[dict[str, Any]]:
    """Give every row of what SQLAlchemy itself has run, by column."""
    return [row._asdict() for row in result]


def _sqlite(conn: Connection) -> sqlite3.Connection | None:
    """Give the driver's own connection, where that is SQLite's."""
    if conn.dialect.name != "sqlite":
        return None
    raw: sqlite3.Connection = conn.connection.dbapi_connection  # type: ignore[assignment]
    return raw


def _planned(statement: Any, dialect: Dialect, names: Sequence[str]) -> _Plan:  # noqa: ANN401 - see below
    """Have it compiled. Core's classes share no type with both `compile` and `exported_columns`."""
    compiled = statement.compile(dialect=dialect, column_keys=list(names))
    if compiled.post_compile_params:
        raise InvariantError("statement-unprepared", f"its text differs from call to call: {compiled}")
    order = compiled.positiontup or ()
    binds = {name: compiled.binds[name] for name in order}
    missing = [name for name, bind in binds.items() if name not in names and bind.required]
    if missing:
        raise InvariantError("parameter-missing", f"no value for {', '.join(missing)} in: {compiled}")
    columns = statement.exported_columns.items()
    given = ((name, bind.type) for name, bind in binds.items() if name in names)
    return _Plan(
        compiled.string,
        _picker(order),
        {name: bind.effective_value for name, bind in binds.items() if name not in names},
        _turns(given, lambda kind: _impl(kind, dialect).bind_processor(dialect)),
        tuple(name for name, _ in columns),
        _turns(
            ((name, column.type) for name, column in columns),
            lambda kind: _impl(kind, dialect).result_processor(dialect, None),
        ),
    )


def _picker(order: Sequence[str]) -> Callable[[Named], tuple[Any, ...]]:
    match order:
        case []:
            return lambda _: ()
        case [name]:
            return lambda values: (values[name],)
        case _:
            return itemgetter(*order)


def _turns(
    kinds: Iterable[tuple[str, TypeEngine[Any]]], of: Callable[[TypeEngine[Any]], Turn | None]
) -> Turns:
    pairs = ((name, of(kind)) for name, kind in kinds)
    return tuple((name, turn) for name, turn in pairs if turn is not None)


def _impl(kind: TypeEngine[Any], dialect: Dialect) -> TypeEngine[Any]:
    return kind.dialect_impl(dialect)
