"""The process funnel: starting a program and capturing what it prints. Real children, no shell."""

from __future__ import annotations

import os
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.programs import PYTHON, start


def test_a_program_that_ends_gives_its_code_and_what_it_printed(tmp_path: Path) -> None:
    code = "import sys; print('one', flush=True); print('two', file=sys.stderr); sys.exit(3)"
    ended = start((*PYTHON, code), tmp_path)
    assert (ended.code, ended.signal, ended.stopped, ended.ok) == (3, None, "", False)
    assert ended.tail == b"one\ntwo\n"
    assert ended.output.read_bytes() == ended.tail
    assert ended.stderr_tail == b""
    assert ended.duration_s > 0


def test_a_program_that_ends_with_zero_is_ok(tmp_path: Path) -> None:
    assert start(("true",), tmp_path).ok


def test_a_program_that_dies_of_a_signal_names_it(tmp_path: Path) -> None:
    ended = start((*PYTHON, "import os; os.kill(os.getpid(), 11)"), tmp_path)
    assert (ended.code, ended.signal, ended.ok) == (None, 11, False)


def test_errors_can_go_to_a_file_of_their_own(tmp_path: Path) -> None:
    seen: list[bytes] = []
    ended = start(
        ("sh", "-c", "echo out; echo err >&2"),
        tmp_path,
        stderr=tmp_path / "err",
        on_output=seen.append,
    )
    assert (ended.tail, ended.stderr_tail) == (b"out\n", b"err\n")
    assert (tmp_path / "err").read_bytes() == b"err\n"
    assert b"".join(seen) == b"out\n"


def test_what_a_program_prints_is_readable_by_this_user_only(tmp_path: Path) -> None:
    start(("true",), tmp_path, stderr=tmp_path / "err")
    assert {stat.S_IMODE((tmp_path / name).stat().st_mode) for name in ("out", "err")} == {0o600}


def test_a_second_call_writes_the_output_anew(tmp_path: Path) -> None:
    start(("echo", "a long first line"), tmp_path)
    assert start(("echo", "short"), tmp_path).output.read_bytes() == b"short\n"


def test_a_program_gets_exactly_the_environment_it_was_given_and_our_mark(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GIT_DIR", "/somewhere")
    ended = start((*PYTHON, "import os; print(sorted(os.environ))"), tmp_path, env={"LANG": "C.UTF-8"})
    assert eval(ended.tail) == ["AUTOPILOT_TREE", "LANG"]  # noqa: S307  our own program's list


def test_a_program_leads_a_session_of_its_own(tmp_path: Path) -> None:
    ended = start((*PYTHON, "import os; print(os.getsid(0) == os.getpid())"), tmp_path)
    assert ended.tail == b"True\n"


def test_arguments_are_never_read_by_a_shell(tmp_path: Path) -> None:
    hostile = "$(touch owned) `touch owned` ; touch owned\n-x 'ä'"
    assert start(("printf", "%s", hostile), tmp_path).tail.decode() == hostile
    assert not (tmp_path / "owned").exists()


@pytest.mark.field_report("AGT-005")
def test_standard_input_is_empty_even_when_ours_never_ends(tmp_path: Path) -> None:
    # Field report AGT-005: a child that reads standard input blocks for ever on one it inherited.
    code = (
        "import sys; from pathlib import Path; from autopilot.config import proc; "
        "from autopilot.config.clock import SystemClock; "
        "e = proc.run(['cat'], cwd=Path('.'), env={}, output=Path('o'), clock=SystemClock(), wall_s=20); "
        "sys.exit(0 if e.ok and not e.tail else 1)"
    )
    env = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    with subprocess.Popen([sys.executable, "-c", code], stdin=subprocess.PIPE, cwd=tmp_path, env=env) as ours:
        assert ours.stdin is not None
        assert ours.wait(timeout=25) == 0


def test_standard_input_that_nobody_reads_blocks_nobody(tmp_path: Path) -> None:
    assert start(("true",), tmp_path, stdin=b"x" * 5_000_000).ok


def test_a_program_reads_the_standard_input_it_was_given(tmp_path: Path) -> None:
    assert start(("cat",), tmp_path, stdin=b"a\0b\xff").tail == b"a\0b\xff"


def test_no_descriptor_of_ours_reaches_a_program(tmp_path: Path) -> None:
    with (tmp_path / "secret").open("w") as held:
        os.set_inheritable(held.fileno(), True)
        listing = start((*PYTHON, "import os; print(len(os.listdir('/dev/fd')))"), tmp_path)
    assert int(listing.tail) == 4  # 0, 1, 2, and the listing itself


@pytest.mark.parametrize(
    ("argv", "told"),
    [
        (
            ("no-such-program",),
            "cannot start 'no-such-program': No such file or directory; PATH is '/bin:/usr/bin'",
        ),
        (("/no/such/program",), "cannot start '/no/such/program': No such file or directory"),
        (("./plain",), "cannot start './plain': Permission denied"),
        (("true", "a\0b"), "cannot start 'true': embedded null byte"),
        (("./text",), "cannot start './text': Exec format error"),
        ((), "cannot start '': the command is empty"),
        (("", "x"), "cannot start '': the command is empty"),
        (("true", "x" * 3_000_000), "cannot start 'true': Argument list too long"),
    ],
)
def test_a_program_that_cannot_start_is_a_value(tmp_path: Path, argv: tuple[str, ...], told: str) -> None:
    (tmp_path / "plain").write_text("x")
    (tmp_path / "text").write_text("just text")
    (tmp_path / "text").chmod(0o755)
    ended = start(argv, tmp_path, env={"PATH": "/bin:/usr/bin"})
    assert (ended.spawn_error, ended.code, ended.ok) == (told, None, False)


def test_a_missing_folder_is_named_as_such_and_not_as_a_missing_program(tmp_path: Path) -> None:
    ended = start(("true",), tmp_path, cwd=tmp_path / "gone")
    assert ended.spawn_error == f"the folder {tmp_path / 'gone'} does not exist"


@pytest.mark.field_report("DMN-010")
def test_a_bare_name_is_looked_up_in_the_path_the_child_gets(tmp_path: Path) -> None:
    # Field report DMN-010: what a person's shell finds, a service with a minimal PATH does not.
    tool = tmp_path / "bin" / "tool"
    tool.parent.mkdir()
    tool.write_text("#!/bin/sh\necho found\n")
    tool.chmod(0o755)
    assert start(("tool",), tmp_path, env={"PATH": str(tool.parent)}).tail == b"found\n"
    assert "PATH is '/usr/bin:/bin'" in start(("tool",), tmp_path, env={"PATH": "/usr/bin:/bin"}).spawn_error
