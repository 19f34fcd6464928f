"""What became of a pull request is asked over GitHub's protocol; what is not certain is unknown."""

import json
from collections.abc import Mapping
from pathlib import Path

import pytest

from autopilot.config.secrets import variable_for
from tests.support.fixtures import MakeForge
from tests.support.forge import faults
from tests.support.forge.faults import Fault
from tests.support.forge.server import Forge
from tests.support.forge.state import Pull
from tests.support.publication import BRANCH, CREDENTIAL
from tests.support.pull_states import Answers, Question, ask_here, finish_asking, start_asking
from tests.support.repos import commit_files

REPO = "o/r"
OTHER = "autopilot/t-4-other"
ONE = r"GET /repos/o/r/pulls/1$"
NO_KEYRING = "keyring.backends.null.Keyring"


@pytest.fixture
def forge(make_forge: MakeForge) -> Forge:
    made = make_forge(REPO)
    for number, branch in ((1, BRANCH), (2, OTHER)):
        sha = commit_files(made.repositories.existing(REPO), branch, {branch: "x"})
        made.pulls.put(Pull(REPO, number, "T", "B", head=branch, base="main", draft=True, sha=sha))
    return made


def question(forge: Forge, root: Path, changed: Mapping[str, object] | None = None, **place: str) -> Question:
    where = {
        "kind": "github",
        "push_url": forge.git_url(REPO),
        "api_url": forge.api_url,
        "project": REPO,
        "credential": CREDENTIAL,
        **place,
    }
    return Question(root, where, {"P-1": (1, BRANCH), "P-2": (2, OTHER)}, changed or {})


def ask(forge: Forge, root: Path, changed: Mapping[str, object] | None = None, **place: str) -> Answers:
    return ask_here(question(forge, root, changed, **place), {variable_for(CREDENTIAL): forge.token})


@pytest.mark.field_report("PUB-014")
def test_open_merged_and_closed_are_told_apart_and_nothing_is_changed(forge: Forge, tmp_path: Path) -> None:
    assert ask(forge, tmp_path) == {"P-1": ("open", ""), "P-2": ("open", "")}
    forge.merge(REPO, 1)
    forge.close_pull(REPO, 2)
    assert ask(forge, tmp_path) == {"P-1": ("merged", ""), "P-2": ("closed", "")}
    assert {seen.method for seen in forge.requests()} == {"GET"}


def test_a_pull_request_of_another_branch_under_that_number_tells_nothing(
    forge: Forge, tmp_path: Path
) -> None:
    forge.pulls.put(Pull(REPO, 1, "T", "B", head="feature", base="main", draft=False, sha="a" * 40))
    forge.merge(REPO, 2)
    assert ask(forge, tmp_path) == {"P-1": ("unknown", "another-pull-request"), "P-2": ("merged", "")}


@pytest.mark.parametrize(
    ("fault", "code"),
    [
        (faults.server_error(ONE), "forge-unavailable"),
        (faults.dropped(ONE), "forge-unavailable"),
        (faults.not_json(ONE), "forge-answer-unreadable"),
        (faults.rate_limited(ONE), "forge-rate-limit"),
        (faults.secondary_rate_limited(ONE, status=429), "forge-rate-limit"),
        (faults.bad_credentials(ONE), "forge-refused-credential"),
        (faults.forbidden(ONE), "forge-refused-credential"),
        (Fault(ONE, 404, {"message": "Not Found"}), "forge-not-found"),
        (Fault(ONE, 301, {}, {"Location": "/elsewhere"}), "forge-moved"),
        (Fault(ONE, 300, {}), "forge-moved"),
        (Fault(ONE, 200, {"number": 1, "state": "merged"}), "forge-answer-unreadable"),
    ],
)
def test_whatever_is_no_answer_is_unknown_and_the_other_one_is_answered(
    forge: Forge, tmp_path: Path, fault: Fault, code: str
) -> None:
    forge.merge(REPO, 2)
    forge.fail_next(fault)
    assert ask(forge, tmp_path) == {"P-1": ("unknown", code), "P-2": ("merged", "")}


def test_a_forge_that_takes_too_long_leaves_all_unknown_within_the_time_it_had(
    forge: Forge, tmp_path: Path
) -> None:
    forge.fail_next(faults.slow(ONE, delay_s=60))
    forge.merge(REPO, 2)
    answers = ask(forge, tmp_path, {"wall_s": 0.5})
    assert answers == {"P-1": ("unknown", "forge-too-slow"), "P-2": ("unknown", "out-of-time")}


@pytest.mark.parametrize(
    ("token", "code"), [(None, "credential-missing"), ("two words", "credential-malformed")]
)
def test_without_a_readable_credential_the_forge_is_not_even_asked(
    forge: Forge, tmp_path: Path, token: str | None, code: str
) -> None:
    given = {variable_for(CREDENTIAL): token} if token else {}
    asking = start_asking(question(forge, tmp_path), PYTHON_KEYRING_BACKEND=NO_KEYRING, **given)
    assert finish_asking(asking) == (0, "")
    answers = question(forge, tmp_path).report().answers
    assert [(each.state, each.code) for each in answers] == [("unknown", code)] * 2
    assert forge.arrivals() == []


@pytest.mark.covers("C05")
def test_the_token_is_in_no_file_and_in_no_word_of_the_process(forge: Forge, tmp_path: Path) -> None:
    forge.fail_next(Fault(ONE, 403, {"message": f"not with {forge.token}"}))
    asked = question(forge, tmp_path)
    code, said = finish_asking(start_asking(asked, **{variable_for(CREDENTIAL): forge.token}))
    assert (code, said) == (0, "")
    told = json.loads(asked.report_file.read_text())
    assert told["answers"][0]["message"].endswith("not with [token]")
    for path in (path for path in tmp_path.rglob("*") if path.is_file()):
        assert forge.token.encode() not in path.read_bytes(), path
    assert not [seen for seen in forge.requests() if forge.token in f"{seen.path}{seen.query}"]
    assert asked.leftovers() == [".lock"]
