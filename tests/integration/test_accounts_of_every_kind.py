"""The account of each kind of agent is asked before the night, and what its own program says is judged."""

from __future__ import annotations

import shlex
from pathlib import Path

import pytest

from autopilot.daemon.checkup import alive
from autopilot.runner.agents.registry import KINDS, kind_of
from autopilot.schemas.checkup import Check
from autopilot.schemas.run import AgentSpec
from tests.support import captures
from tests.support.repo_traps import write_script
from tests.support.scenes import limit, scene

KEY = "made-up-key-of-the-model"
MODELS = {"copilot": "claude-sonnet-4-5", "opencode": "anthropic/claude-sonnet-4-5"}
GOOD, REFUSED, UNKNOWN = "go", "agent-not-authenticated", "agent-model-unknown"
ANSWERS = [
    ("claude", "success", GOOD),
    ("claude", "error-401", REFUSED),
    ("claude", "error-404-model", UNKNOWN),
    ("codex", "first-turn", GOOD),
    ("codex", "error-401", REFUSED),
    ("codex", "no-key", REFUSED),
    ("codex", "usage-limit", "its usage window is used up"),
    ("codex", "quota", "agent-billing"),
    ("copilot", "deeds", GOOD),
    ("copilot", "error-401", REFUSED),
    ("copilot", "unknown-model", UNKNOWN),
    ("gemini", "deeds", GOOD),
    ("gemini", "error-401", REFUSED),
    ("gemini", "error-403", REFUSED),
    ("gemini", "no-key", REFUSED),
    ("gemini", "unknown-model", UNKNOWN),
    ("opencode", "deeds", GOOD),
    ("opencode", "error-401", REFUSED),
    ("opencode", "error-403", REFUSED),
    ("opencode", "unknown-model", UNKNOWN),
]


def asked(folder: Path, kind: str, stream: str) -> tuple[Check, str]:
    """Ask a client that plays a recorded stream; gives the line, and what the client saw."""
    recorded = captures.capture(kind, stream)
    for name, content in (("stdout", recorded.stdout), ("stderr", recorded.stderr.encode())):
        (folder / name).write_bytes(content)
    program, here = folder / kind, shlex.quote(str(folder))
    end = f"kill -{-recorded.exit_code} $$" if recorded.exit_code < 0 else f"exit {recorded.exit_code}"
    write_script(
        program,
        f'#!/bin/sh\nenv > {here}/seen\nfor word; do echo "word $word" >> {here}/seen; done\n'
        f"ls -A >> {here}/seen\ncat > /dev/null\ncat {here}/stderr >&2\ncat {here}/stdout\n{end}\n",
    )
    model = f'model = "{MODELS[kind]}"\n' if kind in MODELS else ""
    config = f'[agents.mine]\nkind = "{kind}"\nargv = ["{program}"]\n{model}'
    keys = kind_of(AgentSpec(name="mine", kind=kind, model=MODELS.get(kind))).keys
    given = {"PATH": "/usr/bin:/bin", "GITHUB_TOKEN": "of-the-person", "AUTOPILOT_SECRET_GH": "of-the-forge"}
    given |= {keys[0]: KEY}
    looked = scene(folder / "home", config, environment=given)
    (line,) = alive.alive(looked.settings.agent("mine"), looked, limit())
    return line, (folder / "seen").read_text(errors="replace")


@pytest.mark.field_report("DMN-001")
@pytest.mark.parametrize(("kind", "stream", "told"), ANSWERS)
def test_what_the_program_of_each_kind_says_is_judged_as_in_a_run(
    tmp_path: Path, kind: str, stream: str, told: str
) -> None:
    line, seen = asked(tmp_path, kind, stream)
    assert line.name == "account of mine"
    if told == GOOD:
        assert (line.verdict, line.cure) == ("go", ""), line
    else:
        assert line.verdict != "go"
        assert line.cure
        assert told in line.evidence, line
    assert not any(word in seen for word in ("of-the-person", "of-the-forge"))
    assert KEY not in line.model_dump_json()


def test_every_kind_that_has_an_account_is_asked_here() -> None:
    assert {kind for kind, _, _ in ANSWERS} == set(KINDS) - {"command", "scripted"}
