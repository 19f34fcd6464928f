"""What a credential looks like, by its name and by its value.

A sieve for environments, logs and error texts. Must not be mistaken for the secret scan of a commit.
"""

from __future__ import annotations

import re

_NAME = re.compile(
    r"token|secret|passw(or)?d|api[_-]?key|credential|auth|private[_-]?key|session|cookie|dsn"
    r"|database_url|connection_string|_pat$|^aws_|^gh_|^github_",
    re.IGNORECASE,
)
# Each stands for the whole token, so that `redact` leaves nothing of it.
VALUE = re.compile(
    r"""
    gh[pousr]_[A-Za-z0-9]{20,} | github_pat_[A-Za-z0-9_]{20,}          # GitHub
  | glpat-[A-Za-z0-9_-]{16,}                                           # GitLab
  | (?<![A-Za-z0-9])(?:sk-ant-[A-Za-z0-9_-]{8,}|sk-[A-Za-z0-9_-]{20,})  # Anthropic, OpenAI
  | (?<![A-Z0-9])(?:AKIA|ASIA)[A-Z0-9]{16}(?![A-Z0-9])                 # AWS
  | xox[abeoprs]-[A-Za-z0-9-]{10,}                                     # Slack
  | AIza[A-Za-z0-9_-]{30,}                                             # Google
  | (?:sk|rk)_live_[A-Za-z0-9]{16,}                                    # Stripe
  | npm_[A-Za-z0-9]{30,} | pypi-[A-Za-z0-9_-]{32,}                     # registries
  | hvs\.[A-Za-z0-9_-]{20,} | dop_v1_[a-f0-9]{32,} | ATATT[A-Za-z0-9_=-]{20,}
  | SG\.[A-Za-z0-9_-]{16,}\.[A-Za-z0-9_-]{16,}
  | AGE-SECRET-KEY-1[A-Z0-9]{20,}
  | eyJ[A-Za-z0-9_-]{8,}\.eyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]*         # JSON web token
  | -----BEGIN\ [A-Z ]*PRIVATE\ KEY(?:(?!-----END).)*(?:-----END[^-]*-----)?
    """,
    re.VERBOSE | re.DOTALL,
)
# No character that an address must not hold, or the text around it would be taken for a password.
LOGIN = r"[^/@\s:\"\\<>{}|^`]*:?[^/@\s\"\\<>{}|^`]*(?=@)"
IN_URL = re.compile(rf"(?<=://){LOGIN}")
# With one of these every known form begins, keys and addresses aside.
BEGINNINGS = (
    *("ghp_", "gho_", "ghu_", "ghs_", "ghr_", "github_pat_", "glpat-", "sk-", "AKIA", "ASIA", "xox", "AIza"),
    *("sk_live_", "rk_live_", "npm_", "pypi-", "hvs.", "dop_v1_", "ATATT", "SG.", "AGE-SECRET-KEY-1", "eyJ"),
)


def is_secret_name(name: str) -> bool:
    """Tell whether a variable of this name is taken to hold a credential."""
    return _NAME.search(name) is not None


def holds_secret(value: str) -> bool:
    """Tell whether a known form of token, a PEM block, or a URL with a password is inside."""
    if "-----BEGIN " in value:
        return True
    return VALUE.search(value) is not None or any(":" in found for found in IN_URL.findall(value))


def redact(text: str) -> str:
    """Replace every known form of credential, and who a URL is opened as."""
    return IN_URL.sub("***", VALUE.sub("***", text))
