"""Small disks, and where tests that mount one run."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support import disks
from tests.support.disks import InNamespace, SmallDisk


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[SmallDisk]:
    """A file system of 48 MiB."""
    if not disks.may_mount():
        if sys.platform == "linux" and os.environ.get("CI") == "true":
            pytest.fail(disks.MAY_NOT, pytrace=False)
        pytest.skip(disks.MAY_NOT)
    with disks.small_disk(tmp_path / "disk", size_mib=48) as small:
        yield small


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Where we may not mount ourselves, a test with a disk goes into a namespace of its own."""
    wanting = [item for item in items if "disk" in getattr(item, "fixturenames", ())]
    if not wanting or disks.may_mount() or not disks.may_enter_namespace():
        return
    for item in wanting:
        assert item.parent is not None
        elsewhere = InNamespace.from_parent(item.parent, name=item.name)
        elsewhere.own_markers.extend(item.iter_markers())
        items[items.index(item)] = elsewhere
