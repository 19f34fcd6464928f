"""Where the morning's word goes, and whether what happens at night is written down at all."""

from __future__ import annotations

import os
import shutil
from pathlib import Path
from typing import TYPE_CHECKING

from autopilot.config import environ
from autopilot.config.passing import size_of
from autopilot.config.room import has_no_room
from autopilot.daemon.checkup.check import blocked, ok, warning
from autopilot.daemon.checkup.configured import credential
from autopilot.daemon.delivery.catalogue import LANGUAGES, is_spoken
from autopilot.schemas.checkup import Check

if TYPE_CHECKING:
    from autopilot.config.channel import Channel
    from autopilot.config.paths import Paths
    from autopilot.daemon.checkup.scene import Runner, Scene

_CHANNELS = "channels"
_MIB = 1024 * 1024


def notification(scene: Scene) -> Check:
    """Say where the digest lies, whatever goes out beside that."""
    at, folder = scene.settings.schedule.digest_at, scene.paths.digests
    fault = _fault(folder)
    if fault:
        return blocked("notification", f"the digest cannot be written: {fault}", f"make {folder} writable")
    return ok("notification", f"at {at} the digest lies in {folder}")


def channels(scene: Scene) -> Check:
    """Say through which channels the digest goes out; one whose address cannot be read blocks.

    A channel that is configured and not named in `report_channels` is not looked at: nothing goes there.
    """
    settings = scene.settings
    issues = "; each draft's issue gets a comment" if settings.report_issue_updates else ""
    if not settings.report_channels:
        unused = ", reports of drafts too" if settings.report_drafts else ""
        return ok(_CHANNELS, f"none: the digest stays on this machine{unused}{issues}")
    told = {name: _channel(name, settings.channels[name], scene.runner) for name in settings.report_channels}
    faults = [one for one in told.values() if isinstance(one, Check)]
    if faults:
        evidence = "; ".join(f"{fault.name}: {fault.evidence}" for fault in faults)
        return blocked(_CHANNELS, evidence, faults[0].cure)
    what = "the digest and each draft" if settings.report_drafts else "the digest"
    through = ", ".join(f"{name} ({how})" for name, how in told.items())
    language = settings.output_language
    if not is_spoken(language):
        cure = f"output_language is one of {', '.join(LANGUAGES)} for what is delivered"
        return warning(_CHANNELS, f"{what} through {through}, in English: {language} is not known", cure)
    return ok(_CHANNELS, f"{what} through {through}{issues}")


def _channel(name: str, channel: Channel, runner: Runner) -> Check | str:
    """Say what a channel is, or give the line of why it cannot be used; an address is never read here."""
    if channel.credential is not None:
        line = credential(channel.credential, runner)
        return line.model_copy(update={"name": name}) if line.blocks else f"webhook, {channel.form}"
    program = channel.argv[0]
    if shutil.which(program, path=environ.search_path(runner.environment)) is None:
        return blocked(name, f"{program} cannot be started", "install it, or correct argv of the channel")
    return f"command, {Path(program).name}"


def logs(paths: Paths) -> Check:
    """Look whether the log can be written, and how large it is."""
    fault = _fault(paths.logs)
    if fault:
        return blocked("logs", fault, f"make {paths.logs} writable")
    if has_no_room(paths.logs):
        what = f"no room is left for {paths.logs}: what happens is not written down"
        return warning("logs", what, "make room on its disk; tickets go on meanwhile")
    taken = sum(map(size_of, filter(Path.is_file, paths.logs.iterdir())))
    return ok("logs", f"{paths.logs}, {taken / _MIB:.1f} MiB")


def _fault(folder: Path) -> str:
    if not folder.is_dir():
        return f"{folder} is no folder"
    return "" if os.access(folder, os.W_OK | os.X_OK) else f"{folder} cannot be written by this account"
