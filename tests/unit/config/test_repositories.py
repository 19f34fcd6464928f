from __future__ import annotations

from pathlib import Path

import pytest

from autopilot.config.load import load
from autopilot.config.paths import Paths
from autopilot.config.repository import Repo
from autopilot.schemas.errors import ConfigError


def loaded(folder: Path, *tables: str) -> tuple[Repo, ...]:
    file = folder / "config.toml"
    file.write_text("".join(f"[[repo]]\n{table}\n" for table in tables))
    return load(Paths(state=folder, config_file=file, logs=folder)).repos


def refused(folder: Path, *tables: str) -> str:
    with pytest.raises(ConfigError) as caught:
        loaded(folder, *tables)
    return caught.value.what


def test_a_repository_on_this_machine_needs_its_path_only(tmp_path: Path) -> None:
    (repo,) = loaded(tmp_path, "name = 'a'\npath = '/srv/a'")
    assert (repo.forge, repo.fetch_from, repo.push_to, repo.base, repo.agent) == (
        "local",
        "/srv/a",
        "/srv/a",
        None,
        None,
    )


def test_a_path_may_begin_at_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", "/home-of-someone")
    (repo,) = loaded(tmp_path, "name = 'a'\npath = '~/code/a b'")
    assert repo.fetch_from == "/home-of-someone/code/a b"


@pytest.mark.parametrize(
    "url",
    [
        "https://github.com/owner/name.git",
        "https://github.com/owner/name",
        "https://github.com/owner/name/",
        "ssh://git@github.com/owner/name.git",
        "git@github.com:owner/name.git",
        "github.com:owner/name",
        "http://127.0.0.1:8080/owner/name.git",
    ],
)
def test_the_project_on_the_forge_is_taken_from_the_address(tmp_path: Path, url: str) -> None:
    (repo,) = loaded(tmp_path, f"name = 'a'\nurl = '{url}'\nforge = 'github'")
    assert (repo.project, repo.fetch_from) == ("owner/name", url)


def test_a_project_that_is_given_counts_more_than_the_address(tmp_path: Path) -> None:
    (repo,) = loaded(tmp_path, "name = 'a'\nurl = 'https://x.invalid/o/n'\nforge = 'github'\nproject = 'p/q'")
    assert repo.project == "p/q"


def test_branches_may_be_pushed_elsewhere(tmp_path: Path) -> None:
    (repo,) = loaded(
        tmp_path, "name = 'a'\npath = '/srv/a'\nforge = 'github'\npush_url = 'git@github.com:o/n.git'"
    )
    assert (repo.fetch_from, repo.push_to, repo.project) == ("/srv/a", "git@github.com:o/n.git", "o/n")


@pytest.mark.parametrize(
    ("table", "told"),
    [
        ("name = 'a'", "repo[a]: needs either path or url"),
        ("name = 'a'\npath = '/a'\nurl = 'https://x.invalid/a'", "repo[a]: has both path and url"),
        ("path = '/a'", "repo[0].name: is missing"),
        ("name = '../a'\npath = '/a'", "repo[../a].name: should begin with a letter"),
        ("name = 'a/b'\npath = '/a'", "repo[a/b].name: should begin with a letter"),
        ("name = '-a'\npath = '/a'", "repo[-a].name: should begin with a letter"),
        ("name = ''\npath = '/a'", ".name: should begin with a letter"),
        ("name = 'a'\npath = 'relative'", "repo[a].path: must be an absolute path"),
        ("name = 'a'\nurl = 'ext::sh'", "repo[a].url: is no URL of a repository"),
        ("name = 'a'\nurl = 'https://x.invalid/a b.git'", "repo[a].url: holds a blank"),
        (
            "name = 'a'\nurl = \"https://x.invalid/a\\nb\"",
            "repo[a].url: holds a blank or a control character",
        ),
        ("name = 'a'\nurl = '--upload-pack=x'", "repo[a].url: is no URL of a repository"),
        ("name = 'a'\nurl = 'ftp://x.invalid/a'", "repo[a].url: is no URL of a repository"),
        ("name = 'a'\nurl = 'justwords'", "repo[a].url: is no URL of a repository"),
        ("name = 'a'\nurl = 'https://me:pw@x.invalid/a'", "repo[a].url: holds a credential"),
        ("name = 'a'\npath = '/a'\nbase = ''", "repo[a].base: is no branch name: it is empty"),
        ("name = 'a'\npath = '/a'\nbase = '-x'", "repo[a].base: is no branch name: it starts with '-'"),
        ("name = 'a'\npath = '/a'\nbase = 'a b'", "repo[a].base: is no branch name"),
        ("name = 'a'\npath = '/a'\nforge = 'gitub'", "not 'gitub'; did you mean github?"),
        ("name = 'a'\npath = '/a'\nforge = 'github'", 'repo[a]: needs project = "owner/name"'),
        (
            "name = 'a'\npath = '/a'\nagent = 'cloude'",
            "repo[a].agent: no agent is called 'cloude'; did you mean claude?",
        ),
        ("name = 'a'\npath = '/a'\napi_url = 'api.github.com'", "repo[a].api_url: is no https address"),
        ("name = 'a'\npath = '/a'\napi_url = 'https://me@x.invalid'", "repo[a].api_url: is no https address"),
        (
            "name = 'a'\npath = '/a'\nenv_pass = ['A=B']",
            "repo[a].env_pass.0: should be the name of an environment variable",
        ),
        ("name = 'a'\npath = '/a'\nbranch = 'x'", "repo[a].branch: unknown key"),
    ],
)
def test_a_repository_that_cannot_be_worked_with_is_refused(tmp_path: Path, table: str, told: str) -> None:
    assert told in refused(tmp_path, table)


@pytest.mark.covers("C05")
@pytest.mark.parametrize(
    "line",
    [
        "url = 'https://me:{secret}@x.invalid/a'",
        "url = 'https://x.invalid/a'\npush_url = 'https://me:{secret}@x.invalid/a'",
        "url = 'https://x.invalid/a'\ncredential = '{secret}'",
    ],
)
def test_a_credential_in_the_file_is_refused_and_not_repeated(tmp_path: Path, line: str) -> None:
    secret = "gh" + "p_" + "a1B2" * 9
    told = refused(tmp_path, f"name = 'a'\n{line.format(secret=secret)}")
    assert "credential" in told
    assert secret not in told


def test_two_repositories_may_not_share_a_name_or_a_folder(tmp_path: Path) -> None:
    told = refused(tmp_path, "name = 'app'\npath = '/a'", "name = 'App'\npath = '/b'")
    assert "repo[app].name: two repositories are called 'app'" in told


TOKEN = "name = 'a'\ncredential = 'forge'\n"
GITHUB = TOKEN + "forge = 'github'\nproject = 'you/shop'\n"


@pytest.mark.covers("C05")
@pytest.mark.parametrize("at", ["http://forge.example", "http://10.1.2.3:3000", "http://localhost.example"])
@pytest.mark.parametrize(
    ("table", "key"),
    [
        (GITHUB + "url = 'https://forge.example/you/shop'\napi_url = '{at}/api/v3'", "api_url"),
        (GITHUB + "url = '{at}/you/shop.git'", "url"),
        (GITHUB + "url = 'https://forge.example/you/shop'\npush_url = '{at}/you/shop'", "push_url"),
        (TOKEN + "url = '{at}/you/shop.git'", "url"),
    ],
)
def test_a_token_goes_over_http_to_no_other_machine(tmp_path: Path, table: str, key: str, at: str) -> None:
    told = refused(tmp_path, table.format(at=at))
    assert f"repo[a]: {key}: the token would go over http" in told
    assert "it must be https" in told


@pytest.mark.parametrize("at", ["https://forge.example", "http://127.0.0.1:3000", "http://localhost:3000"])
def test_encrypted_or_to_this_machine_a_token_may_go(tmp_path: Path, at: str) -> None:
    (repo,) = loaded(tmp_path, f"{GITHUB}url = '{at}/you/shop'\napi_url = '{at}/api/v3'")
    assert (repo.push_to, repo.api_url) == (f"{at}/you/shop", f"{at}/api/v3")


def test_without_a_token_http_shows_nobody_anything(tmp_path: Path) -> None:
    (repo,) = loaded(tmp_path, "name = 'a'\nurl = 'http://forge.example/you/shop'")
    assert repo.fetch_from == "http://forge.example/you/shop"
