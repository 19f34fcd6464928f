"""Whether an agent's account answers: its own program is asked for one word, in an empty folder.

It costs a fraction of a cent, so a good answer is remembered. Accounts are asked one after the other: two
programs that renew one login at the same time log each other out. Must not give it anything to read or do,
nor the key itself where a run would not: it is asked through the key broker, too.
"""

from __future__ import annotations

import tempfile
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from autopilot.config import proc
from autopilot.config.environ import agent_environment, secrets_among
from autopilot.config.plain import plain
from autopilot.daemon.checkup import remembered, signin
from autopilot.daemon.checkup.check import blocked, ok, warning
from autopilot.runner.agents.adapter import Ending, Order
from autopilot.runner.agents.belongings import lay_out
from autopilot.runner.agents.events import Hopeless
from autopilot.runner.agents.registry import kind_of, new_agent, withheld_variables
from autopilot.runner.failure import RunFailure
from autopilot.runner.locks import held
from autopilot.runner.way_of_agent import way_of_question
from autopilot.schemas.run import CONTENTION_CODES, Outcome
from autopilot.schemas.units import format_usd, iso_utc

if TYPE_CHECKING:
    from collections.abc import Iterator
    from contextlib import AbstractContextManager

    from autopilot.daemon.checkup.probe import Limit
    from autopilot.daemon.checkup.scene import Scene
    from autopilot.runner.agents.adapter import Agent, AgentReport, Launch
    from autopilot.runner.way_out import WayOut
    from autopilot.schemas.checkup import Check
    from autopilot.schemas.run import AgentSpec

_PROMPT = "Answer with the single word OK. Use no tool.\n"
_MOST_MICRO_USD = 50_000


def alive(spec: AgentSpec, scene: Scene, limit: Limit) -> Iterator[Check]:
    """Ask the account of one agent; of one whose sign-in we cannot know there is nothing to say."""
    if not signin.present(spec, scene.runner.environment):
        return
    account = signin.fingerprint(spec, scene.runner.environment)
    name = f"account of {spec.name}"
    about = f"{account} {' '.join(spec.argv)} {spec.model or ''}"
    if known := remembered.recall(scene, name, about=about):
        yield from known
        return
    try:
        with held(remembered.place(scene) / "account.lock", timeout_s=limit.left_s, clock=scene.clock):
            report = _asked(spec, scene, limit)
    except RunFailure as busy:
        if busy.code not in CONTENTION_CODES:
            raise
        yield warning(name, "not asked: another account took too long", "ask again: autopilot doctor")
        return
    found = judged(name, report) if not isinstance(report, str) else blocked(name, report, "ask again")
    yield from remembered.keep(scene, name, (found,), about=about)


def judged(name: str, report: AgentReport) -> Check:
    """Say what the answer means for the night."""
    cost = format_usd(report.usage.cost_micro_usd) if report.usage.known else "an unknown cost"
    match report.outcome:
        case None | Outcome.OVER_CEILING:
            return ok(name, f"it answers, for {cost}")
        case Outcome.USAGE_LIMIT:
            until = f" until {iso_utc(report.resets_ms)}" if report.resets_ms is not None else ""
            return warning(name, f"its usage window is used up{until}", "nothing to do: it opens by itself")
        case Outcome.AGENT_FAILED if report.code == "agent-rate-limited":
            return warning(name, f"{report.message} [{report.code}]", "ask again a little later")
        case _:
            return blocked(name, f"{report.message} [{report.code}]", report.hint or "ask again")


def _asked(spec: AgentSpec, scene: Scene, limit: Limit) -> AgentReport | str:
    """Start its program as a run would, and hear it out; a text says why there is no answer."""
    agent = new_agent(spec)
    with tempfile.TemporaryDirectory(prefix="autopilot-account-") as name:
        folder = Path(name)
        for each in ("home", "empty", "tmp"):
            (folder / each).mkdir(mode=0o700)
        prompt = folder / "prompt"
        prompt.write_text(_PROMPT, encoding="utf-8")
        order = Order(
            agent=spec,
            prompt=prompt,
            private=folder / "private",
            worktree=folder / "empty",
            round_no=1,
            left_micro_usd=_MOST_MICRO_USD,
        )
        with _way(spec, scene, folder) as way:
            launch = agent.launch(replace(order, broker=way.broker))
            launch = replace(launch, argv=(*launch.argv, *kind_of(spec).brief))
            lay_out(launch, folder / "private")
            known = secrets_among(launch.passes, scene.runner.environment)
            env = {**way.covered(_environment(launch, spec, folder, scene)), **way.environment()}
            ended = proc.run(
                way.argv(launch.argv),
                cwd=folder / "empty",
                env=env,
                output=folder / "answer.log",
                stderr=folder / "answer.stderr.log",
                stdin=launch.stdin,
                clock=scene.clock,
                wall_s=limit.left_s,
                grace_s=1.0,
                on_output=partial(_heard, agent),
                should_stop=limit.should_stop,
                secrets=(*known, *secrets_among(launch.passes, env)),
            )
        if ended.spawn_error:
            return ended.spawn_error
        if ended.stopped in {"wall", "it took too long"}:
            return f"it did not answer in time ({ended.stopped})"
        return agent.finish(Ending(ended.code, ended.signal, plain(ended.stderr_tail)))


def _way(spec: AgentSpec, scene: Scene, folder: Path) -> AbstractContextManager[WayOut]:
    """Open the key broker where a run would have one: then the client is given no key here either."""
    asked = spec if scene.settings.sandbox.kind != "none" else spec.model_copy(update={"broker": "off"})
    network, environment = scene.settings.network.spec(), scene.runner.environment
    return way_of_question(asked, network, environment, folder / "outlet.sock")


def _heard(agent: Agent, chunk: bytes) -> str | None:
    """Take in what it said; one that cannot succeed is stopped at once."""
    hopeless = (event for event in agent.feed(chunk) if isinstance(event, Hopeless))
    return next((event.code for event in hopeless), None)


def _environment(launch: Launch, spec: AgentSpec, folder: Path, scene: Scene) -> dict[str, str]:
    extra = {"TMPDIR": str(folder / "tmp"), **launch.extra}
    own = frozenset(launch.passes) - withheld_variables(spec)
    return agent_environment(scene.runner.environment, home=folder / "home", own=sorted(own), extra=extra)
