"""Which requests pass to a model's service through the key broker.

Pure, and light: who only wants to know how an agent is signed in needs no HTTP.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Call:
    """Requests that a client needs: methods, and a pattern for the whole path below the base address.

    `query`: names that may stand behind it. Some services take a key there, and it would count before ours.
    """

    methods: frozenset[str]
    path: str
    query: frozenset[str] = frozenset()


_ASKED, _TOLD = frozenset({"POST"}), frozenset({"GET", "HEAD"})
_MODEL, _NAME = "[A-Za-z0-9][A-Za-z0-9._:@-]*", "[A-Za-z0-9][A-Za-z0-9._-]*"
_VERSIONS, _FORM = frozenset({"api-version", "client_version"}), frozenset({"alt"})
# Neither files nor batches, stored answers or anything of the account can be reached.
MESSAGES = (
    Call(_ASKED, "/v1/messages(/count_tokens)?", frozenset({"beta"})),
    Call(_TOLD, f"/v1/models(/{_MODEL})?", frozenset({"beta", "limit", "after_id", "before_id"})),
)
"""What clients of the Messages API need."""
RESPONSES = (
    Call(_ASKED, "(/v1)?/(responses(/compact)?|chat/completions)", _VERSIONS),
    Call(_TOLD, f"(/v1)?/models(/{_MODEL})?", _VERSIONS | {"limit", "after"}),
)
"""What clients of the Responses and the Chat Completions API need; some base addresses end in `/v1`."""
CONTENTS = (
    Call(_ASKED, f"/v1(beta)?/models/{_NAME}:(generateContent|streamGenerateContent|countTokens)", _FORM),
    Call(_TOLD, f"/v1(beta)?/models(/{_NAME})?", _FORM | {"pageSize", "pageToken"}),
)
"""What clients of the Gemini API need."""
