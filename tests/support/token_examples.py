"""A made-up token of each form, as its issuer would make it.

Put together from parts, so that no scan takes this file for a leak.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

_LETTERS = "q7Rk2mPz9XvLw4TnB8sYcJ5dHfGa1e0uIoKxW3NtZ6MbV"
_HEX = "7769cb397fbc599158b047954a9ae688d0e1f2c3b4a5968778695a4b3c2d1e0f"
_CAPITALS = "Q7RK2MPZ9XVLW4TNB8SYCJ5DHFGA1E0UIOKXW3NTZ6MBVQ9Y7T"


def token_examples() -> Mapping[str, tuple[str, ...]]:
    """Give examples by the name of the format."""
    return {
        "aws-access-key": tuple(kind + "A" + _CAPITALS[:16] for kind in ("AKI", "ASI", "ABI", "ACC")),
        "github-token": ("gh" + "p_" + _LETTERS[:36], "github" + "_pat_" + _LETTERS + _LETTERS[:20]),
        "gitlab-token": (
            "gl" + "pat-" + _LETTERS[:20],
            "gl" + "dt-" + _LETTERS[:20],
            "gl" + "agent-" + _LETTERS,
        ),
        "slack-token": ("xo" + "xb-" + _LETTERS[:30], "xa" + "pp-1-" + _LETTERS[:30]),
        "slack-webhook": ("hooks.slack" + ".com/services/T02AB3CD4/B05EF6GH7/" + _LETTERS[:24],),
        "discord-webhook": (
            "discord" + ".com/api/webhooks/482910384756/" + _LETTERS,
            "discordapp" + ".com/api/webhooks/482910384756/" + _LETTERS,
        ),
        "discord-token": ("M" + _LETTERS[:23] + "." + _LETTERS[3:9] + "." + _LETTERS[:30],),
        "stripe-key": (
            *("sk" + "_live_" + _LETTERS[:24], "rk" + "_prod_" + _LETTERS[:24]),
            "wh" + "sec_" + _LETTERS[:32],
        ),
        "google-key": (
            *("AI" + "za" + _LETTERS[:35], "GOC" + "SPX-" + _LETTERS[:28], "ya" + "29." + _LETTERS[:40]),
        ),
        "sendgrid-key": ("SG" + "." + _LETTERS[:22] + "." + _LETTERS[:43],),
        "twilio-key": ("S" + "K" + _HEX[:32],),
        "mailgun-key": ("ke" + "y-" + _HEX[:32],),
        "npm-token": ("np" + "m_" + _LETTERS[:36],),
        "pypi-token": ("py" + "pi-AgE" + _LETTERS + _LETTERS[:20],),
        "anthropic-key": ("sk-" + "ant-" + _LETTERS[:40],),
        "openrouter-key": ("sk-" + "or-v1-" + _HEX,),
        "openai-key": (
            "sk-" + "proj-" + _LETTERS[:40],
            "sk-" + _LETTERS[:20] + "T3Blbk" + "FJ" + _LETTERS[20:40],
        ),
        "huggingface-token": ("h" + "f_" + _LETTERS[:34],),
        "digitalocean-token": tuple(kind + "_v1_" + _HEX for kind in ("dop", "doo", "dor")),
        "shopify-token": tuple("shp" + kind + "_" + _HEX[:32] for kind in ("at", "ca", "pa", "ss")),
        "linear-key": ("lin" + "_api_" + _LETTERS[:40], "lin" + "_oauth_" + _LETTERS[:40]),
        "azure-storage-key": ("Account" + "Key=" + (_LETTERS + "+/" + _LETTERS)[:86] + "==",),
        "telegram-token": ("3415757312" + ":" + "AA" + _LETTERS[:33],),
        "databricks-token": ("da" + "pi" + _HEX[:32],),
        "atlassian-token": tuple("AT" + kind + _LETTERS[:30] for kind in ("ATT", "CTT", "BB")),
        "vault-token": tuple("hv" + kind + "." + _LETTERS[:30] for kind in "bsr"),
        "age-key": ("AGE-SECRET" + "-KEY-1" + _CAPITALS,),
    }
