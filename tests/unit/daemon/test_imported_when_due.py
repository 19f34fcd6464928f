"""What the daemon imports when it is due: a machine that is short of something then keeps it for later."""

from __future__ import annotations

import errno
import importlib
import sys
from collections.abc import Sequence
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec
from types import ModuleType

import pytest

from autopilot.daemon import decide
from autopilot.daemon.loop import Loop
from autopilot.schemas.machine import State
from tests.support import queue
from tests.support.shop import Stage

WANTS = (
    MemoryError(),
    OSError(errno.EMFILE, "Too many open files"),
    ModuleNotFoundError("No module of that name: the program is being replaced"),
)


class Short(MetaPathFinder):
    """A machine that cannot import one module now."""

    def __init__(self, name: str, error: Exception) -> None:
        self._name, self._error = name, error

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        if fullname == self._name:
            raise self._error
        return None


def unload(monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    """Let it be imported anew, as if nothing had needed it so far."""
    package, _, own = name.rpartition(".")
    importlib.import_module(name)
    monkeypatch.delitem(sys.modules, name)
    monkeypatch.delattr(sys.modules[package], own)


def tick_short_of(loop: Loop, error: Exception, name: str) -> None:
    with pytest.MonkeyPatch.context() as patch:
        unload(patch, name)
        patch.setattr(sys, "meta_path", [Short(name, error), *sys.meta_path])
        loop.tick()


@pytest.mark.parametrize("error", WANTS, ids=repr)
def test_a_ticket_is_claimed_once_what_claims_can_be_imported(stage: Stage, error: Exception) -> None:
    queue.add(stage.store)
    loop = Loop(stage.shop)
    for _ in range(2):
        for name in ("autopilot.daemon.claiming", "autopilot.runner.agents.scripted"):
            tick_short_of(loop, error, name)
        assert (stage.state(), queue.look(stage.store, "T-1").attempts) == (State.QUEUED, 0)
    assert loop.complaints.troubles.now is not None
    loop.tick()
    assert stage.state() is State.RUNNING


@pytest.mark.parametrize("error", WANTS, ids=repr)
def test_a_run_is_judged_and_a_commit_published_once_that_can_be_imported(
    stage: Stage, error: Exception
) -> None:
    queue.add(stage.store, repo="shop")
    loop = Loop(stage.shop)
    loop.tick()
    stage.commit()
    tick_short_of(loop, error, "autopilot.daemon.running")
    assert stage.state() is State.RUNNING
    tick_short_of(loop, error, "autopilot.daemon.publishing")
    assert stage.state() is State.RUNNING
    loop.tick()
    assert stage.state() is State.PUBLISHING
    stage.publish()
    tick_short_of(loop, error, "autopilot.daemon.publishing")
    assert stage.state() is State.PUBLISHING
    loop.tick()
    assert stage.state() is State.PUBLISHED


@pytest.mark.parametrize("error", WANTS, ids=repr)
def test_a_ticket_is_set_apart_once_what_does_that_can_be_imported(
    stage: Stage, monkeypatch: pytest.MonkeyPatch, error: Exception
) -> None:
    def break_down(*_: object, **__: object) -> None:
        raise ValueError("bug")

    queue.add(stage.store)
    loop = Loop(stage.shop)
    loop.tick()
    stage.commit()
    monkeypatch.setattr(decide, "after_run", break_down)
    tick_short_of(loop, error, "autopilot.daemon.setting_apart")
    assert (stage.state(), stage.hold_names()) == (State.RUNNING, set())
    loop.tick()
    assert stage.state() is State.PARKED
