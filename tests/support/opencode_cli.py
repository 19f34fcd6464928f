"""The real opencode."""

from typing import Final

from tests.support.npm_cli import Client

VERSION: Final = "1.18.33"
OPENCODE: Final = Client(
    "opencode",
    "opencode-ai",
    VERSION,
    "node_modules/opencode-*/bin/opencode",
)
MODEL: Final = "anthropic/claude-sonnet-4-5"
KEY_VARIABLE: Final = "ANTHROPIC_API_KEY"
