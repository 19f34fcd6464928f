"""Phase 2, Dev: agent, commit, gates, and what is red goes back to the agent, at most a few rounds.

Must not let the agent say that it is done: the gates say so, over the commit.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from autopilot.config.plain import one_line
from autopilot.runner.agents.adapter import Order
from autopilot.runner.allowed import allowed_commands, test_command
from autopilot.runner.failure import RunFailure
from autopilot.runner.gates.run import feedback
from autopilot.runner.message import without_places
from autopilot.runner.phases import commit
from autopilot.runner.phases.checking import check
from autopilot.runner.prompt import Situation, write_prompt
from autopilot.runner.sentry import sentry
from autopilot.runner.session import over_budget, over_ceiling, play
from autopilot.runner.untrusted import new_nonce
from autopilot.runner.worktree import check_place
from autopilot.schemas.gate import ungreen
from autopilot.schemas.run import Outcome

if TYPE_CHECKING:
    from pathlib import Path

    from autopilot.runner.phases.commit import Taken
    from autopilot.runner.phases.init import Ready
    from autopilot.runner.sentry import Sentry
    from autopilot.runner.shop import Shop
    from autopilot.schemas.run import Baseline

_MAX_REASON_CHARS = 200
_UNCHANGED = "Nothing was changed since the last round, so the checks are as red as they were.\n\n"


def develop(shop: Shop, ready: Ready, baseline: Baseline) -> int:
    """Work until the gates are green over a commit; the notebook has it then.

    Returns:
        How many rounds it took.

    Raises:
        RunFailure: it was not to be: no changes, a question, red gates, a limit, a failing agent.
        AutopilotError, OSError: something of ours could not be done.
    """
    with sentry(shop, ready) as guard:
        return _rounds(shop, ready, baseline, guard)


def _rounds(shop: Shop, ready: Ready, baseline: Baseline, guard: Sentry | None) -> int:
    red, last_tree = "", ""
    taken: Taken | None = None
    for round_no in range(1, shop.spec.limits.rounds + 1):
        _agent(shop, ready, baseline, guard, round_no=round_no, red=red)
        taken = commit.take(shop, ready, summary=shop.notebook.final_text)
        if taken.problems:
            red, last_tree = "\n".join(taken.problems), ""
        elif taken.head is None:
            raise _no_changes(shop)
        elif taken.tree == last_tree:
            # A test that turns green without a change is a flaky one: it does not get a second chance.
            red = red if red.startswith(_UNCHANGED) else _UNCHANGED + red
        else:
            last_tree = taken.tree
            shop.notebook.gates = check(shop, ready, head=taken.head, round_no=round_no)
            if not ungreen(shop.notebook.gates, head=taken.head):
                return round_no
            red = feedback(shop.notebook.gates)
    raise _still_red(shop, taken)


def _agent(
    shop: Shop, ready: Ready, baseline: Baseline, guard: Sentry | None, *, round_no: int, red: str
) -> None:
    """Let the agent work for one round.

    Raises:
        RunFailure: the agent failed, was stopped, or asks something.
        CeilingError: the run has spent what it may.
    """
    shop.go_on()
    if shop.notebook.meter.is_over:
        raise over_ceiling(shop.notebook.meter)
    if shop.notebook.tokens("dev").is_over:
        raise over_budget(shop, "dev")
    check_place(ready.workspace)
    spec = shop.spec
    report = play(
        shop,
        Order(
            agent=spec.agent,
            prompt=_prompt(shop, ready, baseline, round_no=round_no, red=red),
            private=spec.run_dir / "agent",
            worktree=spec.worktree,
            is_confined=shop.sandbox.kind != "none",
            round_no=round_no,
            phase="dev",
            attempt=spec.attempt,
            answers=tuple(each.answer for each in spec.exchanges if each.answer is not None),
            left_micro_usd=shop.notebook.meter.left_micro_usd,
            allowed_commands=allowed_commands(ready.policy, ready.stack.name, spec.guard.read_only_programs),
            allowed_tools=spec.guard.allow_tools,
        ),
        ready.workspace,
        guard,
    )
    shop.notebook.final_text = without_places(spec, report.final_text)
    if report.questions:
        what = f"the agent asks: {report.questions[0]}"
        raise RunFailure(Outcome.ASKED, "asked", what, hint=f"autopilot answer {spec.ticket_id}")


def _prompt(shop: Shop, ready: Ready, baseline: Baseline, *, round_no: int, red: str) -> Path:
    base = shop.notebook.base
    situation = Situation(
        base=base.name if base else "",
        test_command=test_command(ready.policy, ready.stack.name, ready.base),
        baseline=baseline,
        round_no=round_no,
        feedback=red,
        earlier=ready.earlier.told() if ready.earlier and round_no == 1 else None,
    )
    prompt = write_prompt(shop.spec, situation, nonce=new_nonce())
    if prompt.unseen:
        shop.notebook.warn(
            [f"{prompt.unseen} parts of the ticket's text are hidden from readers of its page"]
        )
    if prompt.escaped:
        shop.notebook.warn([f"{prompt.escaped} hidden characters or tags in the ticket were made visible"])
    path = shop.spec.run_dir / f"prompt-{round_no}.md"
    path.write_bytes(prompt.text.encode("utf-8", "backslashreplace"))
    return path


def _no_changes(shop: Shop) -> RunFailure:
    """Say that the agent came to its end and its folder is as it was.

    Raises:
        TransientError: it had no room to change anything.
    """
    shop.notebook.head = None
    shop.require_room("the agent changed nothing")
    denials = shop.notebook.denials
    if denials:
        what = "the agent changed nothing: tools that it wanted were refused"
        hint = f"refused: {', '.join(denials[:3])}; allow them for the agent, or word the ticket differently"
        return RunFailure(Outcome.NO_CHANGES, "no-changes-tools-refused", what, hint=hint)
    what = "the agent came to its end and changed nothing"
    hint = "queue it again, saying what is to be different afterwards, and cancel this one"
    return RunFailure(Outcome.NO_CHANGES, "no-changes", what, hint=hint)


def _still_red(shop: Shop, taken: Taken | None) -> RunFailure:
    if taken is None or taken.problems:
        what = taken.problems[0] if taken else "no round was allowed"
        return RunFailure(Outcome.AGENT_FAILED, "not-committable", what, hint="the worktree is kept as it is")
    gates = shop.notebook.gates
    names = ungreen(gates, head=gates[-1].head)
    what = f"after {shop.spec.limits.rounds} rounds still not green: {', '.join(names)}"
    reason = next((gate.reason.strip() for gate in gates if gate.gate in names and gate.reason.strip()), "")
    if reason:
        what += (
            f" ({one_line(without_places(shop.spec, reason.splitlines()[0]), max_chars=_MAX_REASON_CHARS)})"
        )
    hint = "the worktree and the gates' logs are kept; look, then resume or cancel"
    return RunFailure(Outcome.GATES_FAILED, "gates-failed", what, hint=hint)
