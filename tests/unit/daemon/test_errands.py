"""A publisher that is sent somewhere has what signs us in there in its environment, and no other secret."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from autopilot.daemon import children, inquiry
from autopilot.daemon.delivery import child
from autopilot.daemon.errand import Errand
from autopilot.daemon.supervisor import Launch
from autopilot.schemas.delivery import ChannelSpec, DeliverySpec, IssueTarget
from autopilot.schemas.publication import ForgeSpec, PullStateSpec
from autopilot.schemas.tracking import TrackerSpec
from tests.support.shop import Stage

SECRETS = {
    f"AUTOPILOT_SECRET_{name}": f"only-for-{name}" for name in ("FORGE_OF_A", "FORGE_OF_B", "HOOK", "ISSUES")
}
FORGE = ForgeSpec(kind="github", push_url="git@forge.example:a/b", credential="forge-of-a")
PATH_ONLY = ForgeSpec(kind="local", push_url="/srv/a.git")
TRACKER = TrackerSpec(kind="jira", name="jira", url="https://jira.example", credential="issues")
HOOK = ChannelSpec(name="team", kind="webhook", credential="hook")
PROGRAM = ChannelSpec(name="desk", kind="command", argv=("/bin/true",))


@pytest.fixture(autouse=True)
def person(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in {**SECRETS, "SSH_AUTH_SOCK": "/keys"}.items():
        monkeypatch.setenv(name, value)


def held(env: dict[str, str]) -> set[str]:
    return {name for name in env if name.startswith("AUTOPILOT_SECRET_") or name == "SSH_AUTH_SOCK"}


@pytest.mark.covers("A15")
@pytest.mark.parametrize(
    ("errand", "given"),
    [
        (Errand.to_forge(FORGE), {"AUTOPILOT_SECRET_FORGE_OF_A", "SSH_AUTH_SOCK"}),
        (Errand.to_forge(PATH_ONLY), {"SSH_AUTH_SOCK"}),
        (Errand.to_tracker(TRACKER), {"AUTOPILOT_SECRET_ISSUES"}),
        (Errand.to_channel(HOOK), {"AUTOPILOT_SECRET_HOOK"}),
        (Errand.to_channel(PROGRAM), set()),
    ],
)
def test_a_publisher_is_lent_what_its_errand_needs_and_nothing_else(errand: Errand, given: set[str]) -> None:
    env = children.publisher_environment("mark", errand)
    assert held(env) == given
    assert not {value for name, value in SECRETS.items() if name not in given} & set(env.values())


def asks(stage: Stage, folder: Path) -> Launch:
    question = PullStateSpec(
        id="q",
        pulls=(),
        report=folder / "told.json",
        workdir=folder,
        forge=FORGE,
        wall_s=9,
        created_ms=1,
    )
    return inquiry.launch(stage.shop, "a", "q", question)


def told(to: ChannelSpec | IssueTarget) -> Callable[[Stage, Path], Launch]:
    def launched(_: Stage, folder: Path) -> Launch:
        spec = DeliverySpec(
            id="d",
            report=folder / "told.json",
            workdir=folder,
            mark=folder / "mark",
            to=to,
            text="x",
            roots=(),
            created_ms=1,
        )
        return child.launch("d", spec, folder / "spec.json")

    return launched


@pytest.mark.parametrize(
    ("launched", "given"),
    [
        (asks, {"AUTOPILOT_SECRET_FORGE_OF_A", "SSH_AUTH_SOCK"}),
        (told(HOOK), {"AUTOPILOT_SECRET_HOOK"}),
        (told(PROGRAM), set()),
        (
            told(IssueTarget(tracker=TRACKER, reference="P-1", known_by="a-mark-of-ours")),
            {"AUTOPILOT_SECRET_ISSUES"},
        ),
    ],
)
def test_a_publisher_beside_the_tickets_is_started_with_that_alone(
    launched: Callable[[Stage, Path], Launch], given: set[str], tmp_path: Path
) -> None:
    stage = Stage(tmp_path)
    assert held(dict(launched(stage, tmp_path).env)) == given
    stage.store.close()
