"""The token reaches git through a pipe and lies nowhere."""

import subprocess
from pathlib import Path

import pytest

from autopilot.publish.askpass import lent
from autopilot.publish.stops import CredentialError

TOKEN = "made-up-token-1234"


def ask(env: dict[str, str], question: str) -> str:
    """Ask as git does."""
    done = subprocess.run(
        [env["GIT_ASKPASS"], question], env={}, capture_output=True, text=True, timeout=20, check=True
    )
    return done.stdout


def test_the_password_is_answered_with_the_token_and_the_user_with_a_name(tmp_path: Path) -> None:
    with lent(TOKEN, tmp_path) as access:
        env = dict(access.env)
        assert ask(env, "Username for 'https://forge.example': ") == "x-access-token\n"
        assert ask(env, "Password for 'https://x@forge.example': ") == f"{TOKEN}\n"


def test_it_is_answered_as_often_as_it_is_asked(tmp_path: Path) -> None:
    with lent(TOKEN, tmp_path) as access:
        assert [ask(dict(access.env), "Password: ") for _ in range(20)] == [f"{TOKEN}\n"] * 20


def test_two_that_ask_at_once_neither_share_nor_split_an_answer(tmp_path: Path) -> None:
    with lent(TOKEN, tmp_path) as access:
        argv = [access.env["GIT_ASKPASS"], "Password: "]
        asking = [subprocess.Popen(argv, env={}, stdout=subprocess.PIPE) for _ in range(20)]
        assert {one.communicate(timeout=30)[0] for one in asking} == {f"{TOKEN}\n".encode()}


def test_whoever_asked_and_went_away_holds_nobody_up(tmp_path: Path) -> None:
    with lent(TOKEN, tmp_path) as access:
        asked = Path(access.env["GIT_ASKPASS"]).with_name("asked")
        asked.write_text("999999\nnonsense\n../../x\n")
        assert ask(dict(access.env), "Password: ") == f"{TOKEN}\n"


def test_no_file_and_no_variable_holds_the_token(tmp_path: Path) -> None:
    with lent(TOKEN, tmp_path) as access:
        for path in tmp_path.rglob("*"):
            assert not path.is_file() or TOKEN not in path.read_text()
        assert TOKEN not in "".join(access.env.values())
        assert TOKEN not in repr(access)


def test_afterwards_nothing_is_left_and_nobody_waits(tmp_path: Path) -> None:
    for _ in range(20):
        with lent(TOKEN, tmp_path):
            pass
    assert list(tmp_path.iterdir()) == []


def test_only_this_user_may_ask(tmp_path: Path) -> None:
    with lent(TOKEN, tmp_path) as access:
        place = Path(access.env["GIT_ASKPASS"]).parent
        for path in (place, *place.iterdir()):
            assert path.stat().st_mode & 0o077 == 0


@pytest.mark.parametrize("token", ["two words", "line\nend", "umlaut-ä", "tab\t"])
def test_a_damaged_token_is_refused_without_being_shown(tmp_path: Path, token: str) -> None:
    with pytest.raises(CredentialError) as caught, lent(token, tmp_path):
        pass
    assert caught.value.hint
    assert token not in str(caught.value)


def test_words_of_a_server_are_bounded_and_scrubbed(tmp_path: Path) -> None:
    with lent(TOKEN, tmp_path) as access:
        assert access.told(f"you sent {TOKEN} to me\n@you") == "you sent [token] to me @ you"
        assert len(access.told("x" * 10_000)) == 800
        assert "left out" in access.told("ghp" + "_R9dK2mQ7xV4bT8nL1cF6hJ3pZ5wY0sAaGgE4")
