"""Which provider an operator's arguments to Codex choose."""

from __future__ import annotations

import pytest

from autopilot.runner.agents.codex_provider import Provider, pointed_to, provider_in

MINE = Provider("mine", "https://api.example/v1", "MY_KEY")
TABLE = 'model_providers.mine={base_url = "https://api.example/v1", env_key = "MY_KEY"}'


@pytest.mark.parametrize(
    "argv",
    [
        ("-c", "model_provider=mine", "-c", TABLE),
        ("--config", "model_provider='mine'", f"--config={TABLE}"),
        ("-c", TABLE, "-c", 'model_provider = "mine"'),
        (
            *("-c", "model_provider=mine", "-c", "model_providers.mine.env_key=MY_KEY"),
            *("-c", "model_providers.mine.base_url=https://api.example/v1"),
        ),
        ("-c", "model_provider=mine", "-c", TABLE.replace("api", "old"), *pointed_to("mine", MINE.url)),
    ],
)
def test_a_provider_of_the_operators_is_read_as_the_client_reads_it(argv: tuple[str, ...]) -> None:
    assert provider_in(argv) == MINE


@pytest.mark.parametrize("argv", [(), ("-c", "model=gpt-5.5"), ("--enable", "x"), ("-c",)])
def test_without_one_the_clients_own_is_meant(argv: tuple[str, ...]) -> None:
    assert provider_in(argv) is None


@pytest.mark.parametrize(
    "argv",
    [
        ("-c", "model_provider=mine"),
        ("-c", TABLE),
        ("-c", "model_provider=mine", "-c", "model_providers.mine=3"),
        ("-c", "model_provider=3", "-c", TABLE),
        ("-c", "model_provider=mine", "-c", TABLE.replace("env_key", "experimental_bearer_token")),
        ("-c", "model_provider=mine", "-c", TABLE, "-c", "model_providers.mine.http_headers={X='y'}"),
        ("--profile", "night"),
        ("--profile=night",),
        ("--oss",),
    ],
)
def test_what_is_not_plain_has_no_address(argv: tuple[str, ...]) -> None:
    found = provider_in(argv)
    assert found is not None
    assert not (found.url and found.key_variable)
