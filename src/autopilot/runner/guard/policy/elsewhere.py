"""Where a script of a package runs, which need not be where its runner was started, and what it is given.

Must not know a runner's commands.
"""

from __future__ import annotations

import posixpath
from typing import TYPE_CHECKING

from autopilot.runner.guard.act import Act
from autopilot.runner.guard.grammar import Word
from autopilot.runner.guard.policy.forms import Call, Form
from autopilot.runner.guard.verdict import Refused

if TYPE_CHECKING:
    from collections.abc import Collection

_LOADERS = frozenset(
    {
        "-e", "-r", "-p", "--eval", "--print", "--exec", "--require", "--import", "--loader", "--rulesdir",
        "--experimental-loader", "--node-options", "--plugin", "--resolve-plugins-relative-to", "--prefix",
        "--script-shell", "--userconfig", "--globalconfig", "--registry", "-C",
    }
)  # fmt: skip
ELSEWHERE = frozenset(
    {
        "-w", "-ws", "--workspace", "--workspaces", "--workspace-root", "-r", "--recursive", "--filter", "-F",
        "--parallel", "--stream",
    }
)  # fmt: skip
"""With these a script runs in the root of the workspace, or in each of its packages."""


def anywhere(act: Act) -> Act:
    """Give the same act in its folders and in all above them, as far as the worktree."""
    places = act.places
    above = {each for folder in act.folders for each in places.folders_above(folder)}
    return _in(act, {places.worktree, *act.folders, *above})


def both(act: Act, other: Act) -> Act:
    """Give an act in the folders of either: a tool takes some words in one, some in the other."""
    return _in(act, {*act.folders, *other.folders})


def of_package(act: Act) -> Act:
    """Give the same act where a script runs: in the nearest folder upwards that holds a package.json."""
    is_there = act.places.is_file
    is_own = all(is_there(posixpath.join(folder, "package.json")) for folder in act.folders)
    return act if is_own else anywhere(act)


def passed_on(call: Call) -> None:
    """Judge the words for a script: what they mean is its own affair, but they load no code."""
    for word in call.args:
        if word.text.partition("=")[0] in _LOADERS:
            raise Refused("inline-program", f"{word.text!r} would load code; put it into a test")
    Form("", "loose*").read(call._replace(args=(Word("--"), *call.args)))


def _in(act: Act, folders: Collection[str]) -> Act:
    moved = Act(act.context, act.places, folders=tuple(sorted(folders)), written=act.written)
    moved.writes = act.writes
    return moved
