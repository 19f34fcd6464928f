"""git commit: the message is on the command line or in its here-document, so that the guard has read it.

Must not accept a commit that skips hooks, opens an editor, rewrites history or credits an assistant.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from autopilot.runner.guard.policy.forms import Form
from autopilot.runner.guard.verdict import Refused

if TYPE_CHECKING:
    from autopilot.runner.guard.policy.forms import Call

_COMMIT = Form(
    "-avqsoi -m:text -F:text --message=text --file=text --all --verbose --quiet --signoff "
    "--allow-empty --only "
    "--include --dry-run --no-edit --no-gpg-sign --no-status",
    "stage*",
)
_FORM = "git commit -m 'what changed', or git commit -F - <<'EOF' and the message"
_ASSISTANT = (
    r"(claude|codex|chatgpt|openai|anthropic|gemini|copilot|cursor|aider|devin|opencode|\bamp\b|windsurf|"
    r"\bgpt-?[0-9]|\bllm\b|\bai\b)"
)
_MADE = r"(generated|created|written|made|built|assisted|authored|produced|coded)"
# Of a line without its indentation, and of the whole text with single blanks: a pattern that begins with any
# number of blanks takes the square of the length of a text that is nothing else.
_CREDIT_LINE = re.compile(
    rf"(co-?{_MADE}|{_MADE}|signed-off|reviewed|helped)[ -]?(with|by)\b.*{_ASSISTANT}", re.IGNORECASE
)
_ATTRIBUTION = re.compile(
    rf"{_MADE} (with|by|using|via)\b.{{0,40}}{_ASSISTANT}"
    r"|noreply@(anthropic|openai)\.com|claude\.(ai|com)/|\U0001f916",
    re.IGNORECASE,
)


def commit(call: Call) -> None:
    """Judge one commit.

    Raises:
        Refused: no message that was seen, or one that credits an assistant.
    """
    given = _COMMIT.read(call)
    messages = [word.text for word in given.values("-m", "--message")]
    for source in given.values("-F", "--file"):
        if source.text != "-" or call.heredoc is None:
            raise Refused("commit-message", f"the message must be readable here: {_FORM}")
        messages.append(call.heredoc)
    if not messages:
        raise Refused("commit-message", f"a commit needs its message, no editor opens: {_FORM}")
    if any(map(_credits_an_assistant, messages)):
        raise Refused("attribution", "a commit message does not credit an assistant; leave that line out")


def _credits_an_assistant(message: str) -> bool:
    lines = (line.strip() for line in message.splitlines())
    return any(map(_CREDIT_LINE.match, lines)) or bool(_ATTRIBUTION.search(" ".join(message.split())))
