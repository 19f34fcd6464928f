"""What one command is about to do with files, judged as its words are read.

Must not know a program: the policies call this for each word that is a path.
"""

from __future__ import annotations

import posixpath
from typing import TYPE_CHECKING

from autopilot.runner.guard.grammar import ANY, NIL, ONE
from autopilot.runner.guard.names import covers, fold, is_one_of, is_wild
from autopilot.runner.guard.verdict import Refused

if TYPE_CHECKING:
    from collections.abc import Collection

    from autopilot.runner.guard.grammar import Word
    from autopilot.runner.guard.places import Places, Spot
    from autopilot.runner.guard.verdict import GuardContext

_MANIFEST = (
    "changes a manifest or lock file; packages are added by a person: say in your summary what is needed"
)
_PROTECTED = "is protected: no tool of a run changes it; say in your summary what should change"


class Act:
    """One command, in every folder that it may run in; it notes what is written."""

    def __init__(
        self, context: GuardContext, places: Places, *, folders: tuple[str, ...], written: frozenset[str]
    ) -> None:
        self.context = context
        self.places = places
        self.folders = folders
        self.written = written
        self.writes: set[str] = set()

    def read(self, word: Word) -> None:
        """A file is read, or its name shown.

        Raises:
            Refused: it is outside, or holds secrets.
        """
        if self.places.is_sink(word.text):
            return
        for spot in self._spots(word):
            if self.places.is_secret(spot):
                raise Refused(
                    "secret-file",
                    f"{word.text!r} may hold secrets and is not read; the history is read by git log, "
                    "git show and git diff",
                )

    def write(self, word: Word) -> None:
        """A file is made or changed.

        Raises:
            Refused: it is outside, protected, a manifest, or an installed package.
        """
        if self.places.is_sink(word.text):
            return
        for spot in self._spots(word):
            self._check_name(spot, word.text)
            if self.places.is_under(spot, self.places.installed):
                raise Refused(
                    "installed-package", f"{word.text!r} is part of an installed package and is not changed"
                )
            if spot.marked == ():
                raise Refused("whole-worktree", f"{word.text!r} is the whole folder; name a file in it")
            self.note(spot.path)

    def write_into(self, word: Word) -> None:
        """A folder is named into which a tool writes files by names of its own.

        Raises:
            Refused: as `write`.
        """
        self.write(word)
        for spot in self._spots(word):
            self.note(spot.path, is_tree=True)

    def write_argument(self, word: Word) -> None:
        """A path is handed to a program that may read or write it.

        Raises:
            Refused: it is outside, protected, a manifest or a secret.
        """
        for spot in self._spots(word):
            self._check_name(spot, word.text)
            if self.places.is_secret(spot):
                raise Refused("secret-file", f"{word.text!r} may hold secrets and is not handed on")

    def link(self, word: Word) -> None:
        """A symbolic link is made that leads there.

        Raises:
            Refused: as for an argument; or what is protected could be reached by another name.
        """
        self.write_argument(word)
        for spot in self._spots(word):
            if self.places.may_hold(spot) or self.places.is_under(spot, self.places.installed):
                raise Refused(
                    "protected-below", f"{word.text!r} holds protected files; link what lies below it"
                )

    def rewrite(self, word: Word) -> None:
        """Sources are formatted in place, or all that lie in a folder.

        Raises:
            Refused: it is outside, protected or a manifest.
        """
        for spot in self._spots(word):
            self._check_name(spot, word.text)

    def write_tree(self, word: Word) -> None:
        """A folder with all that is in it is written, moved or removed.

        Raises:
            Refused: as `write`, or it holds a protected name.
        """
        for spot in self._spots(word):
            self._check_name(spot, word.text)
            if self.places.may_hold(spot):
                raise Refused(
                    "protected-below", f"{word.text!r} holds protected files; name what you mean below it"
                )
            self.note(spot.path, is_tree=True)

    def write_mode(self, word: Word) -> None:
        """Only the mode of a file is changed.

        Raises:
            Refused: it is outside or protected.
        """
        for spot in self._spots(word):
            if self.places.is_under(spot, self.places.protected):
                raise Refused("protected", f"{word.text!r} {_PROTECTED}")

    def stage(self, word: Word) -> None:
        """A file goes into the index, or comes back from it.

        Raises:
            Refused: it is outside or protected.
        """
        for spot in self._spots(word):
            if spot.parts is None:
                raise Refused("outside", f"{word.text!r} is not in the worktree")
            if self.places.is_under(spot, self.places.protected):
                raise Refused("protected", f"{word.text!r} {_PROTECTED}")

    def execute(self, word: Word) -> None:
        """A program file of the repository is run.

        Raises:
            Refused: this run made or changed it, it is not of the repository, or its name is not written out.
        """
        if word.pattern is not None:
            raise Refused("wildcard-program", f"{word.text!r}: the name of a program is written out")
        for spot in self._spots(word):
            if spot.parts is None or self.places.is_secret(spot):
                raise Refused("not-of-the-repository", f"{word.text!r} is no program of the repository")
            if self.places.is_under(spot, self.places.protected):
                raise Refused("protected", f"{word.text!r} is protected, and not a program to start")
            if self.places.is_under(spot, self.places.installed):
                raise Refused(
                    "installed-package",
                    f"{word.text!r} belongs to an installed package; run tools by their name",
                )
            if self.places.is_missing(spot.path):
                raise Refused("not-there", f"{word.text!r} is not there; a program is one of the repository")
            if self.is_written(spot.path) or self.places.is_new(spot.path):
                raise Refused(
                    "made-by-the-run",
                    f"{word.text!r} was written by this run and is not run as a program; put the check "
                    "into a "
                    "test and run the tests",
                )

    def tool(self, word: Word) -> None:
        """A program of the project's own environment is run; links out of it are usual there.

        Raises:
            Refused: this run wrote it.
        """
        for folder in self.folders:
            path = posixpath.normpath(posixpath.join(folder, word.text))
            if self.places.in_tmp(path) or self.is_written(path):
                raise Refused(
                    "made-by-the-run", f"{word.text!r} is no tool that was installed before the run"
                )

    def unmade(self, word: Word) -> None:
        """A file steers a tool.

        Raises:
            Refused: this run made it, as all in its temporary folder, or its name is not written out.
        """
        if word.pattern is not None:
            raise Refused("wildcard-settings", f"{word.text!r}: a file of settings is named in full")
        for spot in self._spots(word):
            if spot.parts is None or self.is_written(spot.path) or self.places.is_new(spot.path):
                raise Refused(
                    "made-by-the-run", f"{word.text!r} was made by this run; a tool goes by the project's own"
                )

    def is_root(self, word: Word) -> bool:
        """Whether a word names the worktree or the temporary folder itself, from some folder."""
        return any(not spot.marked for spot in self._spots(word))

    def is_in_tmp(self, word: Word) -> bool:
        """Whether a word names something below the temporary folder, from every folder."""
        return all(spot.marked and self.places.in_tmp(spot.path) for spot in self._spots(word))

    def is_tmp(self, word: Word) -> bool:
        """Whether a word names the temporary folder itself, from every folder."""
        return all(not spot.marked and self.places.in_tmp(spot.path) for spot in self._spots(word))

    def moved(self, folder: Word) -> Act:
        """Give the same act, as if begun in a folder of the worktree.

        Raises:
            Refused: it is not one.
        """
        self.read(folder)
        targets = tuple(posixpath.normpath(posixpath.join(old, folder.text)) for old in self.folders)
        if folder.pattern is not None or not all(map(self.places.is_plain_folder, targets)):
            raise Refused("folder", f"{folder.text!r} is no plain folder of the worktree")
        if any(map(self.places.in_tmp, targets)):
            raise Refused("folder", "stay in the worktree")
        act = Act(self.context, self.places, folders=targets, written=self.written)
        act.writes = self.writes
        return act

    def own_repository(self) -> None:
        """Git finds the repository of the worktree, not one that lies in a folder of it.

        Raises:
            Refused: a folder on the way up may be a repository. Source: git-config(1), safe.bareRepository.
        """
        for folder in {above for each in self.folders for above in self.places.folders_above(each)}:
            for name in ("HEAD", ".git"):
                path = posixpath.join(folder, name)
                if self.is_written(path) or self.places.exists(path):
                    shown = posixpath.basename(folder)
                    raise Refused(
                        "other-repository", f"{shown} may be a repository of its own; run git above it"
                    )

    def unchanged(self, names: Collection[str], what: str) -> None:
        """What a build tool takes its orders from is as the base commit has it.

        Raises:
            Refused: the run wrote such a file.
        """
        changed = {posixpath.basename(path) for path in self.written | self.writes}
        changed.update(*map(self.places.new_names, self.folders))
        # A folder that was moved or copied here in this line brings what is in it.
        changed.update(
            name for name in names for each in self.folders if self.is_written(posixpath.join(each, name))
        )
        for name in sorted(changed):
            if is_one_of(name, names):
                raise Refused(
                    "build-file-changed",
                    f"this run changed {name.replace(ANY, '*').replace(ONE, '?')}, which tells {what} what "
                    "to run; use the own test runner, or cmake --build FOLDER for what cmake made there",
                )

    def is_written(self, path: str) -> bool:
        """Whether this run wrote a file, or a whole folder above it."""
        known = self.written | set(map(fold, self.writes))
        folded = fold(path)
        if folded in known:
            return True
        while folded not in {"", "/"}:
            if f"{folded}/" in known:
                return True
            folded = posixpath.dirname(folded)
        return any(covers(each, fold(path)) for each in known if is_wild(each))

    def note(self, path: str, *, is_tree: bool = False) -> None:
        """Remember a file as written; of a whole folder, what is in it too."""
        self.writes.add(path)
        if is_tree:
            self.writes.add(f"{path}/")

    def _spots(self, word: Word) -> list[Spot]:
        if word.is_computed:
            raise Refused("computed-path", "a path is written out, not computed")
        # `app/[slug]` is what it says where no folder has a name of one of these letters.
        ways = (word.pattern, None) if NIL in (word.pattern or "") else (word.pattern,)
        return [self.places.spot(word.text, way, folder) for folder in self.folders for way in ways]

    def _check_name(self, spot: Spot, shown: str) -> None:
        if self.places.is_under(spot, self.places.protected):
            raise Refused("protected", f"{shown!r} {_PROTECTED}")
        if self.places.is_manifest(spot):
            raise Refused("manifest", f"{shown!r} {_MANIFEST}")
