"""True and false are refused wherever a number is meant: Python would count them as 1 and 0."""

from __future__ import annotations

from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path
from typing import get_args

import pytest
from pydantic import ValidationError

from autopilot.config import (
    agent_settings,
    cell_settings,
    channel,
    checkup_settings,
    outside,
    repository,
    settings,
    tracker,
)
from autopilot.daemon.api import bodies
from autopilot.schemas import origin, policy, ticket
from autopilot.schemas.errors import ExitCode
from autopilot.schemas.records import Input, faults_of
from tests.support.cli import Cli
from tests.support.shop import CONFIG
from tests.support.tree import ROOT

PLACES = (
    *(agent_settings, cell_settings, channel, checkup_settings, outside, repository, settings, tracker),
    *(bodies, origin, policy, ticket),
)


def inputs() -> list[type[Input]]:
    """Every model of what comes from outside."""
    listed = [value for place in PLACES for value in vars(place).values() if isinstance(value, type)]
    return [each for each in dict.fromkeys(listed) if issubclass(each, Input) and each is not Input]


def kinds(annotation: object) -> Iterator[object]:
    parts = get_args(annotation)
    yield from (kind for part in parts for kind in kinds(part)) if parts else (annotation,)


NUMBERS = [
    (model, name)
    for model in inputs()
    for name, field in model.model_fields.items()
    if {int, float, Decimal} & {kind for kind in kinds(field.annotation) if isinstance(kind, type)}
]


def test_every_model_of_what_comes_from_outside_is_asked() -> None:
    sources = [path for path in (ROOT / "src").rglob("*.py") if "(Input):" in path.read_text()]
    assert {str(path) for path in sources} == {place.__file__ for place in PLACES}
    assert len(NUMBERS) > 20


@pytest.mark.parametrize("flag", [True, False])
@pytest.mark.parametrize(("model", "name"), NUMBERS, ids=lambda value: getattr(value, "__name__", str(value)))
def test_no_number_from_outside_may_be_a_flag(model: type[Input], name: str, *, flag: bool) -> None:
    with pytest.raises(ValidationError) as caught:
        model.model_validate({name: flag})
    assert f"{name}: Value error, must be a number" in faults_of(caught.value, whole="it")


@pytest.mark.parametrize("flag", ["true", "no", "off"])
def test_a_ticket_file_with_a_flag_for_its_priority_is_refused_by_the_fields_name(
    tmp_path: Path, flag: str
) -> None:
    cli = Cli(tmp_path / "home", config=CONFIG)
    file = tmp_path / "ticket.md"
    file.write_text(f"---\ntitle: Mend it\nrepo: shop\npriority: {flag}\n---\n")
    said = cli.call("add", "--file", str(file))
    assert said.code == ExitCode.FAILED
    assert "priority" in said.err
    assert "must be a number" in said.err
