"""macOS: a profile for sandbox-exec, made for one program. Not tried on a Mac yet; docs/security.md says so.

Must not allow anything by default, or put a path into the profile unquoted.
Source: sandbox-exec(1), sandbox(7); the profile's language is not documented by its maker.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from autopilot.runner.sandbox.bounds import UNBOUNDED, Bounds
from autopilot.runner.sandbox.confinement import SandboxError, Wrapped

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from autopilot.config.proc import Exit
    from autopilot.runner.sandbox.cells import Cell, Cells
    from autopilot.runner.sandbox.confinement import Confinement
    from autopilot.runner.sandbox.toolchain import Toolchain
    from autopilot.schemas.cell import OpenedKind

PROGRAM = Path("/usr/bin/sandbox-exec")
_SYSTEM = (
    *("/usr", "/bin", "/sbin", "/System", "/Library/Apple", "/Library/Developer", "/opt"),
    *("/private/etc", "/private/var/db/timezone", "/private/var/select", "/Applications/Xcode.app"),
)
_DEVICES = ("/dev/null", "/dev/zero", "/dev/random", "/dev/urandom", "/dev/tty")
# Users and groups, time zones, what every program asks for; no key chain, no pasteboard, no launch services.
_SERVICES = ("com.apple.system.opendirectoryd.libinfo", "com.apple.system.notification_center")
_NAMES = ("com.apple.mDNSResponder", "com.apple.trustd", "com.apple.SystemConfiguration.configd")
_SAID = b"sandbox-exec: "


@dataclass(frozen=True, slots=True, kw_only=True)
class Seatbelt:
    """Starts the program under a profile; see `Sandbox`."""

    toolchain: Toolchain
    readable: tuple[Path, ...] = ()
    bounds: Bounds = UNBOUNDED
    cells: Cells | None = None
    kind: OpenedKind = "seatbelt"

    def check(self) -> None:
        """Nothing: it was tried when it was chosen."""

    def wrap(
        self,
        argv: Sequence[str],
        env: Mapping[str, str],
        confinement: Confinement,
        *,
        status: int,  # noqa: ARG002 - Sandbox's signature
        cell: Cell | None = None,  # noqa: ARG002 - as above
    ) -> Wrapped:
        """Put sandbox-exec and the profile before the program, which it becomes."""
        text = "\n".join(self.profile(env, confinement))
        return Wrapped((str(PROGRAM), "-p", text, *argv), env)

    def read(self, ended: Exit, told: bytes) -> Exit:  # noqa: ARG002 - Sandbox's signature
        """Take the end as it is: sandbox-exec becomes the program, unless it says that it could not.

        Raises:
            SandboxError: it could not.
        """
        said = ended.stderr_tail or ended.tail
        if ended.spawn_error or (ended.code not in {0, None} and said.startswith(_SAID)):
            what = f"the sandbox did not come up: {ended.spawn_error or said.decode('utf-8', 'replace')}"
            raise SandboxError("sandbox-failed", what, hint="[sandbox] in docs/security.md")
        return ended

    def profile(self, env: Mapping[str, str], confinement: Confinement) -> Iterator[str]:
        """Write the profile, line by line; later rules win."""
        tools = self.toolchain.needed(env.get("PATH", ""), confinement.programs, inside=confinement.own)
        sockets = [each for each in (confinement.outlet, confinement.guard_socket) if each]
        yield "(version 1)"
        yield "(deny default)"
        yield "(allow process-exec process-fork)"
        yield "(allow signal process-info* (target same-sandbox))"
        yield "(allow sysctl-read)"
        yield "(allow file-read-metadata)"
        services = (*_SERVICES, *(_NAMES if confinement.shares_network else ()))
        yield _rule("allow mach-lookup", "global-name", services)
        yield _rule("allow file-read*", "subpath", (*_SYSTEM, *tools, *self.readable))
        yield _rule("allow file-read* file-write-data file-ioctl", "literal", _DEVICES)
        yield _rule(
            "deny file-read* file-write*", "subpath", (*self._sealed(), *self._keys(self.toolchain.homes))
        )
        if confinement.readable:
            yield _rule("allow file-read*", "subpath", confinement.readable)
        yield _rule("allow file-read* file-write*", "subpath", confinement.writable)
        yield _rule("deny file-write*", "subpath", confinement.protected or (Path("/nowhere"),))
        if confinement.shares_network:
            yield "(allow network*)"
        elif sockets:
            yield _rule("allow network-outbound", "literal", sockets)
            places = [f"localhost:{port}" for port in confinement.ports]
            if places:
                yield _rule("allow network-bind network-inbound", "local ip", places)
                yield _rule("allow network-outbound", "remote ip", places)

    def _sealed(self) -> tuple[Path, ...]:
        return self.toolchain.closed or (Path("/nowhere"),)

    @staticmethod
    def _keys(home: Sequence[Path]) -> Iterator[Path]:
        """Name where the person's secrets lie, whatever else is shown around them."""
        yield from (each / name for each in home for name in (".ssh", ".gnupg", ".aws", "Library/Keychains"))


def is_here() -> bool:
    """Tell whether this machine has it."""
    return sys.platform == "darwin" and PROGRAM.exists()


def _rule(what: str, how: str, names: Iterable[object]) -> str:
    return f"({what} {' '.join(f'({how} {_quoted(str(name))})' for name in names)})"


def _quoted(text: str) -> str:
    """Quote a text for the profile: a path may hold quotes and backslashes."""
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'
