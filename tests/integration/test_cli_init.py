"""`autopilot init`: the tests, agent and identity it finds, what it writes, and when it writes nothing."""

from __future__ import annotations

import json
import stat
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from autopilot.config.load import load
from autopilot.schemas.errors import ExitCode
from tests.support import repo_layouts as layouts
from tests.support.cli import COMMAND, Cli
from tests.support.gitcmd import git
from tests.support.projects import node_project, python_project
from tests.support.repos import fingerprint, make_repo, write_files
from tests.support.small_project import small_repo
from tests.support.terminal import on_a_terminal

IDENTITY = "[user]\nname = Pat Döe\nemail = pat@example.org\n"


@pytest.fixture
def cli(tmp_path: Path) -> Cli:
    """A person whose git knows them, with nothing configured."""
    made = Cli(tmp_path / "home")
    (made.home / ".gitconfig").write_text(IDENTITY)
    return made


def seen(cli: Cli, checkout: Path, *words: str) -> dict[str, Any]:
    """What init reports of a checkout without writing anything; the checkout is as it was."""
    before = fingerprint(checkout)
    said = cli.call("init", "--dry-run", "--json", "--path", str(checkout), *words)
    assert said.code == ExitCode.OK, said
    assert fingerprint(checkout) == before
    assert [path.name for path in cli.home.iterdir()] == [".gitconfig"]
    survey: dict[str, Any] = said.json()
    return survey


def proposed(report: Mapping[str, Any]) -> dict[str, Any]:
    """The repository's table as it would be written."""
    (table,) = tomllib.loads(report["toml"])["repo"]
    return dict(table)


def test_the_tests_are_told_as_a_person_would_run_them(cli: Cli, tmp_path: Path) -> None:
    pytest_files = {"test_it.py": "def test_it() -> None:\n    assert True\n"}
    commands = {
        "unittest": (make_repo(tmp_path / "a", project=python_project()), "python", "python3 -m unittest"),
        "pytest": (make_repo(tmp_path / "b", extra_files=pytest_files), "python", "python3 -m pytest"),
        "node": (make_repo(tmp_path / "c", project=node_project()), "backend-node", "node --test"),
        "own": (small_repo(tmp_path / "d"), "unknown", "sh check.sh"),
    }
    for repo, stack, command in commands.values():
        told = cli.told("init", "--dry-run", "--path", str(repo.checkout))
        assert f"  stack    {stack}\n  tests    {command}" in told
        assert ".autopilot.toml" not in told


@pytest.mark.parametrize(
    ("files", "lines"),
    [
        ({"go.mod": "module x\n"}, '[commands]\n    test = ["gotestsum", "--junitfile", "{report}"]'),
        ({"pom.xml": "<project/>"}, 'report = "target/surefire-reports/*.xml"'),
        ({"notes.txt": "x"}, '[commands]\n    test = ["make", "test"]'),
        ({"package.json": '{"scripts": {"test": "jest"}}'}, '"--reporters=jest-junit"'),
        ({".autopilot.toml": 'stack = "pyhton"\n'}, 'stack = "unknown"'),
    ],
)
def test_where_tests_cannot_be_run_the_lines_that_would_help_are_shown_and_the_rest_is_written(
    cli: Cli, tmp_path: Path, files: Mapping[str, str], lines: str
) -> None:
    remote = small_repo(tmp_path / "r")
    git(remote.checkout, "rm", "-q", "-r", ".")
    write_files(remote.checkout, files)
    git(remote.checkout, "add", "-A")
    git(remote.checkout, "commit", "-q", "-m", "Another kind")
    git(remote.checkout, "push", "-q")
    told = cli.told("init", "--yes", "--path", str(remote.checkout))
    assert "to have its tests run, commit this as .autopilot.toml on main, with your own command:" in told
    assert lines in told
    assert "\n  commit the lines above as .autopilot.toml on main" in told
    assert load(cli.paths).repo("checkout").base == "main"


def test_a_policy_that_is_wrong_is_told_with_its_key(cli: Cli, tmp_path: Path) -> None:
    repo = make_repo(tmp_path / "r", extra_files={".autopilot.toml": "stakc = 'python'\n"})
    told = cli.told("init", "--dry-run", "--path", str(repo.checkout))
    assert "there is no key stakc: did you mean stack?" in told


def test_without_an_agent_on_path_the_rest_is_written_and_the_next_step_is_told(
    cli: Cli, tmp_path: Path
) -> None:
    repo = make_repo(tmp_path / "r")
    cli.env["PATH"] = "/usr/bin:/bin"
    told = cli.told("init", "--yes", "--path", str(repo.checkout))
    assert "  agent    claude is not on PATH yet" in told
    assert "next:\n  install claude, or name another agent: default_agent in " in told
    assert "blocked" not in told
    program = tmp_path / "bin" / "claude"
    write_files(tmp_path, {"bin/claude": "#!/bin/sh\n"})
    program.chmod(0o755)
    cli.env["PATH"] = f"{program.parent}:/usr/bin:/bin"
    assert "  agent    ready" in cli.told(
        "init", "--dry-run", "--path", str(make_repo(tmp_path / "s").checkout), "--name", "s"
    )


def test_the_identity_of_git_is_taken_over_also_when_it_depends_on_the_folder(
    cli: Cli, tmp_path: Path
) -> None:
    repo = make_repo(tmp_path / "work" / "r")
    (cli.home / "work.inc").write_text("[user]\nemail = pat@work.example\n")
    condition = f"gitdir:{tmp_path / 'work'}/"
    (cli.home / ".gitconfig").write_text(f'{IDENTITY}[includeIf "{condition}"]\npath = work.inc\n')
    cli.told("init", "--yes", "--path", str(repo.checkout))
    identity = load(cli.paths).identity
    assert (identity.name, identity.email) == ("Pat Döe", "pat@work.example")


def test_a_person_whom_git_does_not_know_is_told_whose_name_commits_will_carry(
    cli: Cli, tmp_path: Path
) -> None:
    (cli.home / ".gitconfig").write_text("")
    told = cli.told("init", "--yes", "--path", str(make_repo(tmp_path / "r").checkout))
    assert "commits will be made as autopilot <autopilot@localhost>" in told
    assert "say who you are: [identity] with name and email" in told


def test_a_configured_identity_is_kept(cli: Cli, tmp_path: Path) -> None:
    cli.paths.config_file.write_text('[identity]\nname = "Other"\n')
    cli.told("init", "--yes", "--path", str(make_repo(tmp_path / "r").checkout))
    assert load(cli.paths).identity.name == "Other"
    assert cli.paths.config_file.read_text().count("[identity]") == 1


@pytest.mark.parametrize(
    ("words", "code", "told"),
    [
        (["--base", "a b"], ExitCode.CONFIG, "--base: 'a b' holds a space"),
        ([], ExitCode.CONFIG, "say which branch drafts are for: autopilot init --base main"),
    ],
)
def test_a_base_that_cannot_be_found_is_asked_for(
    cli: Cli, tmp_path: Path, words: list[str], code: int, told: str
) -> None:
    repo = make_repo(tmp_path / "r")
    layouts.dangling_remote_head(repo)
    layouts.detach_checkout(repo)
    said = cli.call("init", "--dry-run", "--path", str(repo.checkout), *words)
    assert (said.code, said.out) == (code, "")
    assert told in said.err
    assert proposed(seen(cli, repo.checkout, "--base", "main"))["base"] == "main"


def test_a_dry_run_writes_nothing_at_all(cli: Cli, tmp_path: Path) -> None:
    repo = make_repo(tmp_path / "r")
    before = fingerprint(repo.checkout)
    said = cli.run("init", "--dry-run", cwd=repo.checkout)
    assert said.code == ExitCode.OK
    assert f"{cli.paths.config_file} is unchanged" in said.out
    assert [path.name for path in cli.home.iterdir()] == [".gitconfig"]
    assert fingerprint(repo.checkout) == before


def test_with_nobody_to_ask_nothing_is_written(cli: Cli, tmp_path: Path) -> None:
    repo = make_repo(tmp_path / "r")
    said = cli.run("init", cwd=repo.checkout, stdin="y\n")
    assert (said.code, said.out) == (ExitCode.REFUSED, "")
    assert "give --yes to write it, or --dry-run to only look" in said.err
    assert not cli.paths.config_file.exists()
    assert cli.run("init", "--json", cwd=repo.checkout).error["code"] == "not-asked"


@pytest.mark.parametrize(("typed", "code"), [(b"y\n", ExitCode.OK), (b"n\n", 3), (b"\n", 3), (b"\x04", 3)])
def test_a_person_is_asked_before_anything_is_written(
    cli: Cli, tmp_path: Path, typed: bytes, code: int
) -> None:
    repo = make_repo(tmp_path / "r")
    shown = on_a_terminal([*COMMAND, "init"], cwd=repo.checkout, env=cli.env, typed=typed)
    assert shown.code == code
    assert "write it? [y/N]" in shown.text
    assert cli.paths.config_file.exists() == (code == ExitCode.OK)
    assert ("is unchanged" in shown.text) == (code != ExitCode.OK)


def test_the_same_repository_twice_is_refused_and_another_of_that_name_needs_a_name(
    cli: Cli, tmp_path: Path
) -> None:
    one, other = make_repo(tmp_path / "a"), make_repo(tmp_path / "b")
    cli.told("init", "--yes", "--path", str(one.checkout))
    written = cli.paths.config_file.read_bytes()
    again = cli.call("init", "--yes", "--path", str(one.checkout), "--name", "again")
    assert again.code == ExitCode.REFUSED
    assert "this repository is configured already, as checkout" in again.err
    clash = cli.call("init", "--yes", "--path", str(other.checkout))
    assert clash.code == ExitCode.REFUSED
    assert "→ give this one a --name, e.g. checkout-2" in clash.err
    assert cli.paths.config_file.read_bytes() == written
    cli.told("init", "--yes", "--path", str(other.checkout), "--name", "checkout-2")
    assert [repo.name for repo in load(cli.paths).repos] == ["checkout", "checkout-2"]


def test_a_file_that_would_not_load_with_the_addition_is_put_back_byte_for_byte(
    cli: Cli, tmp_path: Path
) -> None:
    before = b'# mine\r\nrepo = [{name = "other", path = "/srv/other"}]'
    cli.paths.config_file.write_bytes(before)
    said = cli.call("init", "--yes", "--path", str(make_repo(tmp_path / "r").checkout))
    assert said.code == ExitCode.CONFIG
    assert str(cli.paths.config_file) in said.err
    assert cli.paths.config_file.read_bytes() == before


def test_comments_mode_and_link_of_the_file_are_kept(cli: Cli, tmp_path: Path) -> None:
    kept = tmp_path / "dotfiles" / "autopilot.toml"
    write_files(tmp_path, {"dotfiles/autopilot.toml": "# mine\nmax_parallel_agents = 3"})
    kept.chmod(0o640)
    cli.paths.config_file.symlink_to(kept)
    cli.told("init", "--yes", "--path", str(make_repo(tmp_path / "r").checkout))
    assert cli.paths.config_file.is_symlink()
    assert kept.read_text().startswith("# mine\nmax_parallel_agents = 3\n\n[identity]\n")
    assert stat.S_IMODE(kept.stat().st_mode) == 0o640
    assert load(cli.paths).max_parallel_agents == 3


def test_the_json_form_is_one_document_that_says_whether_it_was_written(cli: Cli, tmp_path: Path) -> None:
    repo = make_repo(tmp_path / "r")
    report = cli.run("init", "--json", "--yes", cwd=repo.checkout).json()
    assert report["written"] is True
    assert report["toml"] in cli.paths.config_file.read_text()
    assert report["survey"]["root"] == str(repo.checkout)


@pytest.mark.covers("I11", "H27")
def test_the_profile_is_shown_in_full_before_anything_is_written(cli: Cli, tmp_path: Path) -> None:
    repo = small_repo(tmp_path / "theirs")
    said = cli.call("init", "--dry-run", "--show-profile", "--path", str(repo.checkout))
    assert said.code == ExitCode.OK, said
    settings = json.loads(said.out[said.out.index("    {") : said.out.index("\n    }\n") + 7])
    assert settings["permissions"]["defaultMode"] == "dontAsk"
    assert "Bash(sh check.sh)" in settings["permissions"]["allow"]
    assert "Bash(git push:*)" in settings["permissions"]["deny"]
    (hook,) = settings["hooks"]["PreToolUse"][0]["hooks"]
    assert hook["onFailure"] == "block"
    for named in ("--setting-sources", "CLAUDE_CONFIG_DIR=", "ANTHROPIC_API_KEY", "2.1.295"):
        assert named in said.out, named
    assert [path.name for path in cli.home.iterdir()] == [".gitconfig"]


def test_the_profile_of_another_agent_is_shown_too(cli: Cli, tmp_path: Path) -> None:
    (cli.home / "config.toml").write_text('default_agent = "codex"\n[agents.codex]\nkind = "codex"\n')
    repo = small_repo(tmp_path / "theirs")
    words = ("init", "--dry-run", "--show-profile", "--json", "--path", str(repo.checkout))
    profile = cli.call(*words).json()["profile"]
    (config,) = profile["files"].values()
    assert tomllib.loads(config)["approval_policy"] == "never"
    assert profile["passed"][0] == "CODEX_API_KEY"


@pytest.mark.covers("I13")
def test_an_installation_grants_no_agent_anything(cli: Cli, tmp_path: Path) -> None:
    (cli.home / ".claude").mkdir()
    (cli.home / ".claude" / "settings.json").write_text("{}")
    repo = small_repo(tmp_path / "theirs")
    assert cli.call("init", "--yes", "--path", str(repo.checkout)).code == ExitCode.OK
    text = "".join(path.read_text() for path in cli.home.rglob("*") if path.is_file())
    assert "permissions" not in text
    assert (cli.home / ".claude" / "settings.json").read_text() == "{}"
    assert not (repo.checkout / ".claude").exists()
