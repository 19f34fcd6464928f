"""Whether the file that the connections have open is still the one that the next start will find.

SQLite answers from its cache and goes on writing to a file that was removed or replaced under it: every
commit would succeed, and all of it would be gone. Must not read more than the first bytes.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import TYPE_CHECKING

from autopilot.daemon.store.damage import damaged, exchanged, missing
from autopilot.schemas.errors import ConfigError

if TYPE_CHECKING:
    from pathlib import Path

MAGIC = b"SQLite format 3\x00"
"""What every database file begins with. Source: https://www.sqlite.org/fileformat.html, section 1.3"""


@dataclass(frozen=True, slots=True)
class Place:
    """A database file as it was opened.

    Its descriptor stays open as long as the connections do: closing it would take away the locks that SQLite
    holds on the file in this process. Source: https://www.sqlite.org/howtocorrupt.html, section 2.2
    """

    database: Path
    fd: int

    @classmethod
    def of(cls, database: Path) -> Place:
        """Remember the file that is there now."""
        return cls(database, os.open(database, os.O_RDONLY | os.O_CLOEXEC))

    def check(self) -> None:
        """Compare.

        Raises:
            ConfigError: `database-missing`: it is gone; `database-exchanged`: another stands in its place;
                `database-damaged`: its first bytes are not those of a database.
        """
        try:
            is_same = os.path.samestat(os.fstat(self.fd), self.database.stat())
        except FileNotFoundError as exc:
            raise missing(self.database) from exc
        except OSError as exc:
            what = f"the database {self.database} cannot be looked at: {exc.strerror}"
            hint = "check the owner and the disk of its folder"
            raise ConfigError("database-unwritable", what, hint=hint) from exc
        if not is_same:
            raise exchanged(self.database)
        if os.pread(self.fd, len(MAGIC), 0) != MAGIC:
            raise damaged(self.database, "its first bytes are not those of a database")

    def close(self) -> None:
        """Let it go, after the connections."""
        os.close(self.fd)
