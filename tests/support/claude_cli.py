"""The real Claude Code client.

The version is exact: a plain install falls back to an older one on older Node, and the two differ in events,
in the meaning of cost, and in flags.
"""

import os
from pathlib import Path
from typing import Final

from tests.support.npm_cli import Client

VERSION: Final = "2.1.332"
CLAUDE: Final = Client(
    "Claude Code",
    "@anthropic-ai/claude-code",
    VERSION,
    "node_modules/@anthropic-ai/claude-code-*/claude",
)


def client_environment(model_url: str, home: Path) -> dict[str, str]:
    """The environment in which the client talks to a loopback model and to nothing else."""
    home.mkdir(parents=True, exist_ok=True)
    return {
        "PATH": os.environ.get("PATH", os.defpath),
        "HOME": str(home),
        "TMPDIR": str(home),
        "LANG": "C.UTF-8",
        "TERM": "dumb",
        "ANTHROPIC_BASE_URL": model_url,
        "ANTHROPIC_API_KEY": "dummy",
        "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
        "DISABLE_AUTOUPDATER": "1",
    }
