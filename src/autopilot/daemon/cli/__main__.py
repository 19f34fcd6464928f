"""`python -P -m autopilot.daemon.cli`: the command line without the installed script."""

from __future__ import annotations

from autopilot.daemon.cli.main import main

if __name__ == "__main__":
    main()
