"""The guard as an agent meets it: a hook's command, a socket, an exit code."""

from __future__ import annotations

import json
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from autopilot.config import proc
from autopilot.config.clock import SystemClock
from autopilot.runner.guard.selftest import client_command, fault_of
from autopilot.runner.guard.service import GuardService
from autopilot.runner.guard.verdict import Decision, GuardContext, GuardRequest
from tests.support.asking import ask, event
from tests.support.clock import FakeClock


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    tree = tmp_path / "tree"
    (tree / "src").mkdir(parents=True)
    (tmp_path / "tmp").mkdir()
    return tree


@pytest.fixture
def service(tmp_path: Path, tree: Path) -> Iterator[GuardService]:
    context = GuardContext(str(tree), str(tmp_path / "tmp"))
    with GuardService(context, tmp_path / "guard.sock", clock=SystemClock()) as service:
        yield service


@pytest.mark.covers("H01", "H23")
def test_the_hook_is_silent_about_what_is_allowed(service: GuardService, tree: Path) -> None:
    done = ask(service.socket, event("Bash", tree, command="git status"))
    assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")
    assert service.asked == 1
    assert service.blocked == ()


@pytest.mark.covers("H23")
def test_the_hook_ends_with_2_and_the_accepted_form(service: GuardService, tree: Path) -> None:
    done = ask(service.socket, event("Bash", tree, command='git commit -m "$(cat <<EOF\nx\nEOF\n)"'))
    assert (done.returncode, done.stdout) == (2, b"")
    assert b"git commit -F - <<'EOF'" in done.stderr
    assert [(one.tool, one.code) for one in service.blocked] == [("Bash", "substitution")]


@pytest.mark.covers("H12")
def test_what_the_run_wrote_is_not_run(service: GuardService, tree: Path) -> None:
    run = event("Bash", tree, command="./check.sh")
    assert ask(service.socket, run).returncode == 0
    assert ask(service.socket, event("Write", tree, file_path=str(tree / "check.sh"))).returncode == 0
    refused = ask(service.socket, run)
    assert refused.returncode == 2
    assert b"made-by-the-run" in refused.stderr


def test_a_refused_write_is_not_remembered(service: GuardService, tree: Path) -> None:
    assert ask(service.socket, event("Write", tree, file_path="/etc/hosts")).returncode == 2
    assert service.written == frozenset()


@pytest.mark.field_report("DMN-040")
@pytest.mark.parametrize(
    "question", [b"", b"no json", b"[]", b"{}", b'{"tool_name": 1, "tool_input": {}}', b"[" * 90_000]
)
def test_a_question_that_is_none_is_refused(service: GuardService, question: bytes) -> None:
    done = ask(service.socket, question)
    assert done.returncode == 2
    assert done.stderr


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
def test_an_asker_whose_thread_has_no_memory_to_begin_is_refused_and_the_next_is_answered(
    service: GuardService, tree: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    real, left = getattr(threading.Thread, "_bootstrap"), [MemoryError()]  # noqa: B009 - not ours

    def bootstrap(thread: threading.Thread) -> None:
        if left:
            raise left.pop()
        real(thread)

    monkeypatch.setattr(threading.Thread, "_bootstrap", bootstrap)
    question = event("Bash", tree, command="git status")
    assert ask(service.socket, question).returncode == 2
    assert ask(service.socket, question).returncode == 0


def test_without_a_guard_everything_is_refused(tmp_path: Path, tree: Path) -> None:
    question = event("Bash", tree, command="ls")
    assert ask(tmp_path / "nobody.sock", question).returncode == 2
    assert ask(tmp_path / "no-folder" / "guard.sock", question).returncode == 2
    (tmp_path / "file.sock").write_text("", encoding="utf-8")
    assert ask(tmp_path / "file.sock", question).returncode == 2
    client = client_command("")
    assert subprocess.run(client[:-1], input=question, capture_output=True, check=False).returncode == 2


@pytest.mark.covers("H20")
def test_a_guard_that_does_not_answer_is_not_waited_for(tmp_path: Path, tree: Path) -> None:
    place = tmp_path / "mute.sock"
    with socket.socket(socket.AF_UNIX) as mute:
        mute.bind(str(place))
        mute.listen()
        done = ask(place, event("Bash", tree, command="ls"), "0.3")
    assert done.returncode == 2
    assert b"no answer in time" in done.stderr


@pytest.mark.parametrize(
    "answer", [b"", b"allow", b"allow\nx", b"block\n", b"ALLOW\n", b"\x00", b"allow\nallow\n"]
)
def test_only_the_whole_word_allows(tmp_path: Path, tree: Path, answer: bytes) -> None:
    place = tmp_path / "liar.sock"
    with socket.socket(socket.AF_UNIX) as liar:
        liar.bind(str(place))
        liar.listen()

        def reply() -> None:
            conn, _ = liar.accept()
            with conn:
                while conn.recv(65536):
                    pass
                conn.sendall(answer)

        thread = threading.Thread(target=reply)
        thread.start()
        done = ask(place, event("Bash", tree, command="ls"))
        thread.join()
    assert done.returncode == 2
    assert done.stderr


class Broken(GuardService):
    """Fails as often as it has faults, and is well afterwards."""

    faults = 4

    def _decide(self, request: GuardRequest) -> Decision:
        if self.faults:
            self.faults -= 1
            raise ZeroDivisionError
        return super()._decide(request)


class Slow(GuardService):
    def _decide(self, request: GuardRequest) -> Decision:
        assert isinstance(self._clock, FakeClock)
        self._clock.advance(6.0)
        return super()._decide(request)


@pytest.mark.field_report("DMN-040")
def test_a_fault_of_the_guard_is_a_refusal_and_not_its_end(tmp_path: Path, tree: Path) -> None:
    context = GuardContext(str(tree), str(tmp_path / "tmp"))
    with Broken(context, tmp_path / "guard.sock", clock=SystemClock()) as service:
        for _ in range(4):
            done = ask(service.socket, event("Bash", tree, command="ls"))
            assert done.returncode == 2
            assert b"guard-fault" in done.stderr
        assert [one.code for one in service.blocked] == ["guard-fault"] * 4
        assert ask(service.socket, event("Bash", tree, command="git push")).returncode == 2
        assert ask(service.socket, event("Bash", tree, command="ls")).returncode == 0


@pytest.mark.field_report("AGT-040")
@pytest.mark.covers("H14", "H15")
def test_an_attempt_to_publish_is_refused_and_remembered(service: GuardService, tree: Path) -> None:
    for command in ("git push origin HEAD", "git commit -m x && gh pr create --fill"):
        assert ask(service.socket, event("Bash", tree, command=command)).returncode == 2
    assert [one.code for one in service.blocked] == ["git-command", "subcommand"]


@pytest.mark.covers("H20")
def test_an_answer_after_five_seconds_is_a_refusal(tmp_path: Path, tree: Path) -> None:
    context = GuardContext(str(tree), str(tmp_path / "tmp"))
    with Slow(context, tmp_path / "guard.sock", clock=FakeClock()) as service:
        done = ask(service.socket, event("Bash", tree, command="ls"))
    assert done.returncode == 2
    assert b"too-late" in done.stderr


def test_many_hooks_at_once_are_all_answered(service: GuardService, tree: Path) -> None:
    questions = [event("Bash", tree, command=line) for line in ("ls", "git push") * 6]
    running = [
        subprocess.Popen(client_command(str(service.socket)), stdin=subprocess.PIPE, stderr=subprocess.PIPE)
        for _ in questions
    ]
    for process, question in zip(running, questions, strict=True):
        assert process.stdin is not None
        process.stdin.write(question)
        process.stdin.close()
    codes = []
    for process in running:
        assert process.stderr is not None
        process.stderr.read()
        process.stderr.close()
        codes.append(process.wait())
    assert codes == [0, 2] * 6


def test_a_long_socket_path_is_no_obstacle(tmp_path: Path, tree: Path) -> None:
    deep = tmp_path / ("d" * 100)
    deep.mkdir()
    with GuardService(
        GuardContext(str(tree), str(tmp_path / "tmp")), deep / "guard.sock", clock=SystemClock()
    ) as service:
        assert ask(service.socket, event("Bash", tree, command="ls")).returncode == 0
    assert not (deep / "guard.sock").exists()


@pytest.mark.field_report("AGT-040")
def test_the_self_test_passes_with_a_guard_and_names_one_that_is_none(
    service: GuardService, tree: Path, tmp_path: Path
) -> None:
    def fault(command: tuple[str, ...]) -> str | None:
        def asked(question: bytes) -> proc.Exit:
            return proc.run(
                command,
                cwd=tree,
                env={},
                output=tmp_path / "selftest.log",
                clock=SystemClock(),
                wall_s=60,
                stdin=question,
            )

        return fault_of(asked, cwd=tree)

    assert fault(client_command(str(service.socket))) is None
    allows_all = (sys.executable, "-I", "-S", "-c", "pass")
    assert "'git push origin HEAD' wrongly: it ended with 0" in (fault(allows_all) or "")
    refuses_all = (sys.executable, "-I", "-S", "-c", "raise SystemExit(2)")
    assert "'git status' wrongly" in (fault(refuses_all) or "")
    fails_open = (sys.executable, "-I", "-S", "-c", "raise SystemExit(1)")
    assert "ended with 1" in (fault(fails_open) or "")
    assert fault(("no-such-program",)) is not None


def test_the_client_imports_nothing_but_builtin_modules() -> None:
    code = (
        "import sys; before = set(sys.modules);"
        "exec(compile(sys.stdin.read(), 'c', 'exec'), {'__name__': 'c'});"
        "print(*set(sys.modules) - before)"
    )
    text = Path(client_command("x")[3]).read_text(encoding="utf-8")
    done = subprocess.run(
        [sys.executable, "-I", "-S", "-c", code], input=text, capture_output=True, text=True, check=True
    )
    assert set(done.stdout.split()) <= {"posix", "_signal", "_socket"}


def test_the_start_of_a_session_is_answered_and_not_counted(service: GuardService, tree: Path) -> None:
    start = {"hook_event_name": "SessionStart", "source": "startup", "cwd": str(tree)}
    assert ask(service.socket, json.dumps(start).encode()).returncode == 0
    assert (service.asked, service.blocked) == (0, ())
    disguised = {**start, "tool_name": "Bash", "tool_input": {"command": "git push"}}
    assert ask(service.socket, json.dumps(disguised).encode()).returncode == 2
