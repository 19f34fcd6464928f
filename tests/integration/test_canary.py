"""The search for planted secrets finds them wherever a run may leave one."""

from __future__ import annotations

import gzip
import sqlite3
import subprocess
import sys
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest

from tests.support import canary
from tests.support.gitcmd import git
from tests.support.repos import commit_files, init_bare
from tests.support.wait import wait_until

SECRET = f"a line with {canary.WORD} in it\n"


def in_a_file(folder: Path) -> None:
    (folder / "log").write_text(SECRET)


def beside_a_link_to_what_no_file_can_be_called(folder: Path) -> None:
    (folder / "odd").symlink_to("0" * 300)
    (folder / "logs" / "old").mkdir(parents=True)
    (folder / "logs" / "old" / "log").write_text(SECRET)


def across_the_pieces_of_a_large_file(folder: Path) -> None:
    half = 1024 * 1024 - len(canary.WORD) // 2
    (folder / "log").write_text("x" * half + canary.WORD + "x" * (20 * 1024 * 1024))


def behind_a_hole_of_a_tebibyte(folder: Path) -> None:
    with (folder / "log").open("wb") as file:
        file.seek(1 << 40)
        file.write(SECRET.encode())
        file.truncate(2 << 40)


def in_a_compressed_log(folder: Path) -> None:
    (folder / "log.gz").write_bytes(gzip.compress(SECRET.encode()))


def in_a_row_over_two_pages(folder: Path) -> None:
    with closing(sqlite3.connect(folder / "queue.db")) as db, db:
        db.execute("CREATE TABLE t (text TEXT)")
        db.executemany(
            "INSERT INTO t VALUES (?)", [("x" * n + canary.WORD + "x" * 9000,) for n in (4000, 4085)]
        )


def in_a_loose_object(folder: Path) -> None:
    commit_files(init_bare(folder / "repository.git"), "main", {"a": SECRET})


def in_a_message_in_a_pack(folder: Path) -> None:
    place = init_bare(folder / "repository.git")
    sha = commit_files(place, "main", {"a": "b"})
    tree = git(place, "rev-parse", f"{sha}^{{tree}}")
    git(place, "update-ref", "refs/heads/main", git(place, "commit-tree", tree, "-m", SECRET))
    git(place, "repack", "-adq")
    git(place, "prune-packed")


def in_a_bundle_that_builds_on_another_repository(folder: Path) -> None:
    place = init_bare(folder / "repository.git")
    long = "".join(f"line {number}\n" for number in range(5000))
    base = commit_files(place, "main", {"a": long})
    other = folder.parent / "elsewhere.git"
    git(folder, "clone", "-q", "--bare", str(place), str(other))
    commit_files(other, "main", {"a": f"{long}{SECRET}"})
    git(other, "bundle", "create", "-q", str(folder / "work.bundle"), "refs/heads/main", f"^{base}")


@pytest.mark.parametrize(
    "leak",
    [
        in_a_file,
        beside_a_link_to_what_no_file_can_be_called,
        across_the_pieces_of_a_large_file,
        behind_a_hole_of_a_tebibyte,
        in_a_compressed_log,
        in_a_row_over_two_pages,
        in_a_loose_object,
        in_a_message_in_a_pack,
        in_a_bundle_that_builds_on_another_repository,
    ],
)
def test_a_secret_is_found(tmp_path: Path, leak: Callable[[Path], None]) -> None:
    place = tmp_path / "place"
    place.mkdir()
    canary.assert_unseen(place)
    leak(place)
    with pytest.raises(AssertionError, match="stands in"):
        canary.assert_unseen(place)


def started_with(own: str) -> None:
    """Let a process with this argument live until it was looked at."""
    argv = [sys.executable, "-I", "-S", "-c", "import sys; sys.stdin.read()", own]
    with canary.watched(own) as seen, subprocess.Popen(argv, stdin=subprocess.PIPE) as process:
        wait_until(lambda: bool(seen), 60, "it was looked at")
        with pytest.raises(AssertionError, match="argument of"):
            canary.assert_unseen(also=[own])
        process.communicate()


def test_a_secret_on_a_command_line_is_found_though_the_process_has_ended(tmp_path: Path) -> None:
    own = f"own-{tmp_path.name}-value"  # no other test's: they look at this machine's processes too
    with pytest.raises(AssertionError, match=own):
        started_with(own)
