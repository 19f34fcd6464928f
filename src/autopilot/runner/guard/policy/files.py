"""Programs that make, move, remove and pack files: each place is judged, and what is written is remembered.

Must not accept an option that writes elsewhere than the operands say, or unpacks over the worktree.
"""

from __future__ import annotations

import posixpath
import re
from types import MappingProxyType
from typing import TYPE_CHECKING

from autopilot.runner.guard.grammar import Word
from autopilot.runner.guard.policy.forms import Call, Form, Policy, same
from autopilot.runner.guard.policy.kinds import read
from autopilot.runner.guard.verdict import Refused

if TYPE_CHECKING:
    from collections.abc import Mapping

_COPY = Form(
    "-aRrpPfnuvTdiLH -t:text --recursive --archive --force --no-clobber --update --verbose "
    "--target-directory=text "
    "--no-target-directory --preserve[=word] --no-dereference --dereference",
    "text*",
)
_MOVE = Form(
    "-fnuvTi -t:text --force --no-clobber --update --verbose --target-directory=text --no-target-directory",
    "text*",
)


def _placed(call: Call, form: Form) -> tuple[list[Word], Word, bool]:
    """Take a copy or move apart: sources, target, and whether whole folders go.

    With -T the target is never a folder to put something into, but what the source becomes.
    """
    given = form.read(call)
    folders = given.values("-t", "--target-directory")
    words = list(given.operands)
    target = folders[0] if folders else (words.pop() if words else None)
    if target is None or not words or len(folders) > 1:
        raise Refused("operand-missing", f"{call.name} takes sources and a target")
    if given.has("-T", "--no-target-directory"):
        call.act.write_tree(target)
    return words, target, given.has("-a", "-R", "-r", "--recursive", "--archive")


def _land(call: Call, sources: list[Word], target: Word, *, is_tree: bool) -> None:
    """Judge the target, as the file itself and as a folder into which each source goes."""
    for source in sources:
        name = posixpath.basename((source.pattern or source.text).rstrip("/"))
        into = f"{target.text.rstrip('/') or '/'}/{name}"
        inside = Word(into, into if source.pattern is not None else None)
        if name in {"", ".", ".."}:
            raise Refused("whole-folder", f"{source.text!r}: name what is copied or moved")
        if call.act.is_root(target):
            (call.act.write_tree if is_tree else call.act.write)(inside)
            continue
        for place in (target, inside):
            (call.act.write_tree if is_tree else call.act.write)(place)


def _cp(call: Call) -> None:
    sources, target, is_tree = _placed(call, _COPY)
    for source in sources:
        call.act.read(source)
    _land(call, sources, target, is_tree=is_tree)


def _mv(call: Call) -> None:
    sources, target, _ = _placed(call, _MOVE)
    for source in sources:
        call.act.read(source)
        call.act.write_tree(source)
    _land(call, sources, target, is_tree=True)


def _ln(call: Call) -> None:
    given = Form("-sfnvrT --symbolic --force --no-dereference --verbose --relative", "text text?").read(call)
    if not given.has("-s", "--symbolic"):
        raise Refused("hard-link", "only symbolic links: ln -s TARGET LINK, both inside the worktree")
    target = given.operands[0]
    link = given.operands[1] if len(given.operands) > 1 else Word(posixpath.basename(target.text))
    call.act.write(link)
    call.act.write(Word(f"{link.text.rstrip('/')}/{posixpath.basename(target.text)}"))
    # A relative target is read from where the link lies, not from here.
    beside = posixpath.join(posixpath.dirname(link.text), target.text)
    for place in {beside, target.text if given.has("-r", "--relative") else beside}:
        call.act.link(Word(place))


_TAR_READ = "-tvzjJ -f:archive --list --verbose --gzip --bzip2 --xz --file=archive --exclude=text"
_TAR_MAKE = (
    "-cvzjJ -f:new_archive -C:read --create --verbose --gzip --bzip2 --xz --file=new_archive --exclude=text "
    "--directory=read"
)
_TAR_TAKE = (
    "-xvzjJ -f:archive -C:text --extract --verbose --gzip --bzip2 --xz --file=archive --directory=text "
    "--strip-components=number --no-same-owner"
)


_TAR_VALUES = frozenset("fC")


def _tar(call: Call) -> None:
    args = call.args
    if args and not args[0].text.startswith("-"):
        args = _with_dashes(args)
    call = call._replace(args=args)
    words = [word.text for word in args if word.text.startswith("-")]
    letters = "".join(word for word in words if not word.startswith("--"))
    if "--list" in words or "t" in letters:
        Form(_TAR_READ, "text*").read(call)
    elif "--create" in words or "c" in letters:
        _pack(call)
    else:
        given = Form(_TAR_TAKE, "text*").read(call)
        _unpack_below_tmp(call, given.values("-C", "--directory"))


def _with_dashes(args: tuple[Word, ...]) -> tuple[Word, ...]:
    """Write tar's oldest style with dashes: its letters take their values in turn from what is behind it."""
    given: list[Word] = []
    rest = list(args[1:])
    for letter in args[0].text:
        given.append(Word(f"-{letter}"))
        if letter in _TAR_VALUES and rest:
            given.append(rest.pop(0))
    return (*given, *rest)


def _pack(call: Call) -> None:
    """Judge what is packed in the folder to which tar goes before it looks for it; the archive lies here."""
    given = Form(_TAR_MAKE, "text+").read(call)
    folders = given.values("-C", "--directory")
    ahead = Form(_TAR_MAKE, "text+", stops=True).read(call).values("-C", "--directory")
    # Behind `--` too: bsdtar takes -C for a change of folder wherever it stands among the names.
    odd = any(word.text.startswith("-C") for word in given.operands)
    if len(folders) > 1 or ahead != folders or odd:
        raise Refused("tar-folder", "one -C FOLDER, before what is packed: tar -cf x.tar -C dist .")
    for word in given.operands:
        read(call.act, _below(folders[0], word) if folders else word)


def _below(folder: Word, word: Word) -> Word:
    """Name a file by the folder from which its name is read."""
    if folder.pattern is not None or word.text.startswith("@"):
        raise Refused("tar-folder", f"-C {folder.text} {word.text}: a folder and files, named plainly")
    pattern = None if word.pattern is None else posixpath.join(folder.text, word.pattern)
    return Word(posixpath.join(folder.text, word.text), pattern, word.is_computed)


def _unzip(call: Call) -> None:
    words = [word.text for word in call.args]
    if "-l" in words or "-t" in words or "-v" in words:
        Form("-lqtv", "read text*").read(call)
        return
    args = [word for word in call.args if word.text != "-d"]
    given = Form("-qon", "read text*").read(call._replace(args=tuple(args)))
    place = words[words.index("-d") + 1 :] if "-d" in words else []
    _unpack_below_tmp(call, [word for word in given.operands[1:] if word.text in place[:1]])


def _unpack_below_tmp(call: Call, places: list[Word]) -> None:
    """An archive may hold any name, so it is opened where no name matters."""
    if len(places) == 1 and call.act.is_tmp(places[0]):
        return
    if len(places) != 1 or not call.act.is_in_tmp(places[0]):
        raise Refused("unpack", f"unpack below {call.act.places.tmp} (-C or -d), then copy what is needed")
    call.act.write_tree(places[0])


def _chmod(call: Call) -> None:
    given = Form("-Rfv --recursive --verbose", "text text+").read(call)
    mode = given.operands[0].text
    if "s" in mode or (mode.isdigit() and len(mode) > 3 and mode[0] != "0") or "/" in mode:
        raise Refused("mode", "a mode such as +x or 644; no setuid")
    for word in given.operands[1:]:
        (call.act.write_tree if given.has("-R", "--recursive") else call.act.write_mode)(word)


def _zip(call: Call) -> None:
    for word in Form("-rq0123456789j --recurse-paths --quiet", "write read+").read(call).operands[1:]:
        if call.act.is_root(word):
            raise Refused("whole-worktree", "name what is packed: zip -r dist/app.zip src")


_ONE_FILE = Form("-kfv19 --keep --force --verbose --best --fast", "write+")
_SHOWN = Form("-cdkvtlq --decompress --uncompress --stdout --to-stdout --keep --test --list --quiet", "read+")
_ONLY_SHOWS = frozenset({"--stdout", "--to-stdout", "--test", "--list"})


def _one_file(call: Call) -> None:
    """Judge gzip and its kin: what goes to standard output, or is only tested, stays as it is."""
    texts = [word.text for word in call.args]
    bundles = "".join(text for text in texts if re.fullmatch(r"-[a-z]+", text))
    shows = bool(set("ctl") & set(bundles)) or bool(_ONLY_SHOWS & set(texts))
    (_SHOWN if shows else _ONE_FILE).read(call)


def _removed(form: Form) -> Policy:
    """Judge what takes folders away: of one that is gone, nothing in it was brought by the run."""

    def judge(call: Call) -> None:
        before = set(call.act.writes)
        form.read(call)
        call.act.writes -= {path for path in call.act.writes - before if path.endswith("/")}

    return judge


PROGRAMS: Mapping[str, Policy] = MappingProxyType(
    {
        "mkdir": Form("-pv -m:number --parents --verbose", "write+"),
        "touch": Form("-acm -d:text --date=text --no-create", "write+"),
        "tee": Form("-ai --append", "write*"),
        "rm": _removed(Form("-rRfvdI --recursive --force --verbose --dir", "tree+")),
        "rmdir": _removed(Form("-pv --parents --ignore-fail-on-non-empty", "tree+")),
        "cp": _cp,
        "mv": _mv,
        "ln": _ln,
        "chmod": _chmod,
        "tar": _tar,
        "unzip": _unzip,
        **same(_one_file, "gzip", "bzip2", "xz"),
        "truncate": Form("-c -s:number --size=number --no-create", "write+"),
        "zip": _zip,
        "mktemp": Form("-du -p:write --directory --tmpdir=write", "write?"),
    }
)
