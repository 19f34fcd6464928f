"""Every key that a configuration may hold, as the models describe it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple, get_args, get_origin

from pydantic import BaseModel

from autopilot.config.nearest import nearest
from autopilot.config.settings import Settings

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pydantic.fields import FieldInfo


class Key(NamedTuple):
    """A key and the table it stands in: `` (top), `schedule`, `agents.<name>`, `repo`."""

    table: str
    name: str
    field: FieldInfo
    model: type[BaseModel]

    @property
    def dotted(self) -> str:
        """The key with its table."""
        return f"{self.table}.{self.name}" if self.table else self.name


def known_keys(model: type[BaseModel] = Settings, table: str = "") -> Iterator[Key]:
    """Give every key, top level first, then table by table."""
    inner: list[tuple[str, type[BaseModel]]] = []
    for attribute, field in model.model_fields.items():
        name = field.alias or attribute
        below = _model_in(field.annotation)
        if below is None:
            yield Key(table, name, field, model)
        else:
            named = f"{name}.<name>" if get_origin(field.annotation) is dict else name
            inner.append((f"{table}.{named}" if table else named, below))
    for named, below in inner:
        yield from known_keys(below, named)


def meant(path: tuple[str | int, ...]) -> str:
    """Say which key was probably meant by an unknown one: the same name in another table, or a neighbour."""
    table = _table_of(path[:-1])
    name = str(path[-1])
    keys = tuple(known_keys())
    elsewhere = [key.dotted for key in keys if key.name == name]
    if elsewhere and elsewhere[0] == name:
        return "it belongs at the top of the file, before the first [table]"
    if elsewhere:
        return f"did you mean {elsewhere[0]}?"
    neighbours = [key.name for key in keys if key.table == table] + _tables_below(table, keys)
    return nearest(name, neighbours) or nearest(name, [key.dotted for key in keys])


def _table_of(path: tuple[str | int, ...]) -> str:
    if path[:1] in {("agents",), ("channels",), ("tracker",)} and len(path) > 1:
        return f"{path[0]}.<name>"
    return str(path[0]) if path else ""


def _tables_below(table: str, keys: tuple[Key, ...]) -> list[str]:
    return sorted({key.table.split(".")[0] for key in keys if key.table}) if not table else []


def _model_in(annotation: Any) -> type[BaseModel] | None:  # noqa: ANN401  any annotation
    """Find the model in `Model`, `dict[str, Model]` or `tuple[Model, ...]`."""
    candidates = (annotation, *get_args(annotation))
    found = [part for part in candidates if isinstance(part, type) and issubclass(part, BaseModel)]
    return found[0] if found else None
