"""Which version of the program this is, and where its code lies. Must stay light: the command line asks."""

from __future__ import annotations

CHECKOUT = "0+checkout"
"""What a tree says that was never installed."""


def own_code() -> dict[str, str]:
    """Give what lets another Python find the code we run; nothing where it is installed."""
    from pathlib import Path  # noqa: PLC0415 - most never need it

    import autopilot  # noqa: PLC0415 - as above
    from autopilot.config import installed  # noqa: PLC0415 - as above

    folder = Path(autopilot.__path__[0]).parent
    return {} if installed.is_place(folder) else {"PYTHONPATH": str(folder)}


def program_version() -> str:
    """Give the installed version."""
    from importlib.metadata import PackageNotFoundError, version  # noqa: PLC0415 - 20 ms that most never need

    try:
        return version("autopilotd")
    except PackageNotFoundError:
        return CHECKOUT
