"""What a filter of jq may say, also where another program carries one.

Must not accept one that reads the environment or a file of its own. Source: jq(1).
"""

from __future__ import annotations

import re

from autopilot.runner.guard.verdict import Refused

# `.env` is a field, `$env` a variable that the command line gave; `env` by itself is the environment.
_REACHES = re.compile(
    r"(?<![.\w$])(?:env|import|include|input_filename|debug|syslog|get_search_list|modulemeta)\b"
    r"|\.\.[A-Za-z]|\$ENV|\$__"
)
_TEXT = re.compile(r'"(?:[^"\\]|\\[^(])*"')


def check_filter(text: str) -> None:
    """Take a filter.

    Raises:
        Refused: it may reach further than its input.
    """
    # With a comment, or a text that holds a filter, it is not plain where a text ends.
    is_plain = "#" not in text and "\\(" not in text
    if _REACHES.search(_TEXT.sub('""', text) if is_plain else text):
        raise Refused("filter", "a jq filter does not name env, $ENV, import or include")
