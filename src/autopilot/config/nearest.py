"""The known name that somebody probably meant."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable


def nearest(name: str, known: Iterable[str]) -> str:
    """Give `did you mean …?`, or an empty text when nothing is near."""
    import difflib  # noqa: PLC0415 - where a name is wrong

    folded = {candidate.casefold(): candidate for candidate in known}
    found = difflib.get_close_matches(name.casefold(), folded, n=1, cutoff=0.6)
    return f"did you mean {folded[found[0]]}?" if found else ""
