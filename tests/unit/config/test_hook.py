import os

import pytest

from autopilot.config.hook import forget_git


def test_what_git_has_set_up_is_dropped_and_what_points_somewhere_is_named(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for name in [name for name in os.environ if name.startswith("GIT_")]:
        monkeypatch.delenv(name)
    for name in ("GIT_DIR", "GIT_INDEX_FILE", "GIT_AUTHOR_NAME", "GIT_CONFIG_COUNT", "GITHUB_TOKEN"):
        monkeypatch.setenv(name, "x")
    assert forget_git() == ("GIT_DIR", "GIT_INDEX_FILE")
    assert [name for name in os.environ if name.startswith("GIT_")] == []
    assert os.environ["GITHUB_TOKEN"] == "x"
    assert forget_git() == ()
