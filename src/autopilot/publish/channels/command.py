"""A channel that is a program of the operator: the text is what it reads, and its exit code is its answer.

Must not use a shell, hand over a credential, or repeat what it prints.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from autopilot.config import environ, proc
from autopilot.publish.channels.sent import LOOK, Sent, sent

if TYPE_CHECKING:
    from autopilot.config.clock import Clock
    from autopilot.schemas.delivery import ChannelSpec

_OURS = ("AUTOPILOT_", "MULTI_AGENT_", "PYTHON")
_KEYS = ("SSH_AUTH_SOCK",)
"""What signs in with your keys without naming one; our own git is given it, to push over ssh."""
_MOST_OUTPUT_BYTES = 1 << 20


def environment() -> dict[str, str]:
    """Give what a publisher itself has, but for credentials and what is ours alone.

    The bus of the session is among it: a desktop notice and the key ring of a mail program go over it.
    """
    every = environ.current().items()
    return {name: value for name, value in every if not name.startswith(_OURS) and name not in _KEYS}


def send(channel: ChannelSpec, text: str, *, clock: Clock, folder: Path, grace_s: float) -> Sent:
    """Start it once and wait for its end."""
    env = environment()
    ended = proc.run(
        channel.argv,
        cwd=Path(env["HOME"]),
        env=env,
        output=folder / "channel.log",
        clock=clock,
        wall_s=channel.limit_s,
        grace_s=grace_s,
        stdin=text.encode(),
        max_output_bytes=_MOST_OUTPUT_BYTES,
    )
    if ended.spawn_error:
        what = f"its program, {Path(channel.argv[0]).name}, cannot be started"
        return Sent("not-sent", "channel-not-started", what, "install it, or correct argv of the channel")
    if ended.ok:
        return sent()
    if ended.stopped:
        what = f"its program was stopped ({ended.stopped}, {channel.limit_s:g} s): it may have been sent"
        return Sent("unsure", "channel-stopped", what, f"{LOOK}; more time gives it `limit_s`")
    how = f"signal {ended.signal}" if ended.signal is not None else f"code {ended.code}"
    what = f"its program ended with {how}: it may have been sent"
    return Sent("unsure", "channel-failed", what, f"{LOOK}; start the program by hand to see why")
