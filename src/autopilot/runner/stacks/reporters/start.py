"""Starts a reporter of ours, and lets what is installed be loaded from its own bytecode.

Started as a file: `python start.py REPORTER ARGUMENTS`. In a gate PYTHONPYCACHEPREFIX leads every import past
the bytecode beside its source: a branch could commit some that is not of that source. It would lead past that
of the standard library and of every package, too, which no branch holds, and each gate compiled them anew.
It must import nothing but what the interpreter has frozen in, and run on Python 3.8 and newer.
"""

from __future__ import annotations

import marshal
import os
import runpy
import sys
from importlib import machinery, util

CODE = type((lambda: None).__code__)


class Installed(machinery.SourceFileLoader):
    """Loads a module that no branch holds."""

    def get_code(self, fullname: str):  # type: ignore[no-untyped-def]  # noqa: ANN201 - its type is typing's
        """Take the bytecode beside the source, when it is of that source; else compile, as without us."""
        return kept_code(self.get_filename(fullname)) or super().get_code(fullname)


def kept_code(source: str):  # type: ignore[no-untyped-def]  # noqa: ANN201 - as above
    """Give what is kept for this very source by its time and size; None for any other, and for none."""
    folder, name = os.path.split(source)
    kept = f"{os.path.splitext(name)[0]}.{sys.implementation.cache_tag}.pyc"  # noqa: PTH122 - pathlib is slow
    try:
        with open(os.path.join(folder, "__pycache__", kept), "rb") as file:  # noqa: PTH118, PTH123 - as above
            data = file.read()
        seen = os.stat(source)  # noqa: PTH116 - as above
        code = marshal.loads(data[16:]) if data[:16] == head(seen) else None  # noqa: S302 - as the loader does
    except (OSError, EOFError, ValueError, TypeError):
        return None
    return code if isinstance(code, CODE) and code.co_filename == source else None


def head(seen: os.stat_result) -> bytes:
    """Give the first bytes of bytecode that is checked by its source's time and size (PEP 552)."""
    numbers = (0, int(seen.st_mtime), seen.st_size)
    return util.MAGIC_NUMBER + b"".join((each & 0xFFFFFFFF).to_bytes(4, "little") for each in numbers)


def is_installed(folder: str) -> bool:
    """Tell whether a folder belongs to the interpreter or its environment, and to no branch."""
    inside = [os.path.realpath(each) + os.sep for each in (sys.prefix, sys.exec_prefix, sys.base_prefix)]
    theirs = [os.path.realpath(each) + os.sep for each in (os.getcwd(), os.path.expanduser("~"))]  # noqa: PTH109, PTH111
    real = os.path.realpath(folder) + os.sep
    return real.startswith(tuple(inside)) and not real.startswith(tuple(theirs))


def find_installed(folder: str) -> machinery.FileFinder:
    """Be the first that is asked who finds modules in a folder."""
    if sys.flags.optimize or not is_installed(folder) or not os.path.isdir(folder):  # noqa: PTH112 - as above
        raise ImportError(folder)
    return machinery.FileFinder(
        folder,
        (machinery.ExtensionFileLoader, machinery.EXTENSION_SUFFIXES),
        (Installed, machinery.SOURCE_SUFFIXES),
        (machinery.SourcelessFileLoader, machinery.BYTECODE_SUFFIXES),
    )


def main() -> None:
    """Be the reporter from here on."""
    sys.path_hooks.insert(0, find_installed)
    sys.path_importer_cache.clear()
    del sys.argv[0]
    runpy.run_path(sys.argv[0], run_name="__main__")


if __name__ == "__main__":
    main()
