"""The real Gemini CLI."""

from typing import Final

from tests.support.npm_cli import Client

VERSION: Final = "0.61.0"
GEMINI: Final = Client(
    "Gemini CLI",
    "@google/gemini-cli",
    VERSION,
    "node_modules/@google/gemini-cli/bundle/gemini.js",
)
MODEL: Final = "gemini-2.5-pro"
KEY_VARIABLE: Final = "GEMINI_API_KEY"
