"""The machine as it looks to who is in it, as root: what `Machine` does from outside, done at once."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

from tests.support.init_system import GID, NAME, PATIENCE_S, UID, Machine


class Inside(Machine):
    """A booted system around us, whose user's manager is started here."""

    def __init__(self, folder: Path) -> None:
        """Log its user in."""
        super().__init__(folder)
        self.home = folder / NAME
        self.home.mkdir()
        os.chown(self.home, UID, GID)
        self._systemctl("start", "dbus.socket", "systemd-logind.service")
        self.log_in()

    def run(self, *argv: str) -> subprocess.CompletedProcess[str]:
        """Run something."""
        return subprocess.run(
            argv, capture_output=True, text=True, check=False, timeout=4 * PATIENCE_S, cwd="/"
        )
