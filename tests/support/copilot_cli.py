"""The real Copilot CLI."""

from typing import Final

from tests.support.npm_cli import Client

VERSION: Final = "1.0.102"
COPILOT: Final = Client(
    "Copilot CLI",
    "@github/copilot",
    VERSION,
    "node_modules/@github/copilot-*/copilot",
)
MODEL: Final = "claude-sonnet-4.5"
KEY_VARIABLE: Final = "COPILOT_PROVIDER_API_KEY"
