"""What tokens with a form of their own look like: one table for logs, environments, the guard and publishing.

Pure, stdlib only, and nothing is compiled here: the command line starts with it. Must not hold what needs
words around it to be known, such as `password = ...`: that is `config/detector.py`'s.
"""

from __future__ import annotations

from dataclasses import dataclass

_EDGE = r"(?<![A-Za-z0-9])"
_END = r"(?![A-Za-z0-9])"
_GITLAB = ("pat", "dt", "rt", "cbt", "ptt", "ft", "soat", "agent", "oas", "imt")


@dataclass(frozen=True, slots=True)
class TokenFormat:
    """One kind of token.

    `exact` is as its issuer makes it: what stops a publication. `loose` is what a log or a child goes
    without: also a token that was cut off; None: the same. `beginnings` are how all of them start; without
    one it is not looked for in a stream, where each is found by its beginning.
    """

    name: str
    exact: str
    loose: str | None = None
    beginnings: tuple[str, ...] = ()
    is_any_value: bool = False
    """It is one whatever its characters are; else not where they say `example`, or hardly vary."""

    @property
    def strict_pattern(self) -> str:
        """The expression for what its issuer makes.

        Of several forms the first alone is held to what stands before it, and the last to what stands behind.
        """
        return f"{_EDGE}{self.exact}{_END}"

    @property
    def loose_pattern(self) -> str:
        """The expression for what looks like it. It stands for all of the token, so nothing of it is left."""
        return f"{_EDGE}(?:{self.exact}){_END}" if self.loose is None else f"(?:{self.loose})"


TOKEN_FORMATS = (
    TokenFormat(
        "aws-access-key",
        r"(?:AKIA|ASIA|ABIA|ACCA)[A-Z0-9]{16}",
        r"(?<![A-Z0-9])(?:AKIA|ASIA|ABIA|ACCA)[A-Z0-9]{16}(?![A-Z0-9])",
        ("AKIA", "ASIA", "ABIA", "ACCA"),
    ),
    TokenFormat(
        "github-token",
        r"gh[pousr]_[A-Za-z0-9]{36,251}|github_pat_[A-Za-z0-9_]{60,}",
        r"gh[pousr]_[A-Za-z0-9]{20,}|github_pat_[A-Za-z0-9_]{20,}",
        ("ghp_", "gho_", "ghu_", "ghs_", "ghr_", "github_pat_"),
    ),
    TokenFormat(
        "gitlab-token",
        rf"gl(?:{'|'.join(_GITLAB)})-[A-Za-z0-9_=-]{{20,}}",
        rf"gl(?:{'|'.join(_GITLAB)})-[A-Za-z0-9_=-]{{16,}}",
        tuple(f"gl{kind}-" for kind in _GITLAB),
    ),
    TokenFormat(
        "slack-token",
        r"xox[abeoprs]-[A-Za-z0-9-]{20,}|xapp-\d-[A-Za-z0-9-]{20,}",
        r"xox[abeoprs]-[A-Za-z0-9-]{10,}|xapp-\d-[A-Za-z0-9-]{10,}",
        ("xox", "xapp-"),
    ),
    TokenFormat(
        "slack-webhook",
        r"hooks\.slack\.com/(?:services|workflows)/[A-Za-z0-9/]{30,}",
        r"hooks\.slack\.com/(?:services|workflows)/[A-Za-z0-9/]{20,}",
        ("hooks.slack.com/",),
    ),
    TokenFormat(
        "discord-webhook",
        r"discord(?:app)?\.com/api/webhooks/\d+/[A-Za-z0-9_-]{40,}",
        r"discord(?:app)?\.com/api/webhooks/\d+/[A-Za-z0-9_-]{20,}",
        ("discord.com/api/", "discordapp.com/api/"),
    ),
    TokenFormat("discord-token", r"[MNO][A-Za-z0-9_-]{23,27}\.[A-Za-z0-9_-]{6}\.[A-Za-z0-9_-]{27,}"),
    TokenFormat(
        "stripe-key",
        r"[rs]k_(?:live|prod)_[A-Za-z0-9]{16,}|whsec_[A-Za-z0-9+/=]{24,}",
        r"[rs]k_(?:live|prod)_[A-Za-z0-9]{16,}|whsec_[A-Za-z0-9+/=]{16,}",
        ("sk_live_", "rk_live_", "sk_prod_", "rk_prod_", "whsec_"),
    ),
    TokenFormat(
        "google-key",
        r"AIza[A-Za-z0-9_-]{35}|GOCSPX-[A-Za-z0-9_-]{28}|ya29\.[A-Za-z0-9_-]{30,}",
        r"AIza[A-Za-z0-9_-]{30,}|GOCSPX-[A-Za-z0-9_-]{20,}|ya29\.[A-Za-z0-9_-]{20,}",
        ("AIza", "GOCSPX-", "ya29."),
    ),
    TokenFormat(
        "sendgrid-key",
        r"SG\.[A-Za-z0-9_-]{16,32}\.[A-Za-z0-9_-]{32,64}",
        r"SG\.[A-Za-z0-9_-]{16,}\.[A-Za-z0-9_-]{16,}",
        ("SG.",),
    ),
    TokenFormat("twilio-key", r"SK[0-9a-f]{32}", beginnings=("SK",)),
    TokenFormat("mailgun-key", r"key-[0-9a-f]{32}", beginnings=("key-",)),
    TokenFormat("npm-token", r"npm_[A-Za-z0-9]{36}", r"npm_[A-Za-z0-9]{30,}", ("npm_",)),
    TokenFormat("pypi-token", r"pypi-AgE[A-Za-z0-9_-]{50,}", r"pypi-[A-Za-z0-9_-]{32,}", ("pypi-",)),
    TokenFormat(
        "anthropic-key", r"sk-ant-[A-Za-z0-9_-]{40,}", rf"{_EDGE}sk-ant-[A-Za-z0-9_-]{{8,}}", ("sk-ant-",)
    ),
    TokenFormat(
        "openrouter-key", r"sk-or-v1-[0-9a-f]{64}", rf"{_EDGE}sk-or-[A-Za-z0-9_-]{{17,}}", ("sk-or-",)
    ),
    TokenFormat(
        "openai-key",
        r"sk-(?:proj|svcacct|admin)-[A-Za-z0-9_-]{40,}|sk-[A-Za-z0-9]{20}T3BlbkFJ[A-Za-z0-9]{20}",
        rf"{_EDGE}sk-[A-Za-z0-9_-]{{20,}}",
        ("sk-",),
    ),
    TokenFormat("huggingface-token", r"hf_[A-Za-z0-9]{34,}", rf"{_EDGE}hf_[A-Za-z0-9]{{30,}}", ("hf_",)),
    TokenFormat(
        "digitalocean-token",
        r"do[opr]_v1_[0-9a-f]{64}",
        r"do[opr]_v1_[a-f0-9]{32,}",
        ("doo_v1_", "dop_v1_", "dor_v1_"),
    ),
    TokenFormat(
        "shopify-token",
        r"shp(?:at|ca|pa|ss)_[0-9a-fA-F]{32}",
        r"shp(?:at|ca|pa|ss)_[0-9a-fA-F]{20,}",
        ("shpat_", "shpca_", "shppa_", "shpss_"),
    ),
    TokenFormat(
        "linear-key",
        r"lin_(?:api|oauth)_[A-Za-z0-9]{32,}",
        rf"{_EDGE}lin_(?:api|oauth)_[A-Za-z0-9]{{20,}}",
        ("lin_api_", "lin_oauth_"),
    ),
    TokenFormat(
        "azure-storage-key",
        r"AccountKey=[A-Za-z0-9+/]{86}==",
        r"AccountKey=[A-Za-z0-9+/]{40,}={0,2}",
        ("AccountKey=",),
        is_any_value=True,
    ),
    TokenFormat("telegram-token", r"\d{8,10}:[A-Za-z0-9_-]{35}"),
    TokenFormat("databricks-token", r"dapi[0-9a-f]{32}", rf"{_EDGE}dapi[0-9a-f]{{32,}}", ("dapi",)),
    TokenFormat(
        "atlassian-token",
        r"AT(?:ATT|CTT|BB)[A-Za-z0-9_=-]{24,}",
        rf"ATATT[A-Za-z0-9_=-]{{20,}}|{_EDGE}AT(?:CTT|BB)[A-Za-z0-9_=-]{{20,}}",
        ("ATATT", "ATCTT", "ATBB"),
    ),
    TokenFormat(
        "vault-token",
        r"hv[bsr]\.[A-Za-z0-9_-]{24,}",
        r"hv[bsr]\.[A-Za-z0-9_-]{20,}",
        ("hvb.", "hvs.", "hvr."),
    ),
    TokenFormat(
        "age-key",
        r"AGE-SECRET-KEY-1[A-Z0-9]{50,}",
        r"AGE-SECRET-KEY-1[A-Z0-9]{20,}",
        ("AGE-SECRET-KEY-1",),
        is_any_value=True,
    ),
)
