"""A whole night in a temporary folder: real repository, scripted agents, the real daemon, the local forge."""

from __future__ import annotations

import os
import signal
from collections.abc import Mapping, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

import yaml

from autopilot.config import procinfo
from autopilot.config.journal import read_lines
from autopilot.daemon.store import queries_runs
from autopilot.publish.forges.local import LocalPullRequest, read_records
from autopilot.schemas.events import Event
from tests.support import canary, records, template
from tests.support.daemon import PATIENCE_S, RUN_DAEMON, Daemon
from tests.support.gitcmd import git
from tests.support.in_order import assert_in_order
from tests.support.reach import reaches_out
from tests.support.repos import Repo, make_repo
from tests.support.wait import wait_until

Steps = Sequence[Mapping[str, object]]

CONFIG = """
launch_stagger_s = 0
min_free_disk_gib = 0
min_free_memory_gib = 0
max_load_per_cpu = 0
backoff_s = 0.1
backoff_cap_s = 0.5
default_agent = "good"
[schedule]
window = ""
[timeouts]
kill_grace_s = 2
[awake]
enabled = false
[identity]
name = "Pat Doe"
email = "pat@example.org"
[[repo]]
name = "bill"
path = "{remote}"
base = "main"
"""


class House:
    """Everything a story needs, and what can be seen of it from outside."""

    def __init__(
        self,
        folder: Path,
        *,
        settings: str = "",
        home: Path | None = None,
        repo: Repo | None = None,
        argv: Sequence[str] = RUN_DAEMON,
        env: Mapping[str, str] | None = None,
        has_stem: bool = False,
        **agents: Steps,
    ) -> None:
        """Build the repository, and one scripted agent per name; `good` mends the red test.

        `argv` is what Python is told to run as the daemon, `env` what is added to its environment; with a
        stem each of its starts is a fork.
        """
        self.repo = repo or make_repo(folder / "repositories")
        self.folder = folder
        self.daemon = Daemon(
            home or folder / "home",
            config=settings + CONFIG.format(remote=self.repo.remote),
            env={"AUTOPILOT_SECRET_FORGE": f"{canary.WORD}-not-for-agents", **(env or {})},
            argv=argv,
            has_stem=has_stem,
        )
        self.paths = self.daemon.paths
        for name, steps in {"good": self.mend(), **agents}.items():
            self.add_agent(name, steps)

    def add_agent(self, name: str, steps: Steps) -> None:
        """Configure one more scripted agent."""
        script = self.folder / f"{name}.yaml"
        script.write_text(yaml.safe_dump({"rounds": [list(steps)]}), encoding="utf-8")
        is_closed = "[sandbox]" not in self.paths.config_file.read_text(encoding="utf-8")
        with self.paths.config_file.open("a", encoding="utf-8") as file:
            if reaches_out(steps) and is_closed:
                file.write('[sandbox]\nkind = "none"\n')
            file.write(f'[agents.{name}]\nkind = "scripted"\nscript = "{script}"\n')

    def mend(self) -> Steps:
        """Steps that make the red test green for two cents."""
        project = self.repo.project
        swap = {"path": project.broken_path, "old": project.broken_text, "new": project.fixed_text}
        return [{"say": "I see it"}, {"spend": {"usd": 0.02}}, {"replace": swap}, {"say": "It is mended"}]

    def begin(self) -> None:
        """Start the daemon and let runs start; the product's own daemon finds an empty queue."""
        if self.daemon.argv is RUN_DAEMON:
            template.lay(self.paths.ensure().database)
        self.daemon.start()
        self.daemon.call("POST", "/v1/switch", on=True, ignore_window=True)

    def add(self, title: str = "Lose no cent", **fields: object) -> str:
        """Queue a ticket and give its name."""
        answer = self.daemon.call("POST", "/v1/tickets", title=title, repo="bill", **fields)
        name: str = answer["ticket"]["id"]
        return name

    def wait_for_journal(self, event: Event, *, count: int = 1) -> None:
        """Wait until runners and publishers together have told of an event so many times."""

        def is_told() -> bool:
            return len([line for line in self.journal() if line["event"] == event]) >= count

        wait_until(is_told, PATIENCE_S, f"{count} x {event} is in a journal; {self.daemon.said()}")

    def journal(self) -> list[Mapping[str, Any]]:
        """What every runner and publisher has told so far."""
        files = [
            *self.paths.runs.glob("*/events.jsonl"),
            *self.paths.runs.glob("*/publish/publish-events.jsonl"),
        ]
        return [line for file in sorted(files) for line in read_lines(file).entries]

    def count(self, event: Event) -> int:
        """How often runners and publishers told of an event."""
        return len([line for line in self.journal() if line["event"] == event])

    def kill_runner(self) -> None:
        """Kill the runner alone; its agent lives on until somebody cleans up."""
        with closing(self.daemon.store()) as store, store.read() as conn:
            processes = [live.attempt.process for live in queries_runs.running(conn)]
        _kill(processes)

    def kill_publisher(self) -> None:
        """Kill the publisher alone."""
        with closing(self.daemon.store()) as store, store.read() as conn:
            processes = [live.publication.process for live in queries_runs.publishing(conn)]
        _kill(processes)

    def pull_requests(self) -> tuple[LocalPullRequest, ...]:
        """Every pull request at the local forge."""
        return read_records(self.paths.local_forge / "bill")

    def remote_branches(self) -> dict[str, str]:
        """Every branch of ours in the remote, and where it stands."""
        form = "--format=%(refname:short) %(objectname)"
        listed = git(self.repo.remote, "for-each-ref", form, "refs/heads/autopilot")
        return dict(line.split() for line in listed.splitlines())

    def assert_in_order(self, *, is_stopped: bool = False) -> None:
        """Stop the daemon; then the house is in order, and each published ticket has one draft."""
        assert is_stopped or self.daemon.stop() == 0, self.daemon.said()
        branches = [each.branch for each in self.pull_requests()]
        with closing(self.daemon.store()) as store:
            assert_in_order(
                store,
                is_alive=lambda pid, started_ms: procinfo.is_alive(procinfo.ProcessId(pid, started_ms)),
                live_runs=self.daemon.live_runs(),
                worktrees=self.paths.worktrees,
                pull_request_branches=branches,
            )
            with store.read() as conn:
                done = [one for one in records.publications(conn) if one.pr_url]
        assert sorted(branches) == sorted(one.branch for one in done)
        assert self.remote_branches() == {one.branch: one.head for one in done}

    def clean_up(self) -> None:
        """Leave no process behind, and no secret anywhere."""
        self.daemon.clean_up()
        canary.assert_unseen(self.folder)


def _kill(processes: Sequence[tuple[int, int] | None]) -> None:
    for process in processes:
        if process is not None and procinfo.is_alive(procinfo.ProcessId(*process)):
            os.kill(process[0], signal.SIGKILL)
