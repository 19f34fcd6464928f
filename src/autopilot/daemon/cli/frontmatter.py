"""A ticket file: YAML front matter between `---` lines, then Markdown. Files without it are all body."""

from __future__ import annotations

from datetime import date
from typing import Any

from autopilot.schemas.errors import TicketError

KEYS = ("title", "repo", "base", "priority", "depends_on", "not_before", "agent", "acceptance", "source_key")
MAX_TITLE_CHARS = 200
_FENCE = "---"


def split(text: str) -> tuple[dict[str, Any], str]:
    """Separate front matter from the body.

    Returns:
        The fields, and the text below them.

    Raises:
        TicketError: the front matter is no YAML mapping, has an unknown key, or is never closed.
    """
    lines = text.replace("\r\n", "\n").split("\n")
    if lines[0].rstrip() != _FENCE:
        return {}, text.replace("\r\n", "\n")
    try:
        end = next(index for index, line in enumerate(lines[1:], start=1) if line.rstrip() == _FENCE)
    except StopIteration:
        raise TicketError(
            "front-matter-open", "the front matter is never closed", hint="end it with a line `---`"
        ) from None
    return _parse("\n".join(lines[1:end])), "\n".join(lines[end + 1 :])


def _parse(block: str) -> dict[str, Any]:
    import difflib

    import yaml

    try:
        fields = yaml.safe_load(block) or {}
    except yaml.YAMLError as exc:
        raise TicketError(
            "front-matter-invalid",
            f"the front matter is no YAML: {exc}",
            hint="quote values that hold `:` or `#`",
        ) from exc
    if not isinstance(fields, dict):
        raise TicketError(
            "front-matter-invalid",
            "the front matter is no list of `key: value` lines",
            hint="see README",
        )
    for key in fields:
        if key not in KEYS:
            near = difflib.get_close_matches(str(key), KEYS, n=1)
            hint = f"did you mean {near[0]}?" if near else f"known are {', '.join(KEYS)}"
            raise TicketError("ticket-invalid", f"{key}: no such field in the front matter", hint=hint)
    return {key: _plain(value) for key, value in fields.items()}


def _plain(value: object) -> object:
    """Turn YAML's own dates back into text, so that one reader judges them."""
    return value.isoformat() if isinstance(value, date) else value


def title_and_body(title: object, body: str) -> dict[str, Any]:
    """Take the title from the first line when there is none; a long first line also stays in the body."""
    text = body.strip()
    if title is not None:
        return {"title": title, "body": text}
    first, _, rest = text.partition("\n")
    line = first.strip().lstrip("#").strip()
    if len(line) <= MAX_TITLE_CHARS:
        return {"title": line, "body": rest.strip()}
    return {"title": line[: MAX_TITLE_CHARS - 1].rsplit(" ", 1)[0] + "…", "body": text}
