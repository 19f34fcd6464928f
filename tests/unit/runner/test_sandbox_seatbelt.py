"""The macOS profile, word for word: nobody may change what it allows without noticing."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from autopilot.config.proc import Exit
from autopilot.runner.sandbox.confinement import Confinement, SandboxError
from autopilot.runner.sandbox.seatbelt import Seatbelt
from autopilot.runner.sandbox.toolchain import Toolchain

RUN = Path("/state/runs/r")
ROOM = Confinement(
    cwd=Path("/state/worktrees/T-1"),
    home=RUN / "home",
    readable=(RUN / "repo.git", RUN / "prompt-1.md"),
    writable=(Path("/state/worktrees/T-1"), RUN / "home", RUN / "repo.git/objects"),
    protected=(Path("/state/worktrees/T-1/.git"), RUN / "repo.git/objects/info"),
)
GOLDEN = Path(__file__).with_name("seatbelt.golden.sb")


class NoTools(Toolchain):
    """A machine whose programs all lie in the system's folders."""

    __slots__ = ()

    def needed(self, path: str, programs: object = (), *, inside: object = ()) -> tuple[Path, ...]:
        return (Path("/opt/python"),)


def profile(room: Confinement) -> list[str]:
    seatbelt = Seatbelt(toolchain=NoTools(Path("/Users/me"), (Path("/state"),)))
    return list(seatbelt.profile({"PATH": "/usr/bin"}, room))


def test_the_profile_is_the_golden_one() -> None:
    assert profile(ROOM) == GOLDEN.read_text(encoding="utf-8").splitlines()


def test_nothing_is_allowed_by_default_and_what_is_protected_comes_last_among_files() -> None:
    lines = profile(ROOM)
    assert lines[:2] == ["(version 1)", "(deny default)"]
    files = [line for line in lines if "file-" in line]
    assert files[-1].startswith("(deny file-write* ")
    assert not any("network" in line for line in lines)


def test_a_way_out_is_one_socket_and_this_machines_loopback() -> None:
    lines = profile(replace(ROOM, outlet=RUN / "outlet.sock", ports=(4000,)))
    assert '(allow network-outbound (remote ip "localhost:4000"))' in lines
    assert f'(allow network-outbound (literal "{RUN}/outlet.sock"))' in lines
    assert "(allow network*)" not in lines
    assert "(allow network*)" in profile(replace(ROOM, shares_network=True))


def test_a_path_cannot_end_its_own_quotes() -> None:
    odd = Path('/w/a") (allow default) ("\\')
    text = "\n".join(profile(replace(ROOM, writable=(odd,))))
    assert '(subpath "/w/a\\") (allow default) (\\"\\\\")' in text


def test_only_its_own_words_are_taken_for_its_failure() -> None:
    seatbelt = Seatbelt(toolchain=NoTools(None))
    failed = Exit(code=65, output=Path("x"), tail=b"sandbox-exec: profile: syntax error")
    with pytest.raises(SandboxError, match="syntax error"):
        seatbelt.read(failed, b"")
    ended = Exit(code=3, output=Path("x"), tail=b"three tests are red")
    assert seatbelt.read(ended, b"") is ended
