"""The real Codex client, and how it is pointed to a model on loopback."""

from pathlib import Path
from typing import Final

from tests.support.npm_cli import Client

VERSION: Final = "0.171.0"
CODEX: Final = Client(
    "Codex",
    "@openai/codex",
    VERSION,
    "node_modules/@openai/codex-*/vendor/*/bin/codex",
)
MODEL: Final = "gpt-5.5"
KEY_VARIABLE: Final = "CODEX_API_KEY"


def client_argv(binary: Path, model_url: str) -> tuple[str, ...]:
    """The program with a provider of its own: what an operator writes into `argv`."""
    provider = (
        f'name = "loopback", base_url = "{model_url}/v1", env_key = "{KEY_VARIABLE}", '
        'wire_api = "responses", '
        "supports_websockets = false, request_max_retries = 1, stream_max_retries = 1"
    )
    return (
        *(str(binary), "-c", "model_provider=loopback"),
        *("-c", f"model_providers.loopback={{{provider}}}"),
    )
