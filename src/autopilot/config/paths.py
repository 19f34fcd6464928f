"""Where everything of ours lies on this machine.

Must not create anything except through `ensure`. Stdlib only until a default place is asked for.
Source: XDG base directories on Linux, `~/Library` on macOS (platformdirs); `AUTOPILOT_HOME` overrides all.
"""

from __future__ import annotations

import os
from pathlib import Path

from autopilot.schemas.errors import ConfigError

TYPE_CHECKING = False  # not from `typing`: ADR 0072
if TYPE_CHECKING:
    from typing import Final

PRIVATE_DIR_MODE = 0o700
_MARK_CHARS = 8

# What lies in a run's folder, where daemon, runner and publisher meet.
SPEC_FILE = "spec.json"
EVENTS_FILE = "events.jsonl"
RESULT_FILE = "result.json"
RUNNER_LOG = "runner.log"
LEASE_FILE = "lease"
JUDGE_REPOSITORY = "judge.git"
ARTIFACTS = "artifacts"
"""In a ticket's salvage: copies of what its runs left for people, until logs have had their time."""
WORKTREE_FILE = "worktree.json"
PUBLISH_FOLDER = "publish"
PUBLISH_EVENTS_FILE = "publish-events.jsonl"

CLEAN_UP_OUTPUT_FILE = "gc.out"
"""In the log folder: what clean-ups print."""


class Paths:
    """The state folder (0700), the configuration file and the log folder."""

    __slots__ = ("config_file", "logs", "state")

    def __init__(self, *, state: Path, config_file: Path, logs: Path) -> None:
        """Take the three; what lies where in them is the same everywhere."""
        self.state: Final = state
        self.config_file: Final = config_file
        self.logs: Final = logs

    @property
    def database(self) -> Path:
        """Where the queue is."""
        return self.state / "autopilot.db"

    @property
    def control_socket(self) -> Path:
        """Where the daemon listens."""
        return self.state / "control.sock"

    @property
    def daemon_lock(self) -> Path:
        """Whose flock says that a daemon is alive."""
        return self.state / "daemon.lock"

    @property
    def failed_starts(self) -> Path:
        """Starts of the daemon that came to nothing since the last that did not."""
        return self.state / "failed-starts.json"

    @property
    def runs(self) -> Path:
        """One folder per run."""
        return self.state / "runs"

    @property
    def worktrees(self) -> Path:
        """One folder per ticket."""
        return self.state / "worktrees"

    @property
    def mirrors(self) -> Path:
        """One bare repository per configured repository."""
        return self.state / "mirrors"

    @property
    def pr_requests(self) -> Path:
        """Requests to publish and their verdicts."""
        return self.state / "pr-requests"

    @property
    def digests(self) -> Path:
        """One file per night."""
        return self.state / "digests"

    @property
    def deliveries(self) -> Path:
        """One folder for each text that was to go out through a channel."""
        return self.state / "deliveries"

    @property
    def salvage(self) -> Path:
        """What was saved of worktrees, one folder per ticket."""
        return self.state / "salvage"

    @property
    def reports(self) -> Path:
        """Reports of cleaning up, and of crashes of a command."""
        return self.state / "reports"

    @property
    def local_forge(self) -> Path:
        """Pull request records of the embedded forge."""
        return self.state / "forge"

    def mirror(self, repo: str) -> Path:
        """Name the mirror of a configured repository."""
        return self.mirrors / f"{repo}.git"

    def run_dir(self, run_id: str) -> Path:
        """Name the folder of a run."""
        return self.runs / run_id

    def publish_dir(self, run_id: str) -> Path:
        """Name the folder of a run's publication."""
        return self.run_dir(run_id) / PUBLISH_FOLDER

    def request(self, run_id: str) -> Path:
        """Name the file by which a run asks to publish."""
        return self.pr_requests / f"{run_id}.json"

    def verdict(self, run_id: str) -> Path:
        """Name the file in which the publisher answers."""
        return self.pr_requests / f"{run_id}.verdict.json"

    def drafts_dir(self, repo: str) -> Path:
        """Name the folder in which the drafts of a repository are asked about."""
        return self.state / "drafts" / repo

    def worktree(self, ticket_id: str) -> Path:
        """Name the ticket's worktree."""
        return self.worktrees / ticket_id

    def mark(self, name: str) -> str:
        """Name a child and the mark of its tree; another daemon on this machine must have another."""
        import hashlib

        return f"{name}-{hashlib.sha256(str(self.state).encode()).hexdigest()[:_MARK_CHARS]}"

    def ensure(self) -> Paths:
        """Make the folders that are missing, private to this user.

        Raises:
            ConfigError: a folder can be neither found nor made.
        """
        for folder in (
            self.state,
            self.runs,
            self.worktrees,
            self.mirrors,
            self.pr_requests,
            self.digests,
            self.logs,
        ):
            try:
                _make(folder)
            except OSError as exc:
                from autopilot.config.room import unusable

                what = f"cannot make the folder {folder}: {exc.strerror}"
                hint = "make it writable, or set AUTOPILOT_HOME"
                raise unusable("state-dir-unusable", what, exc, hint=hint) from exc
        return self


def read_folder(paths: Paths, ticket: str, run_id: str, name: str) -> Path:
    """Give the folder in which a run's file is read: the run's own, or, once that is gone, the saved copy."""
    own, copy = paths.run_dir(run_id), paths.salvage / ticket / ARTIFACTS / run_id
    return copy if not (own / name).exists() and (copy / name).is_file() else own


def find_paths() -> Paths:
    """Give the places of this user: below `AUTOPILOT_HOME` when that is set, else the platform's own."""
    home = os.environ.get("AUTOPILOT_HOME")
    if home:
        return paths_below(_absolute(home))
    import platformdirs  # only the default place needs it

    dirs = platformdirs.PlatformDirs("autopilot", appauthor=False)
    return Paths(
        state=Path(dirs.user_state_dir),
        config_file=Path(dirs.user_config_dir) / "config.toml",
        logs=Path(dirs.user_log_dir),
    )


def _absolute(home: str) -> Path:
    try:
        return Path(home).expanduser().absolute()
    except RuntimeError as exc:
        what = f"AUTOPILOT_HOME={home} names nobody's home"
        raise ConfigError("home-unknown", what, hint="write the folder out, from / on") from exc


def paths_below(root: Path) -> Paths:
    """Give the places when all of them lie in one folder."""
    return Paths(state=root / "state", config_file=root / "config.toml", logs=root / "logs")


def demo_home() -> Path:
    """Give the folder in which the demo keeps its own state, apart from the real one."""
    home = os.environ.get("AUTOPILOT_HOME")
    if home:
        return _absolute(home) / "demo"
    import platformdirs  # as above

    return Path(platformdirs.user_cache_dir("autopilot", appauthor=False)) / "demo"


def _make(folder: Path) -> None:
    """Make a folder so that a power cut leaves it; the one that is there costs a look."""
    if not folder.is_dir():
        from autopilot.config.atomic import make_folder  # it costs a command that makes nothing

        make_folder(folder, mode=PRIVATE_DIR_MODE)
