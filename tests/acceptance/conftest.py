"""A person for every story; when the story is over, everything must be in order."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any, Protocol

import pytest

from tests.support import canary
from tests.support.person import Person


class MakePerson(Protocol):
    """Makes a person with a configuration of their own; see `Person`."""

    def __call__(self, **configuration: Any) -> Person: ...  # noqa: ANN401 - any key of the configuration


@contextmanager
def one_person(folder: Path, **configuration: Any) -> Iterator[Person]:  # noqa: ANN401 - as above
    """For a story of several tests; a story that went wrong is cleaned up and not asked for its order."""
    person = Person(folder, **configuration)
    secrets = person.credentials()
    try:
        with canary.watched(*secrets):
            yield person
        person.goes()
        canary.assert_unseen(person.folder, *person.remotes(), also=secrets)
        assert not [text for text in person.went_out() if canary.holds(text, secrets)]
    finally:
        person.clean_up()


@pytest.fixture
def make_person(tmp_path: Path) -> Iterator[MakePerson]:
    made: list[Person] = []
    with ExitStack() as stack:

        def make(**configuration: Any) -> Person:  # noqa: ANN401 - as above
            folder = tmp_path / f"person-{len(made)}"
            made.append(stack.enter_context(one_person(folder, **configuration)))
            return made[-1]

        yield make
