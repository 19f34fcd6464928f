"""git commit: the message is on the command line or in its here-document, so that the guard has read it.

Must not accept a commit that skips hooks, opens an editor, rewrites history or credits an assistant.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from autopilot.runner.guard.policy.forms import Form
from autopilot.runner.guard.verdict import Refused
from autopilot.schemas.attribution import credits_an_assistant

if TYPE_CHECKING:
    from autopilot.runner.guard.policy.forms import Call

_COMMIT = Form(
    "-avqsoi -m:text -F:text --message=text --file=text --all --verbose --quiet --signoff "
    "--allow-empty --only "
    "--include --dry-run --no-edit --no-gpg-sign --no-status",
    "stage*",
)
_FORM = "git commit -m 'what changed', or git commit -F - <<'EOF' and the message"


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
    if any(map(credits_an_assistant, messages)):
        raise Refused("attribution", "a commit message does not credit an assistant; leave that line out")
