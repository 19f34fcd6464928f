"""Lays out what an agent's process is given of ours: its configuration, in a folder that is new each time.

Must not leave anything of an earlier process: what one agent wrote there would be the settings of the next.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from autopilot.config.removal import remove_tree

if TYPE_CHECKING:
    from pathlib import Path

    from autopilot.runner.agents.adapter import Launch


def lay_out(launch: Launch, private: Path) -> None:
    """Make the private folder anew, with the launch's files in it.

    Raises:
        OSError: it cannot be made, or what was there cannot be removed.
    """
    remove_tree(private)
    private.mkdir(mode=0o700)
    for folder in launch.writable:
        folder.mkdir(mode=0o700, parents=True)
    for path, text in launch.files.items():
        path.write_text(text, encoding="utf-8")
        path.chmod(0o600)
