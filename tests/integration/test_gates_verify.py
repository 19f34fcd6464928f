"""`runner verify`: the gates of one commit, again, where nobody has been."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from autopilot.config.clock import SystemClock
from autopilot.runner.verify import main
from autopilot.schemas.errors import ConfigError
from autopilot.schemas.gate import Verdict, ungreen
from autopilot.schemas.run import VerifyResult
from tests.support.gitcmd import git, git_binary
from tests.support.verifications import CASE, GREEN, files_below, result_of, spec_of


@pytest.mark.covers("N07")
def test_a_green_commit_is_green_again_and_the_entries_say_who_ran_them(tmp_path: Path) -> None:
    spec = spec_of(tmp_path, GREEN)
    result = result_of(spec)
    assert (result.error, result.stack) == ("", "python")
    assert ungreen(result.gates, head=spec.head) == ()
    assert {record.producer for record in result.gates} == {"publish"}
    assert all((spec.workdir / item.path).is_file() for record in result.gates for item in record.evidence)


@pytest.mark.covers("N07")
def test_a_commit_that_is_red_in_a_fresh_checkout_is_red(tmp_path: Path) -> None:
    spec = spec_of(tmp_path, {"tests/test_a.py": CASE.format("self.fail()")}, base=GREEN)
    result = result_of(spec)
    assert ungreen(result.gates, head=spec.head) == ("test-summary",)


def test_what_only_lay_in_the_worktree_of_the_run_is_not_there(tmp_path: Path) -> None:
    leans_on_it = {".gitignore": "helper.py\n", "tests/test_a.py": "import helper\n" + CASE.format("pass")}
    spec = spec_of(tmp_path, leans_on_it, base=GREEN)
    assert ungreen(result_of(spec).gates, head=spec.head) == ("test-summary",)


def test_the_checkout_shows_exactly_the_commit_and_names_no_other_repository(tmp_path: Path) -> None:
    names: dict[str, str | bytes] = {
        "a b.txt": "1",
        "-x": "2",
        "line\nend": "3",
        "\u00e9/\u65e5.txt": "4",
        "crlf.txt": "a\r\nb\r\n",
        "bin": b"\x00\xff",
        ".gitattributes": "* text=auto\nbin filter=evil diff=evil\n*.secret export-ignore\n",
        "x.secret": "5",
    }
    spec = spec_of(tmp_path, {**GREEN, **names})
    result_of(spec)
    checkout = spec.workdir / "checkout"
    assert git(checkout, "rev-parse", "HEAD") == spec.head
    assert git(checkout, "status", "--porcelain", "-z", "--untracked-files=all") == ""
    for name in ("a b.txt", "-x", "line\nend", "\u00e9/\u65e5.txt", "x.secret", "bin"):
        content = names[name]
        assert (checkout / name).read_bytes() == (content.encode() if isinstance(content, str) else content)
    own = files_below(checkout / ".git")
    assert not [name for name, content in own.items() if os.fsencode(spec.repository) in content]
    assert "objects/info/alternates" not in own


def test_what_the_tests_do_to_git_around_them_does_not_reach_the_repository_we_push_from(
    tmp_path: Path,
) -> None:
    script = (
        "import subprocess\n"
        "        for words in ('config core.hooksPath /tmp/x', 'config url.x.insteadOf y',\n"
        "            'commit --allow-empty -m x', 'branch -f work', 'update-ref refs/heads/main HEAD',\n"
        "            'config --global user.name x', 'gc --prune=now', 'stash', 'tag v1'):\n"
        f"            subprocess.run(['{git_binary()}', *words.split()], check=False)\n"
    )
    spec = spec_of(tmp_path, {**GREEN, "tests/test_a.py": CASE.format(script)})
    before = files_below(spec.repository)
    result_of(spec)
    assert files_below(spec.repository) == before


@pytest.mark.parametrize(
    ("files", "change", "code"),
    [
        ({".autopilot.toml": "stak = 1\n"}, {}, "policy-invalid"),
        ({"README.md": "x"}, {}, "no-test-command"),
        (GREEN, {"head": "0" * 40}, "git-no-ref"),
        (GREEN, {"base_sha": "0" * 40}, "git-no-ref"),
        (GREEN, {"repository": Path("/nowhere.git")}, "git-no-repo"),
    ],
)
def test_what_could_not_run_at_all_has_no_gate_and_says_why(
    tmp_path: Path, files: dict[str, str], change: dict[str, object], code: str
) -> None:
    result = result_of(spec_of(tmp_path, files).model_copy(update=change))
    assert result.gates == ()
    assert (result.code, bool(result.error)) == (code, True)


def test_a_second_verification_in_the_same_folder_starts_from_nothing(tmp_path: Path) -> None:
    spec = spec_of(tmp_path, GREEN)
    assert ungreen(result_of(spec).gates, head=spec.head) == ()
    (spec.workdir / "checkout" / "tests" / "test_a.py").write_text("raise SystemExit\n", encoding="utf-8")
    closed = spec.workdir / "home" / "closed"
    closed.mkdir()
    closed.chmod(0)
    assert ungreen(result_of(spec).gates, head=spec.head) == ()


def test_a_commit_whose_tests_never_end_is_stopped(tmp_path: Path) -> None:
    spec = spec_of(tmp_path, {**GREEN, "tests/test_a.py": CASE.format("while True: pass")})
    result = result_of(spec.model_copy(update={"gate_s": 1.5}))
    codes = {record.gate: record.code for record in result.gates}
    assert codes["test-summary"] == "timed-out"


def test_a_specification_that_makes_no_sense_is_the_operators(tmp_path: Path) -> None:
    path = tmp_path / "spec.json"
    for text in ("", "{}", "[]"):
        path.write_text(text, encoding="utf-8")
        with pytest.raises(ConfigError) as caught:
            main(path, tmp_path / "result.json", SystemClock())
        assert caught.value.code == "spec-unreadable"
    assert not (tmp_path / "result.json").exists()


def test_the_result_is_written_whole_whatever_it_says(tmp_path: Path) -> None:
    spec = spec_of(tmp_path, {"README.md": "x"})
    (tmp_path / "spec.json").write_text(spec.model_dump_json(), encoding="utf-8")
    assert main(tmp_path / "spec.json", tmp_path / "result.json", SystemClock()) == 0
    result = VerifyResult.model_validate_json((tmp_path / "result.json").read_bytes())
    assert result.code == "no-test-command"
    assert [record.verdict for record in result.gates if record.verdict is Verdict.PASSED] == []
