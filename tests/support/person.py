"""A person at a machine: a home, a configuration, the command line, and the real daemon behind it.

Nothing of the product is called here but its commands; the daemon's socket is asked only while a test waits.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing
from pathlib import Path
from subprocess import CompletedProcess
from types import MappingProxyType
from typing import Any

import yaml

from autopilot.config import procinfo
from autopilot.config.secrets import VARIABLE_PREFIX
from autopilot.publish.forges.local import LocalPullRequest, read_records
from tests.support import canary, template
from tests.support.agents import Agent
from tests.support.daemon import LASTING, PATIENCE_S, Daemon
from tests.support.forge.server import Forge
from tests.support.gitcmd import git
from tests.support.in_order import assert_in_order
from tests.support.reach import OPEN, reaches_out
from tests.support.repos import Repo
from tests.support.toml_text import toml_text
from tests.support.wait import PATIENT_S, wait_until

Table = Mapping[str, Any]
Steps = Sequence[Mapping[str, object]]

EMPTY: Table = MappingProxyType({})
SETTINGS: Table = {
    "launch_stagger_s": 0,
    "min_free_disk_gib": 0,
    "min_free_memory_gib": 0,
    "max_load_per_cpu": 0,
    "backoff_s": 0.1,
    "backoff_cap_s": 0.5,
    "schedule": {"window": ""},
    "timeouts": {"kill_grace_s": 2},
    "awake": {"enabled": False},
    "identity": {"name": "Pat Doe", "email": "pat@example.org"},
}


class Person:
    """Types commands below one home; the daemon is a process of its own."""

    def __init__(
        self,
        folder: Path,
        *,
        repos: Mapping[str, Repo | Table] = EMPTY,
        agents: Mapping[str, Agent | Steps | Table],
        env: Mapping[str, str] | None = None,
        home: Path | None = None,
        below: Table = SETTINGS,
        **settings: Any,  # noqa: ANN401 - any key of the configuration
    ) -> None:
        """Write the configuration; the first agent is the default one.

        Args:
            folder: everything of this person lies below it.
            repos: by name, a repository of the tests or the table as it stands in the configuration.
            agents: by name, a program, steps to play, or the table as it stands in the configuration.
            env: what the person's shell exports beside PATH and HOME.
            below: what the settings are laid over; by default what makes a test quick.
            home: where state, logs and configuration lie, if not below the folder.
            settings: top-level keys; a table is laid over the one in `below`.
        """
        folder.mkdir(parents=True, exist_ok=True)
        self.folder = folder
        self.config: dict[str, Any] = {
            **_laid_over(below, settings),
            "default_agent": next(iter(agents)),
            "agents": {name: self._agent(name, given) for name, given in agents.items()},
        }
        if any(map(reaches_out, agents.values())):
            self.config.setdefault("sandbox", OPEN)
        if repos:
            self.config["repo"] = [{"name": name, **_repo(given)} for name, given in repos.items()]
        self.daemon = Daemon(home or folder / "home", config=toml_text(self.config), env=env)
        self.paths = self.daemon.paths
        self.forges: list[Forge] = []

    def _agent(self, name: str, given: Agent | Steps | Table) -> Table:
        if isinstance(given, Agent):
            return {"kind": "command", "argv": [str(given.path)]}
        if isinstance(given, Mapping):
            return given
        script = self.folder / f"{name}.yaml"
        script.write_text(yaml.safe_dump({"rounds": [list(given)]}, allow_unicode=True), encoding="utf-8")
        return {"kind": "scripted", "script": str(script)}

    def changes(self, **settings: Any) -> None:  # noqa: ANN401 - any key of the configuration
        """Edit the configuration; a running daemon notices by itself."""
        self.config = _laid_over(self.config, settings)
        self.paths.config_file.write_text(toml_text(self.config), encoding="utf-8")

    def types(self, *words: str, stdin: str = "", cwd: Path | None = None) -> CompletedProcess[str]:
        """Run one command to its end; whatever it prints, it prints no secret."""
        done = self.daemon.autopilot(*words, cwd=cwd or self.folder, stdin=stdin)
        assert not canary.holds(done.stdout + done.stderr, self.credentials()), f"autopilot {words}"
        return done

    def credentials(self) -> tuple[str, ...]:
        """What is the publisher's alone."""
        return tuple(value for name, value in self.daemon.env.items() if name.startswith(VARIABLE_PREFIX))

    def remotes(self) -> list[Path]:
        """Where the repositories of the configuration lie on this machine."""
        tables = self.config.get("repo", ())
        return [Path(table["path"]) for table in tables if Path(table.get("path", "/nowhere")).is_dir()]

    def went_out(self) -> Iterator[str]:
        """Every text that a forge was given, its git traffic aside, which is in its repositories."""
        for forge in self.forges:
            yield from (f"{seen.path} {seen.body}" for seen in forge.requests() if "/git-" not in seen.path)
        for table in self.config.get("repo", ()):
            yield from (f"{draft.title}\n{draft.body}" for draft in self.drafts(table["name"]))

    def does(self, *words: str, stdin: str = "", cwd: Path | None = None) -> str:
        """Run one command that must end well, and give what it printed."""
        done = self.types(*words, stdin=stdin, cwd=cwd)
        assert done.returncode == 0, f"autopilot {words}: {done.returncode}\n{done.stdout}\n{done.stderr}"
        return done.stdout

    def asks(self, *words: str) -> Any:  # noqa: ANN401 - JSON
        """Run one command that must end well, and give the JSON that it printed."""
        return json.loads(self.does(*words, "--json"))

    def begins(self) -> None:
        """Start the daemon on an empty queue and turn on, without the rehearsal of `on`, a run by itself."""
        template.lay(self.paths.ensure().database)
        self.daemon.start()
        self.turns_on()

    def turns_on(self) -> None:
        """Let runs start from now on, as `on --now` does once it has looked at everything."""
        self.daemon.call("POST", "/v1/switch", on=True, ignore_window=True)

    def adds(self, *words: str, stdin: str = "") -> str:
        """Queue a ticket and give its name."""
        name: str = json.loads(self.does("add", "--json", *words, stdin=stdin))["ticket"]["id"]
        return name

    def ticket(self, name: str) -> dict[str, Any]:
        """The ticket as `show` prints it."""
        shown: dict[str, Any] = self.asks("show", name)["ticket"]
        return shown

    def waits(self, name: str, *states: str) -> dict[str, Any]:
        """Wait until a ticket comes to rest, or to one of these states, and give it."""
        return self.daemon.wait_for_state(name, *(states or LASTING))

    def waits_for_all(self, names: Sequence[str]) -> dict[str, dict[str, Any]]:
        """Wait until every one of these tickets is at rest."""
        return {name: self.waits(name) for name in names}

    def waits_for_hold(self, hold: str, scope: str | None = None) -> dict[str, Any]:
        """Wait until a hold of this name stands, and give it."""

        def standing() -> dict[str, Any]:
            found = [
                one
                for one in self.daemon.call("GET", "/v1/status")["holds"]
                if one["name"] == hold and scope in {None, one["scope"]}
            ]
            return found[0] if found else {}

        what = f"the hold {hold} stands; {self.daemon.said()}"
        return wait_until(standing, PATIENCE_S, what, longest_pause_s=PATIENT_S)

    def drafts(self, repo: str) -> tuple[LocalPullRequest, ...]:
        """The pull requests of a repository at the local forge."""
        return read_records(self.paths.local_forge / repo)

    def run_folders(self, name: str) -> list[Path]:
        """The folders of a ticket's runs, oldest first."""
        return sorted(self.paths.runs.glob(f"{name}-a*"), key=lambda folder: folder.stat().st_mtime_ns)

    def files(self) -> Iterator[Path]:
        """Every file below the home: state, logs, configuration."""
        return (path for path in self.daemon.home.rglob("*") if path.is_file() and not path.is_symlink())

    def goes(self) -> None:
        """Stop the daemon and look whether everything is in order, at `forges` too."""
        if self.daemon.process is not None:
            assert self.daemon.stop() == 0, self.daemon.said()
        if not self.paths.database.exists():
            return
        with closing(self.daemon.store()) as store:
            assert_in_order(
                store,
                is_alive=lambda pid, started_ms: procinfo.is_alive(procinfo.ProcessId(pid, started_ms)),
                live_runs=self.daemon.live_runs(),
                worktrees=self.paths.worktrees,
                pull_request_branches=[*self._local_heads(), *self._other_heads()],
            )

    def _local_heads(self) -> Iterator[str]:
        """Heads at the local forge, each checked against the branch in its remote."""
        for table in self.config.get("repo", ()):
            heads = {one.branch: one.head for one in self.drafts(table["name"])}
            if heads and "path" in table:
                form = "--format=%(refname:short) %(objectname)"
                listed = git(Path(table["path"]), "for-each-ref", form, "refs/heads/autopilot")
                assert dict(line.split() for line in listed.splitlines()) == heads
            yield from (one.branch for one in self.drafts(table["name"]))

    def _other_heads(self) -> Iterator[str]:
        for forge in self.forges:
            for project in forge.repositories.names():
                yield from (pull.head for pull in forge.pulls.all(project))

    def clean_up(self) -> None:
        """Leave no process behind."""
        self.daemon.clean_up()


def _repo(given: Repo | Table) -> Table:
    return {"path": str(given.remote), "base": given.base} if isinstance(given, Repo) else given


def _laid_over(below: Table, above: Table) -> dict[str, Any]:
    joined = dict(below)
    for key, value in above.items():
        under = below.get(key)
        both = isinstance(value, Mapping) and isinstance(under, Mapping)
        joined[key] = _laid_over(under or {}, value) if both else value
    return joined
