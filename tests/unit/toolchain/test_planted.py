"""No test gets away from the search for planted secrets, whatever fixtures it uses."""

from __future__ import annotations

from contextlib import closing
from http.client import HTTPConnection
from pathlib import Path

import pytest

from tests.support import canary, planted
from tests.support.inner_pytest import run_pytest
from tests.support.loopback import LoopbackHandler, LoopbackServer
from tests.support.tree import ROOT

pytestmark = pytest.mark.timeout(300)  # each starts a pytest of its own
LEAKS = {
    "in a file": "def test_it(tmp_path):\n    (tmp_path / 'log').write_text(os.environ['NPM_TOKEN'])\n",
    "in a folder asked for later": (
        "def test_it(request):\n    folder = request.getfixturevalue('tmp_path')\n"
        "    (folder / 'log').write_text(os.environ['NPM_TOKEN'])\n"
    ),
    "by a program of the test": (
        "def test_it(tmp_path):\n    subprocess.run('env > log', shell=True, cwd=tmp_path, check=True)\n"
    ),
    "on standard output": "def test_it():\n    print(os.environ['FLAVOUR_OF_THE_PERSON'])\n",
    "in a log": "def test_it():\n    logging.getLogger('x').warning(os.environ['DATABASE_URL'])\n",
    "in what it takes of its output": (
        "def test_it(capsys):\n    print(os.environ['FLAVOUR_OF_THE_PERSON'])\n    capsys.readouterr()\n"
    ),
    "in what a program prints and it takes": (
        "def test_it(capfd):\n    subprocess.run('env', check=True)\n    capfd.readouterr()\n"
    ),
    "in a command line that is gone": (
        "def test_it():\n    subprocess.run(['true', '--token', os.environ['NPM_TOKEN']], check=True)\n"
    ),
    "in a command line that a thread starts otherwise": (
        "def test_it():\n    where = shutil.which('true')\n"
        "    start = lambda: os.waitpid(os.posix_spawn(where, [where, os.environ['NPM_TOKEN']], {}), 0)\n"
        "    thread = threading.Thread(target=start)\n    thread.start()\n    thread.join()\n"
    ),
    "when a fixture ends": (
        "@pytest.fixture\ndef late(tmp_path):\n    yield\n"
        "    (tmp_path / 'log').write_text(os.environ['GITHUB_TOKEN'])\n"
        "def test_it(late):\n    pass\n"
    ),
}


@pytest.mark.parametrize("source", LEAKS.values(), ids=LEAKS)
def test_a_test_that_leaves_a_planted_secret_fails(tmp_path: Path, source: str) -> None:
    done = run_pytest(tmp_path, f"import logging, os, shutil, subprocess, threading\nimport pytest\n{source}")
    assert done.returncode == 1, done.stdout
    assert "a secret of the person's environment stands in" in done.stdout


def test_a_test_that_leaves_none_passes(tmp_path: Path) -> None:
    done = run_pytest(
        tmp_path, "def test_it(tmp_path):\n    print('plain')\n    (tmp_path / 'a').write_text('plain')\n"
    )
    assert done.returncode == 0, done.stdout


def test_what_the_environment_held_before_is_back_when_the_test_is_over(tmp_path: Path) -> None:
    (tmp_path / "conftest.py").write_text(
        "import os, pathlib\ndef pytest_sessionfinish():\n"
        "    pathlib.Path('after').write_text(os.environ['GITHUB_TOKEN'])\n"
    )
    source = "import os\ndef test_it():\n    assert os.environ['GITHUB_TOKEN'] != 'before'\n"
    done = run_pytest(tmp_path, source, environment={"GITHUB_TOKEN": "before"})
    assert done.returncode == 0, done.stdout
    assert (tmp_path / "after").read_text() == "before"


class _Handler(LoopbackHandler):
    def _answer(self) -> None:
        self.read_body()
        self.send_bytes(200, {}, b"")

    do_GET = do_POST = _answer  # noqa: N815 - names of the base


@pytest.mark.parametrize("part", ["body", "path", "header"])
def test_a_secret_that_reaches_a_stand_in_is_told_when_it_closes(part: str) -> None:
    server = LoopbackServer(_Handler)
    word = {name: canary.WORD if name == part else "plain" for name in ("body", "path", "header")}
    with closing(HTTPConnection("127.0.0.1", server.server_port)) as client:
        client.request("POST", f"/{word['path']}", word["body"], {"X-Told": word["header"]})
        client.getresponse().read()
    with pytest.raises(AssertionError, match=f"was sent.*{'body' if part == 'body' else 'request'}"):
        server.close()


def test_who_may_show_a_secret_exists() -> None:
    assert all((ROOT / name).is_file() for name in planted.SHOWN_BY)
