"""Which version of the program this is. Must stay light: the command line asks."""

from __future__ import annotations

CHECKOUT = "0+checkout"
"""What a tree says that was never installed."""


def program_version() -> str:
    """Give the installed version."""
    from importlib.metadata import PackageNotFoundError, version  # noqa: PLC0415 - 20 ms that most never need

    try:
        return version("autopilotd")
    except PackageNotFoundError:
        return CHECKOUT
