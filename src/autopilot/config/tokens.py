"""What a credential looks like, by its name and by its value.

A sieve for environments, logs and error texts. Must not be mistaken for the secret scan of a commit.
"""

from __future__ import annotations

import re

from autopilot.config.detector import find
from autopilot.schemas.token_formats import TOKEN_FORMATS

_NAME = re.compile(
    r"token|secret|passw(or)?d|api[_-]?key|credential|auth|private[_-]?key|session|cookie|dsn"
    r"|database_url|connection_string|_pat$|^aws_|^gh_|^github_",
    re.IGNORECASE,
)
# Those without one beginning, or with words around them: what a stream is searched for besides the table.
_SIGNED_JSON = (
    r"(?<![A-Za-z0-9_-])(?=[A-Za-z0-9_-]*eyJ)"  # one try for each run of letters, not for each eyJ
    r"[A-Za-z0-9_-]{11,}+\.eyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]*"
)
_PRIVATE_KEY = r"-----BEGIN [A-Z ]*PRIVATE KEY(?:(?!-----END).)*(?:-----END[^-]*-----)?"
# Each stands for the whole token, so that `redact` leaves nothing of it.
VALUE_PATTERN = "|".join(
    (*(each.loose_pattern for each in TOKEN_FORMATS if each.beginnings), _SIGNED_JSON, _PRIVATE_KEY)
)
VALUE_FLAGS = re.DOTALL
# No character that an address must not hold, or the text around it would be taken for a password.
LOGIN = r"[^/@\s\"\\<>{}|^`]*+(?=@)"
IN_URL = re.compile(rf"(?<=://){LOGIN}")
# With one of these every known form begins, keys and addresses aside.
BEGINNINGS = (*(start for each in TOKEN_FORMATS for start in each.beginnings), "eyJ")


def value_form() -> re.Pattern[str]:
    """Give the expression for a token or a private key inside a text: compiled when first asked for."""
    return re.compile(VALUE_PATTERN, VALUE_FLAGS)


def is_secret_name(name: str) -> bool:
    """Tell whether a variable of this name is taken to hold a credential."""
    return _NAME.search(name) is not None


def holds_secret(value: str) -> bool:
    """Tell whether a token, a PEM block, a URL with a password or what no publication may hold is inside."""
    if "-----BEGIN " in value:
        return True
    if value_form().search(value) or any(":" in found for found in IN_URL.findall(value)):
        return True
    return bool(find(value.encode("utf-8", "surrogatepass")))


def redact(text: str) -> str:
    """Replace every known form of credential, and who a URL is opened as."""
    return IN_URL.sub("***", value_form().sub("***", text))
