"""Which requests pass to a model's service through the key broker.

Pure, and light: who only wants to know how an agent is signed in needs no HTTP.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Call:
    """Requests that a client needs: methods, and a pattern for the whole path below the base address."""

    methods: frozenset[str]
    path: str


_ASKED, _TOLD = frozenset({"POST"}), frozenset({"GET", "HEAD"})
_MODEL, _NAME = "[A-Za-z0-9][A-Za-z0-9._:@-]*", "[A-Za-z0-9][A-Za-z0-9._-]*"
# Neither files nor batches, stored answers or anything of the account can be reached.
MESSAGES = (
    Call(_ASKED, "/v1/messages(/count_tokens)?"),
    Call(_TOLD, f"/v1/models(/{_MODEL})?"),
)
"""What clients of the Messages API need."""
RESPONSES = (
    Call(_ASKED, "(/v1)?/(responses(/compact)?|chat/completions)"),
    Call(_TOLD, f"(/v1)?/models(/{_MODEL})?"),
)
"""What clients of the Responses and the Chat Completions API need; some base addresses end in `/v1`."""
CONTENTS = (
    Call(_ASKED, f"/v1(beta)?/models/{_NAME}:(generateContent|streamGenerateContent|countTokens)"),
    Call(_TOLD, f"/v1(beta)?/models(/{_NAME})?"),
)
"""What clients of the Gemini API need."""
