"""A ticket file: YAML front matter between `---` lines, then Markdown. Files without it are all body."""

from __future__ import annotations

from autopilot.schemas.errors import TicketError

TYPE_CHECKING = False  # not from `typing`: ADR 0072
if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Any

    import yaml

KEYS = (
    *("title", "repo", "base", "priority", "depends_on", "not_before", "agent", "acceptance"),
    *("source_key", "origin"),
)
MAX_TITLE_CHARS = 200
MAX_DEPTH = 3
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
    from autopilot.config.nearest import nearest

    fields = _read(block)
    if not isinstance(fields, dict):
        raise _invalid("is no list of `key: value` lines", hint="write lines such as `priority: high`")
    for key in fields:
        if key not in KEYS:
            hint = nearest(str(key), KEYS) or f"known are {', '.join(KEYS)}"
            raise TicketError("ticket-invalid", f"{key}: no such field in the front matter", hint=hint)
    return fields


def _read(block: str) -> object:
    import yaml

    class PlainLoader(yaml.SafeLoader):
        """Dates stay text, so that one reader judges them."""

    PlainLoader.yaml_implicit_resolvers = {
        first: [(tag, pattern) for tag, pattern in resolvers if not tag.endswith(":timestamp")]
        for first, resolvers in yaml.SafeLoader.yaml_implicit_resolvers.items()
    }
    try:
        _check_is_plain(yaml.parse(block, yaml.SafeLoader))
        return yaml.load(block, PlainLoader) or {}  # noqa: S506 - a SafeLoader that knows even less
    except (yaml.YAMLError, ValueError) as exc:
        raise _invalid(f"is no YAML: {exc}", hint="quote values that hold `:` or `#`") from exc


def _check_is_plain(events: Iterable[yaml.Event]) -> None:
    """Refuse what no ticket needs: a few lines of references or nesting would fill memory or stack."""
    import yaml

    depth = 0
    for event in events:
        if isinstance(event, yaml.AliasEvent) or getattr(event, "anchor", None) is not None:
            raise _invalid("uses references (`&` and `*`)", hint="write the value out, or quote it")
        if (tag := getattr(event, "tag", None)) is not None:
            raise _invalid(f"uses the tag {tag}", hint="write the value without it, or quote it")
        depth += isinstance(event, yaml.CollectionStartEvent) - isinstance(event, yaml.CollectionEndEvent)
        if depth > MAX_DEPTH:
            raise _invalid("is nested too deep", hint="write lines such as `priority: high`")


def _invalid(what: str, *, hint: str) -> TicketError:
    return TicketError("front-matter-invalid", f"the front matter {what}", hint=hint)


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
