"""Writes a configuration as TOML, whatever characters its values hold."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

_DELETE = "\x7f"


def toml_text(table: Mapping[str, Any]) -> str:
    """Plain values first, then the tables below them, as TOML wants it."""
    return "\n".join(_lines(table, ())) + "\n"


def _lines(table: Mapping[str, Any], at: tuple[str, ...]) -> Iterator[str]:
    for key, value in table.items():
        if not _is_below(value):
            yield f"{_quoted(key)} = {_value(value)}"
    for key, value in table.items():
        name = ".".join(_quoted(part) for part in (*at, key))
        if isinstance(value, Mapping):
            yield f"[{name}]"
            yield from _lines(value, (*at, key))
        elif _is_below(value):
            for one in value:
                yield f"[[{name}]]"
                yield from _lines(one, (*at, key))


def _is_below(value: object) -> bool:
    """Whether a value is a table, or a list of tables."""
    if isinstance(value, Mapping):
        return True
    return isinstance(value, list | tuple) and bool(value) and isinstance(value[0], Mapping)


def _value(value: object) -> str:
    if isinstance(value, str | Path):
        return _quoted(str(value))
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, Sequence):
        return f"[{', '.join(_value(one) for one in value)}]"
    return repr(value)


def _quoted(text: str) -> str:
    return json.dumps(text, ensure_ascii=False).replace(_DELETE, "\\u007f")
