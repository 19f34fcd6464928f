"""What signs an agent in is nowhere in its cell while it works; with the broker off a search finds it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, Literal

import pytest

from autopilot.schemas.run import Outcome, RunSpec
from tests.escape import searcher
from tests.support.cell_clients import KEY, Client
from tests.support.cell_fixtures import Play, checked_repo
from tests.support.programs import PYTHON_WORD
from tests.support.repos import Repo
from tests.support.runs import Host, run_here
from tests.support.small_net import Pages

pytestmark = [pytest.mark.needs(binary="bwrap", apt="bubblewrap"), pytest.mark.slow, pytest.mark.timeout(300)]
REPORT = "found.json"
# By the agent alone: gates are given no key, and no way out.
SEARCH = (
    '[ -z "$HTTPS_PROXY" ] || '
    f'{PYTHON_WORD} -I search.py {KEY.encode().hex()} "$TMPDIR/{REPORT}" >"$TMPDIR/said" 2>&1\n'
)


def repo_with_a_search(root: Path) -> Repo:
    """Its check looks for the credential, as a test that an agent wrote could."""
    program = Path(searcher.__file__).read_text(encoding="utf-8")
    return checked_repo(root, check=SEARCH, files={"search.py": program})


def report_of(spec: RunSpec) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((spec.run_dir / "tmp" / REPORT).read_text(encoding="utf-8"))
    return found


def found_in(spec: RunSpec) -> set[str]:
    return {place.split(" ", 1)[0] for place in report_of(spec)["found"]}


@pytest.mark.needs(binary="node", apt="nodejs")
@pytest.mark.needs(binary="npm", apt="npm")
def test_a_test_that_searches_all_it_can_does_not_find_the_real_clients_credential(
    real_client: Client, play_real: Play, tmp_path: Path
) -> None:
    repo = repo_with_a_search(tmp_path / "curious")
    spec, result = play_real(repo, real_client.shell("sh check.sh"))
    report = report_of(spec)
    assert report["found"] == []
    assert min(report["looked"][kind] for kind in ("environ", "cmdline", "file", "socket")) > 0
    assert result.usage.turns > 0  # it was answered, so it was signed in


@pytest.mark.needs(binary="node", apt="nodejs")
@pytest.mark.needs(binary="npm", apt="npm")
def test_the_same_search_finds_it_where_the_broker_is_off(
    real_client: Client, play_real: Play, tmp_path: Path
) -> None:
    """The control: a search that finds nothing anywhere proves nothing."""
    repo = repo_with_a_search(tmp_path / "curious")
    spec, _ = play_real(repo, real_client.shell("sh check.sh"), broker="off")
    found = found_in(spec)
    assert "environ" in found
    assert "memory" in found or "memory" not in report_of(spec)["looked"]


@pytest.mark.parametrize("broker", ["auto", "off"])
def test_a_program_of_ones_own_is_kept_without_its_key_where_its_variables_are_named(
    host: Host, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, broker: Literal["auto", "off"]
) -> None:
    monkeypatch.setenv("MY_KEY", KEY)
    repo = repo_with_a_search(tmp_path / "curious")
    steps: list[dict[str, object]] = [
        {"run": ["sh", "-c", "sh check.sh; exit 0"]},
        {"write": {"path": "answer.txt", "text": "right\n"}},
    ]
    with Pages() as service:
        agent = host.agent(steps).model_copy(
            update={
                "api": (service.url,),
                "base_url_env": "MY_SERVICE",
                "key_env": "MY_KEY",
                "broker": broker,
            }
        )
        spec = host.spec(repo, agent)
        assert run_here(spec).outcome is Outcome.COMMITTED
    assert ("environ" in found_in(spec)) is (broker == "off")
    assert (report_of(spec)["found"] == []) is (broker == "auto")
