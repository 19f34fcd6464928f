"""An issue as a person names it: `PROJ-7`, `#12`, `shop#12`, `owner/name#12`, or the address of its page.

Pure. Must not know which trackers there are. Stdlib only.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from urllib.parse import urlsplit

from autopilot.schemas.ids import ISSUE_PAGE, KEY_PAGE, is_reference


@dataclass(frozen=True, slots=True)
class Reference:
    """Its number or key, whose issue it is, and on which host, as far as the text says it."""

    number: str
    """`12` or `PROJ-7`."""
    project: str = ""
    """Before the `#`: nothing, a repository of ours, or owner/name. Of a key, what stands before the dash."""
    host: str = ""
    """Of its page, with the port where one is named; lower case."""

    @property
    def is_key(self) -> bool:
        """Tell whether it is a key of Jira."""
        return not self.number.isdecimal()


def parse(text: str) -> Reference | None:
    """Read a reference; None when the text is something else."""
    if match := re.fullmatch(ISSUE_PAGE, text):
        return Reference(match[2], match[1], _host(text))
    if match := re.fullmatch(KEY_PAGE, text):
        return Reference(match[1], match[1].rpartition("-")[0], _host(text))
    if not is_reference(text):
        return None
    project, hash_, number = text.rpartition("#")
    return Reference(number, project) if hash_ else Reference(text, text.rpartition("-")[0])


def _host(url: str) -> str:
    try:
        return urlsplit(url).netloc.rpartition("@")[2].lower()
    except ValueError:
        return url
