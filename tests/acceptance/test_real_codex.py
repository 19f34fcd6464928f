"""Real Codex, a scripted model on loopback, and the whole path from the queue to the draft."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.acceptance.conftest import MakePerson
from tests.support.claude_cli import client_environment
from tests.support.codex_cli import KEY_VARIABLE, MODEL, client_argv
from tests.support.fixtures import MakeModel
from tests.support.gitcmd import git
from tests.support.scenarios import library
from tests.support.small_project import small_project, small_repo

pytestmark = [
    pytest.mark.slow,
    pytest.mark.needs(binary="node", apt="nodejs"),
    pytest.mark.needs(binary="npm", apt="npm"),
    pytest.mark.timeout(300),
]


def test_the_real_client_mends_the_file_and_the_morning_finds_a_draft_with_its_cost(
    tmp_path: Path, make_person: MakePerson, make_model: MakeModel, codex_binary: Path
) -> None:
    repo, model = small_repo(tmp_path / "repositories"), make_model(library.codex_mend(small_project()))
    shell = {
        "PATH": client_environment(model.url, tmp_path / "unused")["PATH"],
        KEY_VARIABLE: "made-up-key-of-the-model",
        "CODEX_HOME": str(tmp_path / "of-the-person"),
    }
    codex = {
        "kind": "codex",
        "argv": list(client_argv(codex_binary, model.url)),
        "api": [model.url],
        "model": MODEL,
    }
    price = {"input": 5, "output": 30, "cache_read": 0.5, "cache_write": 0}
    person = make_person(
        repos={"small": repo},
        agents={"codex": codex},
        env=shell,
        default_agent="codex",
        prices={MODEL: {f"{name}_usd_per_mtok": usd for name, usd in price.items()}},
    )
    person.begins()
    name = person.adds("Give the right answer")
    ticket = person.waits(name)
    assert ticket["state"] == "published", person.does("why", name)
    (draft,) = person.drafts("small")
    assert git(repo.remote, "show", f"{draft.head}:answer.txt") == "right"
    assert ticket["spent_micro_usd"] == 3 * (5000 + 1500)
    assert "$0.0195" in person.does("digest")
    assert not (tmp_path / "of-the-person").exists()
