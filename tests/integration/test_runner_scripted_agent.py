"""The scripted agent as the product starts it: a process of its own, in the worktree."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
import yaml

from autopilot.config import proc
from autopilot.config.clock import SystemClock
from autopilot.runner.agents.adapter import AgentReport, Ending, Order
from autopilot.runner.agents.events import AgentEvent, Asked, Spent, Spoke, UsedTool
from autopilot.runner.agents.scripted import ScriptedAgent
from autopilot.schemas.errors import ConfigError
from autopilot.schemas.run import AgentSpec, Outcome
from tests.support.orders import make_order
from tests.support.wait import wait_until

ENVIRONMENT = {"PATH": "/usr/local/bin:/usr/bin:/bin", "LANG": "C.UTF-8"}


class Stage:
    """Writes scripts and plays rounds of them."""

    def __init__(self, folder: Path) -> None:
        self.script = folder / "script.yaml"
        self.worktree = folder / "worktree"
        self.worktree.mkdir()
        self.output = folder / "agent.log"
        self.events: list[AgentEvent] = []
        self.exit: proc.Exit | None = None

    def play(
        self,
        script: object,
        *,
        round_no: int = 1,
        attempt: int = 1,
        answers: tuple[str, ...] = (),
        **options: Any,  # noqa: ANN401 - what proc.run takes
    ) -> AgentReport:
        self.script.write_text(script if isinstance(script, str) else yaml.safe_dump(script))
        agent = ScriptedAgent()
        spec = AgentSpec(name="demo", kind="scripted", script=self.script)
        order = Order(
            agent=spec,
            prompt=self.worktree.parent / "prompt.md",
            private=self.worktree.parent / "agent",
            worktree=self.worktree,
            round_no=round_no,
            attempt=attempt,
            answers=answers,
        )
        launch = agent.launch(order)
        self.events = []

        def hear(chunk: bytes) -> None:
            self.events.extend(agent.feed(chunk))

        self.exit = proc.run(
            launch.argv,
            cwd=self.worktree,
            env={**ENVIRONMENT, **launch.extra},
            output=self.output,
            stderr=self.output.with_suffix(".stderr"),
            clock=SystemClock(),
            on_output=hear,
            **{"wall_s": 30, "grace_s": 0.2, **options},
        )
        return agent.finish(Ending(self.exit.code, self.exit.signal, self.exit.stderr_tail.decode()))

    def text(self, name: str) -> str:
        return (self.worktree / name).read_text()


@pytest.fixture
def stage(tmp_path: Path) -> Stage:
    return Stage(tmp_path)


def one_round(*steps: Mapping[str, object]) -> dict[str, object]:
    return {"rounds": [list(steps)]}


def test_a_round_edits_speaks_spends_and_ends_well(stage: Stage) -> None:
    (stage.worktree / "old.txt").write_text("one two")
    (stage.worktree / "gone.txt").write_text("")
    report = stage.play(
        one_round(
            {"say": "I start."},
            {"write": {"path": "deep/new file.txt", "text": "äöü\n"}},
            {"append": {"path": "deep/new file.txt", "text": "more\n"}},
            {"replace": {"path": "old.txt", "old": "two", "new": "three"}},
            {"delete": "gone.txt"},
            {"move": {"from": "old.txt", "to": "x -> y"}},
            {"run": ["sh", "-c", "pwd > where"]},
            {"spend": {"usd": 0.02, "input_tokens": 900, "output_tokens": 80}},
            {"spend": {"usd": 0.01, "input_tokens": 1}},
            {"say": "Done."},
        )
    )
    assert report.outcome is None
    assert stage.text("deep/new file.txt") == "äöü\nmore\n"
    assert stage.text("x -> y") == "one three"
    assert not (stage.worktree / "gone.txt").exists()
    assert Path(stage.text("where").strip()) == stage.worktree.resolve()
    assert report.final_text == "Done."
    assert (report.usage.cost_micro_usd, report.usage.known) == (30_000, True)
    assert (report.usage.input_tokens, report.usage.output_tokens) == (901, 80)
    assert [event for event in stage.events if isinstance(event, Spoke)] == [
        Spoke("I start."),
        Spoke("Done."),
    ]
    assert Spent(20_000, 900, 80) in stage.events
    assert UsedTool("replace") in stage.events


def test_a_round_that_spends_nothing_costs_nothing_and_a_hidden_cost_is_unknown(stage: Stage) -> None:
    assert stage.play(one_round({"say": "hi"})).usage.known
    assert not stage.play(one_round({"hide_cost": True}, {"spend": {"usd": 1}})).usage.known


@pytest.mark.parametrize(
    ("attempt", "round_no", "said"),
    [(1, 1, "a1r1"), (1, 2, "a1r2"), (1, 3, "a1r2"), (2, 1, "a2r1"), (5, 9, "a2r1")],
)
def test_each_attempt_and_round_has_its_own_steps(
    stage: Stage, attempt: int, round_no: int, said: str
) -> None:
    script = {
        "attempts": [
            {"rounds": [[{"say": "a1r1"}], [{"say": "a1r2"}]]},
            {"rounds": [[{"say": "a2r1"}]]},
        ]
    }
    assert stage.play(script, attempt=attempt, round_no=round_no).final_text == said


def test_a_question_ends_the_round_until_it_is_answered(stage: Stage) -> None:
    script = one_round({"ask": "Which?"}, {"write": {"path": "a.txt", "text": "$ANSWER"}}, {"ask": "And?"})
    first = stage.play(script)
    assert first.questions == ("Which?",)
    assert Asked("Which?") in stage.events
    assert not (stage.worktree / "a.txt").exists()
    second = stage.play(script, answers=("this one",))
    assert second.questions == ("And?",)
    assert stage.text("a.txt") == "this one"
    assert stage.play(script, answers=("this one", "that")).questions == ()


def test_a_lie_claims_success_and_changes_nothing(stage: Stage) -> None:
    report = stage.play(one_round({"lie": "All tests pass."}))
    assert (report.outcome, report.final_text) == (None, "All tests pass.")
    assert list(stage.worktree.iterdir()) == []


@pytest.mark.parametrize(
    ("step", "code"),
    [({"exit": 3}, "agent-failed"), ({"die": "SIGKILL"}, "agent-failed"), ({"exit": 0}, "agent-finished")],
)
def test_it_ends_with_the_code_or_the_signal_asked_for(
    stage: Stage, step: dict[str, object], code: str
) -> None:
    assert stage.play(one_round({"say": "x"}, step)).code == code


def test_it_hangs_and_ignores_term_until_it_is_killed(stage: Stage) -> None:
    script = one_round({"ignore_term": True}, {"say": "deaf"}, {"hang": True})
    stage.play(script, should_stop=lambda: "heard" if stage.events else None)
    assert stage.exit is not None
    assert (stage.exit.stopped, stage.exit.signal) == ("heard", 9)


@pytest.mark.field_report("AGT-010")
def test_a_grandchild_in_a_session_of_its_own_does_not_outlive_the_round(stage: Stage) -> None:
    tick = stage.worktree / "tick"
    step = {"spawn_grandchild": {"seconds": 60, "tick": "tick"}}
    stage.play(one_round(step, {"wait_for_file": "tick"}))
    size = tick.stat().st_size
    looks = iter(range(100))
    wait_until(lambda: next(looks) == 25, 30, "five times the grandchild's pace has gone by")
    assert tick.stat().st_size == size


@pytest.mark.field_report("AGT-012")
def test_a_flood_in_one_line_is_passed_over(stage: Stage) -> None:
    report = stage.play(one_round({"flood": {"bytes": 30_000_000}}, {"spend": {"usd": 0.5}}))
    assert report.outcome is None
    assert report.usage.cost_micro_usd == 500_000


def test_raw_lines_and_bytes_come_out_as_they_are(stage: Stage) -> None:
    stage.play(one_round({"print": "{not json"}, {"bytes": "ff fe 0a"}))
    assert stage.output.read_bytes().startswith(b"{not json\n\xff\xfe\n")


def test_it_commits_by_itself_with_the_identity_it_finds(stage: Stage) -> None:
    (stage.worktree / ".gitconfig").write_text("[user]\nname = A\nemail = a@b.c\n[safe]\ndirectory = *\n")
    stage.play(
        one_round(
            {"run": ["sh", "-c", "git init -q . && git config user.name A && git config user.email a@b.c"]},
            {"commit": {"message": "first"}},
            {"write": {"path": "b", "text": "b"}},
            {"commit": {"message": "second", "detach": True}},
            {"run": ["sh", "-c", "git log --format=%s > log; git symbolic-ref -q HEAD; echo $? > attached"]},
        )
    )
    assert stage.text("log").split() == ["second", "first"]
    assert stage.text("attached").strip() == "1"


@pytest.mark.parametrize(
    ("script", "said"),
    [
        ("rounds: [[{fly: true}]]", "no action 'fly'"),
        ("rounds: [[{replace: {path: a, old: b, new: c}}]]", "step 1 (replace)"),
        ("rounds: [[{say: a, exit: 1}]]", "one key"),
        ("rounds: []", "it needs rounds"),
        ("just text", "it needs rounds"),
        ("rounds: [5]", "no list of steps"),
        ("rounds: [[", "script.yaml"),
        ("rounds: [[{write: {text: x}}]]", "step 1 (write): KeyError"),
    ],
)
def test_a_wrong_script_is_refused_by_name_and_step(stage: Stage, script: str, said: str) -> None:
    report = stage.play(script)
    assert report.outcome is Outcome.AGENT_FAILED
    assert said in report.message


def test_a_missing_script_is_a_configuration_error(tmp_path: Path) -> None:
    spec = AgentSpec(name="demo", kind="scripted", script=tmp_path / "none.yaml")
    with pytest.raises(ConfigError, match="no script"):
        ScriptedAgent().launch(make_order(spec, tmp_path))


def test_a_module_of_the_worktree_does_not_run_inside_the_player(stage: Stage) -> None:
    for name in ("yaml.py", "json.py", "argparse.py", "autopilot.py"):
        (stage.worktree / name).write_text("open('hijacked', 'w')\n")
    stage.play(one_round({"say": json.dumps("safe")}))
    assert not (stage.worktree / "hijacked").exists()
