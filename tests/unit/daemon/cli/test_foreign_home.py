"""A service of another state folder is not touched, and what to type first is said."""

from __future__ import annotations

import shlex

import pytest

from autopilot.daemon.cli.install import refuse_foreign_home
from autopilot.schemas.errors import RefusedError


@pytest.mark.parametrize(
    ("home", "before"),
    [("/srv/my queue", ["AUTOPILOT_HOME=/srv/my queue"]), ("", ["env", "-u", "AUTOPILOT_HOME"])],
)
def test_what_to_type_first_can_be_typed_whatever_the_folder_is_called(home: str, before: list[str]) -> None:
    with pytest.raises(RefusedError) as refused:
        refuse_foreign_home(home, "/srv/ours")
    command = refused.value.hint.removeprefix("first: ")
    assert shlex.split(command) == [*before, "autopilot", "uninstall"]
