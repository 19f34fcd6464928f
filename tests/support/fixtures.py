"""Fixtures that start the stand-ins and close them again; `tests/conftest.py` names them."""

import contextlib
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Protocol

import pytest

from tests.support.claude_cli import CLAUDE
from tests.support.codex_cli import CODEX
from tests.support.copilot_cli import COPILOT
from tests.support.forge.server import Forge
from tests.support.gemini_cli import GEMINI
from tests.support.model_server import ModelServer
from tests.support.npm_cli import Client, ClientUnavailableError
from tests.support.opencode_cli import OPENCODE
from tests.support.scenarios.steps import Scenario


class MakeForge(Protocol):
    """Starts a forge that holds these repositories, one commit each."""

    def __call__(self, *full_names: str) -> Forge: ...


@pytest.fixture
def make_forge(tmp_path: Path) -> Iterator[MakeForge]:
    """As many forges as a test asks for; each is closed when the test ends."""
    with contextlib.ExitStack() as stack:
        made: list[Forge] = []

        def make(*full_names: str) -> Forge:
            forge = stack.enter_context(Forge(tmp_path / f"forge-{len(made)}"))
            made.append(forge)
            for name in full_names:
                forge.repositories.add(name)
            return forge

        yield make


class MakeModel(Protocol):
    """Starts a model that plays these scenarios."""

    def __call__(self, *scenarios: Scenario) -> ModelServer: ...


@pytest.fixture
def make_model() -> Iterator[MakeModel]:
    """As many scripted models as a test asks for; each is closed when the test ends."""
    with contextlib.ExitStack() as stack:

        def make(*scenarios: Scenario) -> ModelServer:
            return stack.enter_context(ModelServer(scenarios))

        yield make


@pytest.fixture(scope="session")
def claude_binary() -> Path:
    """The real client; the test is skipped where it cannot be had, and fails in CI.

    Give the test `@pytest.mark.timeout(300)`: the first one on a machine installs it.
    """
    return _binary_of(CLAUDE)


@pytest.fixture(scope="session")
def codex_binary() -> Path:
    """The real Codex, in the same way."""
    return _binary_of(CODEX)


@pytest.fixture(scope="session")
def gemini_binary() -> Path:
    """The real Gemini CLI, in the same way."""
    return _binary_of(GEMINI)


@pytest.fixture(scope="session")
def opencode_binary() -> Path:
    """The real opencode, in the same way."""
    return _binary_of(OPENCODE)


@pytest.fixture(scope="session")
def copilot_binary() -> Path:
    """The real Copilot CLI, in the same way."""
    return _binary_of(COPILOT)


def _binary_of(client: Client) -> Path:
    try:
        return client.binary()
    except ClientUnavailableError as reason:
        text = f"{client.title} cannot be installed: {reason}"
        if os.environ.get("CI") == "true":
            pytest.fail(text, pytrace=False)
        pytest.skip(text)
