"""Every setting: its name with the unit, its bounds, and what it does.

Must not hold a default (they stand in `defaults.toml`) and must not read a file or the environment.
A key that may be left out altogether is None then.
"""

from __future__ import annotations

from decimal import Decimal
from typing import Annotated, Literal

from pydantic import Field

from autopilot.config.agent_settings import Agent
from autopilot.config.cell_settings import Guard, Sandbox
from autopilot.config.channel import Channel
from autopilot.config.checkup_settings import Checkup
from autopilot.config.nearest import nearest
from autopilot.config.outside import Intake, Network
from autopilot.config.repository import Repo
from autopilot.config.tracker import Tracker, TrackerName
from autopilot.config.values import (
    ClockTime,
    DaysOrNever,
    Gibibytes,
    Hours,
    Language,
    Load,
    ModelName,
    Slug,
    TimeZone,
)
from autopilot.schemas.errors import ConfigError
from autopilot.schemas.price import TokenPrice
from autopilot.schemas.records import Input
from autopilot.schemas.run import AgentSpec, Identity, Limits, PaidPhase
from autopilot.schemas.units import micro_usd

_DAY_S = 86_400
_WEEK_S = 7 * _DAY_S

Usd = Annotated[Decimal, Field(gt=0, le=100_000)]
Rate = Annotated[Decimal, Field(ge=0, le=100_000)]
Count = Annotated[int, Field(ge=0, le=10_000)]
Positive = Annotated[int, Field(ge=1, le=10_000)]
Percent = Annotated[int, Field(ge=1, le=100)]
Seconds = Annotated[float, Field(gt=0, le=_WEEK_S)]
Lease = Annotated[float, Field(ge=5, le=3600)]
Tokens = Annotated[int, Field(ge=1, le=10**12)]
ShortSeconds = Annotated[float, Field(gt=0, le=600)]
Pause = Annotated[float, Field(ge=0, le=3600)]
Days = Annotated[int, Field(ge=2, le=36_500)]


class Schedule(Input):
    """When work may start and when the digest is written, in local time."""

    window: Hours = Field(
        description="hours in which runs start, HH:MM-HH:MM; may cross midnight; empty = any"
    )
    timezone: TimeZone = Field(description="name such as Europe/Berlin; empty = the system's")
    digest_at: ClockTime = Field(description="when the morning digest is written, HH:MM")


class Timeouts(Input):
    """How long things may take. Seconds awake: a machine that sleeps uses none up."""

    wall_s: Seconds = Field(description="one run, from start to end")
    silence_s: Seconds = Field(description="an agent without any output")
    no_progress_s: Seconds = Field(description="an agent that changes nothing and gets no new result")
    gate_s: Seconds = Field(description="one command of a gate: set-up, build, tests")
    git_s: Seconds = Field(description="one git command")
    kill_grace_s: ShortSeconds = Field(description="between asking a process to end and killing it")


class Breaker(Input):
    """When launching stops because nothing comes of it."""

    open_after: Positive = Field(description="attempts in a row that produced nothing")
    cooldown_s: Seconds = Field(description="until one probe attempt is let through; doubles each time")
    cooldown_cap_s: Seconds = Field(description="the longest cooldown")


class Daemon(Input):
    """The daemon's own pace."""

    poll_s: ShortSeconds = Field(description="backstop look at the queue; a nudge wakes it at once")
    drain_s: Seconds = Field(description="what running work gets after the first TERM")
    lease_s: Lease = Field(
        description="how long a claim holds after each renewal; a run that hears nothing for 80 % of it ends"
    )


class Logs(Input):
    """The daemon's log files."""

    level: Literal["debug", "info", "warning", "error"] = Field(description="the least that is written")
    max_size_mib: Positive = Field(description="size of one file before the next is begun")
    keep_files: Positive = Field(description="how many files are kept")


class Backup(Input):
    """Copies of the queue, made while it is in use and read back."""

    at: ClockTime = Field(description="when the daily copy is made, HH:MM in the schedule's time zone")
    keep_files: Positive = Field(description="copies kept of each kind: daily, before a migration, by hand")


class Gc(Input):
    """What is cleaned up, and when. Work that is not pushed is saved before anything goes."""

    auto_delete: bool = Field(
        description="the nightly clean-up removes; else it packs mirrors and writes its report"
    )
    keep_days: Positive = Field(description="days that a finished ticket's folders stay")


class Retention(Input):
    """How long what has ended is kept, in days. It is removed in small steps beside the daemon's work."""

    at: ClockTime = Field(description="when the daily clearing begins, HH:MM in the schedule's time zone")
    history_days: Days = Field(description="moves and gate records of an ended ticket, holds that ended")
    ledger_days: Days = Field(description="entries of the money ledger; sums stay with run and ticket")
    logs_days: Days = Field(description="logs and journals of an ended ticket's runs")
    files_days: Days = Field(description="digests, reports, requests to publish and their verdicts")
    tickets_days: DaysOrNever = Field(description="ended tickets themselves, with their runs; 0 = for ever")


class Awake(Input):
    """The lock that keeps the machine from sleeping while a run goes on."""

    enabled: bool = Field(description="hold a sleep lock from on to off, and during each run")
    display: bool = Field(description="keep the display on too; macOS only")
    lid: Literal["never", "on-mains", "always"] = Field(
        description="when what the system does at a shut lid is held off too; logind only"
    )


class Price(Input):
    """What the tokens of a model, by its name in quotes, cost where an agent tells tokens and no cost.

    The shipped ones stand in `prices.toml`.
    """

    input_usd_per_mtok: Rate = Field(description="US dollars for a million tokens that it reads")
    output_usd_per_mtok: Rate = Field(description="the same for tokens that it writes")
    cache_read_usd_per_mtok: Rate = Field(description="the same for tokens read from the vendor's cache")
    cache_write_usd_per_mtok: Rate = Field(description="the same for tokens written to the vendor's cache")

    def of_tokens(self) -> TokenPrice:
        """Give it in integers."""
        return TokenPrice(
            input=micro_usd(self.input_usd_per_mtok),
            output=micro_usd(self.output_usd_per_mtok),
            cache_read=micro_usd(self.cache_read_usd_per_mtok),
            cache_write=micro_usd(self.cache_write_usd_per_mtok),
        )


class PhaseBudgets(Input):
    """Most tokens that a phase of a run may use, those from a cache not counted; the run is parked there."""

    plan_tokens: Tokens = Field(description="the plan")
    dev_tokens: Tokens = Field(description="the work itself, in all its rounds")
    review_tokens: Tokens = Field(description="the review")

    def of_limits(self) -> dict[PaidPhase, int]:
        """Give them by the name of the phase."""
        return {"plan": self.plan_tokens, "dev": self.dev_tokens, "review": self.review_tokens}


class Settings(Input):
    """All settings, after defaults, file, environment and flags were laid over each other."""

    cost_ceiling_usd: Usd = Field(description="US dollars in any 24 hours, all runs together")
    run_ceiling_usd: Usd = Field(description="US dollars for one run; it is stopped there")
    ticket_ceiling_usd: Usd = Field(description="US dollars for all runs of one ticket")
    stop_launching_percent: Percent = Field(
        description="share of cost_ceiling_usd from which nothing new starts"
    )
    max_parallel_agents: Count = Field(description="runs at the same time; 0 = no limit")
    per_repo_parallel: Count = Field(description="of these in one repository; 0 = no limit")
    launch_stagger_s: Pause = Field(description="seconds between two launches")
    max_open_drafts: Count = Field(description="open drafts in one repository; 0 = no limit")
    attempts_per_ticket: Positive = Field(description="attempts before a ticket has failed")
    releases_per_ticket: Positive = Field(
        description="runs given back (shutdown, a limit) before it is parked"
    )
    sessions_per_ticket: Positive = Field(description="runs ever started for one ticket")
    tokens_per_ticket: Tokens = Field(description="tokens that all runs of one ticket may use, cached too")
    max_ask_rounds: Count = Field(description="times an agent may come back with questions")
    backoff_s: Seconds = Field(description="wait before the second attempt; doubles each time")
    backoff_cap_s: Seconds = Field(description="the longest such wait")
    min_free_disk_gib: Gibibytes = Field(description="GiB free where the state lies; below, nothing starts")
    min_free_memory_gib: Gibibytes = Field(description="GiB of memory available; below, nothing starts")
    max_load_per_cpu: Load = Field(description="load of five minutes; above, nothing starts; 0 = no limit")
    output_language: Language = Field(description="language of what is written for people, as en or pt-BR")
    report_channels: tuple[Slug, ...] = Field(
        description="channels, by name, that the digest goes out through; empty = it stays on this machine"
    )
    report_drafts: bool = Field(description="these channels are told of each draft once it is open")
    report_issue_updates: bool = Field(
        description="the issue that a ticket came from gets one comment once its draft is open"
    )
    default_agent: str = Field(min_length=1, description="agent of a repository that names none")
    schedule: Schedule
    timeouts: Timeouts
    breaker: Breaker
    phase_budgets: PhaseBudgets
    identity: Identity
    daemon: Daemon
    logs: Logs
    backup: Backup
    retention: Retention
    awake: Awake
    checkup: Checkup
    gc: Gc
    guard: Guard
    network: Network
    intake: Intake
    sandbox: Sandbox
    agents: dict[Slug, Agent] = Field(description="coding agents by the name that tickets use")
    channels: dict[Slug, Channel] = Field(
        default_factory=dict, description="ways out of this machine for what is told to people"
    )
    prices: dict[ModelName, Price] = Field(
        default_factory=dict, description="what tokens cost, by the model's own name"
    )
    trackers: dict[TrackerName, Tracker] = Field(
        default_factory=dict,
        alias="tracker",
        description="where issues are, beside the forges of repositories",
    )
    repositories: tuple[Repo, ...] = Field(
        default=(), alias="repo", description="the repositories that tickets may name"
    )

    @property
    def repos(self) -> tuple[Repo, ...]:
        """All repositories, in the order of the file."""
        return self.repositories

    def repo(self, name: str) -> Repo:
        """Give the repository of this name.

        Raises:
            ConfigError: there is none; the nearest name is in the hint.
        """
        names = [repo.name for repo in self.repositories]
        if name not in names:
            hint = nearest(name, names) or "add it with `autopilot init` inside the repository"
            raise ConfigError("repo-unknown", f"no repository is called {name!r}", hint=hint)
        return self.repositories[names.index(name)]

    def agent(self, name: str | None = None) -> AgentSpec:
        """Give the agent of this name, or the default one, as a run is told of it.

        Raises:
            ConfigError: there is none; the nearest name is in the hint.
        """
        wanted = self.default_agent if name is None else name
        if wanted not in self.agents:
            hint = nearest(wanted, self.agents) or f"add a table [agents.{wanted}]"
            raise ConfigError("agent-unknown", f"no agent is called {wanted!r}", hint=hint)
        prices = {model: price.of_tokens() for model, price in self.prices.items()}
        return AgentSpec(name=wanted, prices=prices, **self.agents[wanted].model_dump())

    def limits(self) -> Limits:
        """Give where a run is stopped."""
        return Limits(
            run_ceiling_micro_usd=micro_usd(self.run_ceiling_usd),
            wall_s=self.timeouts.wall_s,
            silence_s=self.timeouts.silence_s,
            no_progress_s=self.timeouts.no_progress_s,
            gate_s=self.timeouts.gate_s,
            git_s=self.timeouts.git_s,
            kill_grace_s=self.timeouts.kill_grace_s,
            phase_tokens=self.phase_budgets.of_limits(),
        )
