"""The gates run again in a process that has nothing to gain from lying, and no token within reach."""

import sys
from pathlib import Path

import pytest

from autopilot.publish.forges.local import read_records
from tests.support.fixtures import MakeForge
from tests.support.github_publication import github_publication, publish
from tests.support.publication import (
    BASE_FILES,
    BRANCH,
    FIX,
    Publication,
    commit,
    local_publication,
    make_publication,
)
from tests.support.publisher import branches, run_publisher
from tests.support.repos import commit_files, init_bare

TOKEN = "made-up-token-of-the-forge"


# These hold without a sandbox too. What the repository's tests see goes to where none would show it.
OPEN = {"kind": "none"}


def with_check(tmp_path: Path, more: str, files: dict[str, str] | None = None) -> Publication:
    """A publication whose repository runs `more` as a part of its test command."""
    remote = init_bare(tmp_path / "remote.git")
    commit_files(remote, "main", BASE_FILES | {"check.sh": f"{more}\n{BASE_FILES['check.sh']}"})
    forge = {"kind": "local", "push_url": str(remote), "record_dir": str(tmp_path / "state" / "forge")}
    return make_publication(tmp_path, remote, forge, {**FIX, **(files or {})})


@pytest.mark.covers("N07")
def test_a_commit_that_is_green_in_the_record_but_red_in_truth_is_not_published(tmp_path: Path) -> None:
    publication = local_publication(tmp_path)
    head = commit(publication, {"shares.txt": "1 1 1\n"})
    done = run_publisher(publication.with_head(head))
    assert done.failed == ["reverify"]
    assert "again: the gate test-summary is failed" in done.reasons("reverify")
    assert done.verdict["waiting_for"] == "verification-failed"
    assert branches(publication.remote).keys() == {"main"}


@pytest.mark.covers("N07")
def test_the_second_run_belongs_to_the_verdict(tmp_path: Path) -> None:
    done = run_publisher(local_publication(tmp_path))
    again = {gate["gate"]: (gate["verdict"], gate["producer"]) for gate in done.verdict["gates"]}
    assert again == dict.fromkeys(("build", "test-summary", "evidence"), ("passed", "publish"))


def test_fewer_tests_than_the_run_counted_are_not_the_same_result(tmp_path: Path) -> None:
    publication = local_publication(tmp_path)
    recorded = publication.spec()["recorded_gates"]
    recorded[1]["counts"] |= {"executed": 3, "passed": 3}
    done = run_publisher(publication.with_spec(recorded_gates=recorded))
    assert "executed 2 tests, the run 3" in done.reasons("reverify")


@pytest.mark.covers("N08", "I20")
def test_no_token_and_nothing_of_ours_is_in_the_environment_of_the_gates(tmp_path: Path) -> None:
    seen = tmp_path / "seen"
    publication = with_check(tmp_path, f"env > {seen}")
    passed = ["FORGE_API_TOKEN", "DATABASE_URL", "HARMLESS", "GIT_DIR", "PYTHONPATH"]
    done = run_publisher(
        publication.with_spec(env_pass=passed, sandbox=OPEN),
        AUTOPILOT_SECRET_FORGE_TOKEN=TOKEN,
        FORGE_API_TOKEN=TOKEN,
        DATABASE_URL="postgres://a:b@127.0.0.1/x",
        HARMLESS="kept",
        SSH_AUTH_SOCK=str(tmp_path / "agent"),
        GITHUB_TOKEN=TOKEN,
    )
    assert done.verdict["outcome"] == "pr-opened", done.verdict
    names = {line.partition("=")[0] for line in seen.read_text().splitlines()}
    assert TOKEN not in seen.read_text()
    assert "HARMLESS" in names
    assert not names & {
        "FORGE_API_TOKEN",
        "DATABASE_URL",
        "GITHUB_TOKEN",
        "AUTOPILOT_SECRET_FORGE_TOKEN",
        "AUTOPILOT_HOME",
        "SSH_AUTH_SOCK",
        "GIT_DIR",
        "PYTHONPATH",
        "PYTHONWARNINGS",
    }


@pytest.mark.skipif(sys.platform != "linux", reason="reads the parent's environment from /proc")
@pytest.mark.covers("N08", "I20")
def test_the_process_that_runs_the_gates_holds_no_token_either(tmp_path: Path) -> None:
    seen = tmp_path / "seen"
    publication = with_check(tmp_path, f"cat /proc/$PPID/cmdline /proc/$PPID/environ > {seen}")
    done = run_publisher(
        publication.with_spec(sandbox=OPEN), AUTOPILOT_SECRET_FORGE_TOKEN=TOKEN, GITHUB_TOKEN=TOKEN
    )
    assert done.verdict["outcome"] == "pr-opened", done.verdict
    assert b"autopilot.runner\0verify" in seen.read_bytes()
    assert TOKEN.encode() not in seen.read_bytes()


def test_the_credential_is_not_read_while_the_repositorys_code_runs(
    make_forge: MakeForge, tmp_path: Path
) -> None:
    forge, seen = make_forge(), tmp_path / "seen"
    look = f"find {tmp_path / 'state'} -type p -o -name 'ask*' > {seen}"
    checks = {"check.sh": f"{look}\n{BASE_FILES['check.sh']}"}
    done = publish(github_publication(forge, tmp_path, checks).with_spec(sandbox=OPEN), forge)
    assert done.verdict["outcome"] == "pr-opened"
    assert seen.read_text() == ""


NO_WORD = "**Sandbox: not recorded.** In the run, nobody wrote down which it was"
NONE_IN_THE_RUN = "**Sandbox: none.** In the run, "
NONE_AGAIN = "**Sandbox: none.** When the gates ran again, "


@pytest.mark.parametrize(
    ("run", "own", "told"),
    [
        ("none", {}, [NONE_IN_THE_RUN]),
        ("bubblewrap", OPEN, [NONE_AGAIN]),
        ("none", OPEN, [NONE_IN_THE_RUN, NONE_AGAIN]),
        ("landlock", {}, ["**Sandbox: landlock.** In the run, it is weaker than bubblewrap"]),
        (None, {}, [NO_WORD]),
        ("bubblewrap", {}, []),
    ],
)
@pytest.mark.needs(binary="bwrap", apt="bubblewrap")
def test_a_draft_says_what_its_run_had_and_what_it_was_judged_in(
    tmp_path: Path, run: str | None, own: dict[str, str], told: list[str]
) -> None:
    publication = local_publication(tmp_path)
    run_publisher(publication.with_spec(run_sandbox=run, sandbox=own))
    (draft,) = read_records(tmp_path / "state" / "forge" / "demo")
    warned = [line for line in draft.body.splitlines() if "**Sandbox:" in line]
    assert len(warned) == len(told)
    assert all(line.startswith(f"- {words}") for line, words in zip(warned, told, strict=True)), warned
    again = own.get("kind", "bubblewrap")
    assert f"Sandbox: {run or 'not recorded'} in the run, {again} when the gates ran again." in draft.body


def test_the_commands_come_from_the_base_and_not_from_the_commit(tmp_path: Path) -> None:
    publication = local_publication(tmp_path)
    liar = {".autopilot.toml": 'stack = "unknown"\n[commands]\nbuild = ["true"]\ntest = ["true"]\n'}
    head = commit(publication, {"shares.txt": "1 1 1\n", **liar})
    done = run_publisher(publication.with_head(head))
    assert "again: the gate test-summary is failed" in done.reasons("reverify")


def test_the_code_under_test_cannot_change_what_is_pushed(tmp_path: Path) -> None:
    attack = "git config core.hooksPath hooks; git update-ref -d HEAD; rm -rf .git; echo 9 > shares2.txt"
    publication = with_check(tmp_path, f"{attack} 2>/dev/null")
    done = run_publisher(publication)
    assert done.verdict["outcome"] == "pr-opened", done.verdict
    assert branches(publication.remote)[BRANCH] == publication.head


@pytest.mark.field_report("SEC-010")
def test_what_lies_beside_the_programs_of_a_person_is_not_there_for_the_gates(tmp_path: Path) -> None:
    """In the run the cell knew whose home it is; here it took its own for it, and showed all of ~/.local."""
    ring = "$(dirname $(command -v own-tool))/../share/keyrings/login"
    publication = with_check(tmp_path, f"cat {ring} && exit 9")
    home = publication.root / "home"
    for name in ("bin", "lib", "share/keyrings"):
        (home / ".local" / name).mkdir(parents=True)
    for name in ("bin/own-tool", "share/keyrings/login"):
        (home / ".local" / name).write_text("#!/bin/sh\n")
        (home / ".local" / name).chmod(0o755)
    done = run_publisher(publication)
    assert done.verdict["outcome"] == "pr-opened", done.verdict


def test_modules_of_the_repository_do_not_run_inside_ours(tmp_path: Path) -> None:
    mark = tmp_path / "mark"
    trap = f"open({str(mark)!r}, 'w').close()\n"
    files = {f"{name}.py": trap for name in ("pydantic", "autopilot", "json", "sitecustomize")}
    done = run_publisher(with_check(tmp_path, "true", files).with_spec(sandbox=OPEN))
    assert done.verdict["outcome"] == "pr-opened", done.verdict
    assert not mark.exists()
