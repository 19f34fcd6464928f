from __future__ import annotations

import pytest

from tests.support.wait import wait_until


def test_waiting_returns_the_first_truthy_value() -> None:
    answers = iter(["", "", "ready"])
    assert wait_until(lambda: next(answers), 30, "it is ready") == "ready"


def test_waiting_fails_with_the_name_of_what_never_came() -> None:
    with pytest.raises(AssertionError, match="still waiting until the moon is blue"):
        wait_until(lambda: False, 0.02, "the moon is blue")
