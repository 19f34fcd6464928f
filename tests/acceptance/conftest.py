"""A person for every story; when the story is over, everything must be in order."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any, Protocol

import pytest

from tests.support.person import Person


class MakePerson(Protocol):
    """Makes a person with a configuration of their own; see `Person`."""

    def __call__(self, **configuration: Any) -> Person: ...  # noqa: ANN401 - any key of the configuration


@pytest.fixture
def make_person(tmp_path: Path) -> Iterator[MakePerson]:
    people: list[Person] = []

    def make(**configuration: Any) -> Person:  # noqa: ANN401 - any key of the configuration
        people.append(Person(tmp_path / f"person-{len(people)}", **configuration))
        return people[-1]

    yield make
    try:
        for person in people:
            person.goes()
    finally:
        for person in people:
            person.clean_up()
