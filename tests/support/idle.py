"""What a daemon with nothing to do has loaded, told by a real one that came up as every other does."""

from __future__ import annotations

import os
from typing import Final

from tests.support.daemon import Daemon

# Nothing here is needed before there is a ticket, a call or a night's date: it is imported then.
NEEDED_LATER: Final = frozenset(
    {
        *("alembic", "difflib", "git", "httpx", "keyring", "plistlib", "pygments", "rich"),
        *(f"autopilot.daemon.{name}" for name in ("claiming", "decide", "judge", "running", "transitions")),
        *(f"autopilot.daemon.{name}" for name in ("children", "publishing", "specs", "verdicts")),
        *(f"autopilot.daemon.{name}" for name in ("arming", "clearing", "inquiry", "leftovers")),
        *(f"autopilot.daemon.{name}" for name in ("api.answers", "api.bodies", "desk", "intake", "view")),
        *(f"autopilot.daemon.{name}" for name in ("delivery.waiting", "delivery.rounds", "digest.gather")),
        *(f"autopilot.daemon.store.{name}" for name in ("claims", "deliveries", "retention", "settle")),
        *(f"autopilot.launchd.{name}" for name in ("awake", "plists", "scope")),
        *(f"autopilot.schemas.{name}" for name in ("checkup", "decision", "delivery", "publication")),
        *("autopilot.daemon.setting_apart", "autopilot.runner.agents", "autopilot.schemas.tracking"),
    }
)

# A thread of its own waits until the loop does, and then for whoever reads.
_TELLING = """import runpy, sys, threading
def is_waiting():
    frame = sys._current_frames().get(threading.main_thread().ident)
    while frame is not None and frame.f_globals.get("__name__") != "autopilot.daemon.inbox":
        frame = frame.f_back
    return frame is not None and frame.f_code.co_name == "take"
def tell(place):
    while not is_waiting():
        threading.Event().wait(0.05)
    with open(place, "w") as asked:
        print(*sys.modules, sep="\\n", file=asked)
threading.Thread(target=tell, args=sys.argv[1:], daemon=True).start()
sys.argv = ["autopilot", "daemon", "run"]
runpy.run_module("autopilot.daemon.cli", run_name="__main__", alter_sys=True)
"""


def loaded(up: Daemon) -> list[str]:
    """Start one that tells, and end it; gives the modules it had after its first tick, in their order."""
    place, argv = up.home / "loaded", up.argv
    os.mkfifo(place)
    up.argv = ("-c", _TELLING, str(place))
    try:
        up.start()
        names = place.read_text(encoding="utf-8").split()
        up.stop()
    finally:
        up.argv = argv
        place.unlink()
    return names
