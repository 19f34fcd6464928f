"""Nothing of ours reaches the code under test, and none of its code runs inside us."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from autopilot.schemas.gate import ungreen
from tests.support.gitcmd import git, git_binary
from tests.support.repos import commit_files
from tests.support.verifications import CASE, GREEN, files_below, in_a_process, result_of, spec_of


@pytest.mark.field_report("VER-002")
def test_git_variables_of_our_own_environment_reach_neither_the_tests_nor_our_git(tmp_path: Path) -> None:
    mine = tmp_path / "mine"
    mine.mkdir()
    git(mine, "init", "-q")
    commit_files(mine, "main", {"precious.txt": "precious"})
    git(mine, "reset", "-q", "--hard")
    (mine / "staged.txt").write_text("staged", encoding="utf-8")
    git(mine, "add", "staged.txt")
    own = mine / ".git"
    hostile = {
        "GIT_DIR": str(own),
        "GIT_WORK_TREE": str(mine),
        "GIT_INDEX_FILE": str(own / "index"),
        "GIT_COMMON_DIR": str(own),
        "GIT_OBJECT_DIRECTORY": str(own / "objects"),
        "GIT_NAMESPACE": "x",
        "GIT_ALTERNATE_OBJECT_DIRECTORIES": str(own / "objects"),
        "GIT_PREFIX": "sub/",
        "GIT_CONFIG": str(own / "config"),
        "GIT_CONFIG_PARAMETERS": "'core.bare=true'",
        "GIT_CONFIG_COUNT": "1",
        "GIT_CONFIG_KEY_0": "core.bare",
        "GIT_CONFIG_VALUE_0": "true",
        "GIT_TEMPLATE_DIR": str(mine),
        "GIT_CEILING_DIRECTORIES": "/",
        "GIT_AUTHOR_NAME": "x",
        "GIT_EXTERNAL_DIFF": "false",
        "GIT_SSH_COMMAND": "false",
        "GIT_TRACE": str(mine / "trace"),
    }
    throw_away = (
        "import os, subprocess, tempfile\n"
        "        leaked = [name for name in os.environ if name.startswith('GIT_')]\n"
        "        self.assertEqual(leaked, [])\n"
        "        with tempfile.TemporaryDirectory() as folder:\n"
        "            for words in ('init', '-c user.name=x -c user.email=x@y commit --allow-empty -m x',\n"
        "                          'config core.bare true', 'rm -r --cached --ignore-unmatch .'):\n"
        f"                argv = ['{git_binary()}', *words.split()]\n"
        "                subprocess.run(argv, cwd=folder, check=words[0] != 'r')\n"
    )
    spec = spec_of(tmp_path, {**GREEN, "tests/test_a.py": CASE.format(throw_away)})
    before = files_below(mine)
    result = in_a_process(spec, tmp_path, cwd=mine, env=hostile)
    assert ungreen(result.gates, head=spec.head) == (), [record.reason for record in result.gates]
    assert files_below(mine) == before


@pytest.mark.covers("N08")
def test_no_credential_of_ours_is_in_the_environment_of_the_tests(tmp_path: Path) -> None:
    secrets = {
        "GITHUB_TOKEN": "x",
        "ANTHROPIC_API_KEY": "x",
        "AUTOPILOT_SECRET_FORGE": "x",
        "DATABASE_URL": "x",
        "AWS_PROFILE": "x",
        "NPM_CONFIG__AUTH": "x",
        "SSH_AUTH_SOCK": "/x",
        "MY_PAT": "x",
        "PYTHONSTARTUP": "/x",
    }
    dump = (
        "import json, os\n"
        "        with open(os.environ['HOME'] + '/seen.json', 'w') as file:\n"
        "            json.dump(dict(os.environ), file)"
    )
    spec = spec_of(tmp_path, {**GREEN, "tests/test_a.py": CASE.format(dump)})
    spec = spec.model_copy(update={"env_pass": (*secrets, "PLAIN")})
    result_of(spec, **secrets, PLAIN="passed", UNLISTED="x", HOME="/somebody")
    seen = json.loads((spec.workdir / "home" / "seen.json").read_text(encoding="utf-8"))
    assert not secrets.keys() & seen.keys()
    assert seen["PLAIN"] == "passed"
    assert "UNLISTED" not in seen
    assert seen["HOME"] == str(spec.workdir / "home")


def test_no_module_of_the_repository_runs_inside_our_own_process(tmp_path: Path) -> None:
    trap = f"open({str(tmp_path / 'sprung')!r}, 'a').write(__name__ + '\\n')\n"
    names = (
        "config/__init__.py",
        "httpx.py",
        "sitecustomize.py",
        "usercustomize.py",
        "autopilot/__init__.py",
        "pydantic.py",
        "psutil.py",
        "typing_extensions.py",
        "runner/__init__.py",
        "schemas.py",
        "json.py",
        "pathlib.py",
        "tomllib.py",
        "pyexpat.py",
        "stacks/junit.py",
        "junit.py",
        "python.py",
        "unittest_junit.py",
        "compile_check.py",
        "start.py",
        "runpy.py",
    )
    files = {**GREEN, **dict.fromkeys(names, trap)}
    hostile = tmp_path / "hostile"
    for name, text in files.items():
        path = hostile / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    spec = spec_of(tmp_path, files)
    result = in_a_process(spec, tmp_path, cwd=hostile, env={})
    assert not (tmp_path / "sprung").exists()
    assert ungreen(result.gates, head=spec.head) == ()
