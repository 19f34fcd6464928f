"""The process funnel: limits, callbacks, and how a call is stopped. Real children, no shell."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from autopilot.config import proc
from tests.support.clock import FakeClock
from tests.support.programs import PYTHON, start


def test_a_program_without_end_is_stopped_at_its_wall_limit(tmp_path: Path) -> None:
    ended = start(("sleep", "600"), tmp_path, wall_s=0.1)
    assert (ended.stopped, ended.signal, ended.ok) == ("wall", 15, False)


def test_a_program_that_says_nothing_is_stopped_for_its_silence(tmp_path: Path) -> None:
    ended = start(("sh", "-c", "echo hello; exec sleep 600"), tmp_path, silence_s=1.5)
    assert (ended.stopped, ended.tail) == ("silence", b"hello\n")


def test_a_program_that_keeps_talking_is_not_silent(tmp_path: Path) -> None:
    clock, looks = FakeClock(), iter(range(100))

    def should_stop() -> str | None:
        clock.advance(4)
        return "enough" if next(looks) == 50 else None

    ended = start(("yes",), tmp_path, clock=clock, silence_s=5, wall_s=1000, should_stop=should_stop)
    assert ended.stopped == "enough"


def test_silence_is_measured_on_the_clock_that_stops_while_the_machine_sleeps(tmp_path: Path) -> None:
    clock = FakeClock()

    def should_stop() -> None:
        clock.jump_wall(3600)

    ended = start(("sleep", "0.3"), tmp_path, clock=clock, silence_s=5, wall_s=5, should_stop=should_stop)
    assert (ended.stopped, ended.code) == ("", 0)


@pytest.mark.field_report("AGT-012")
def test_a_flood_without_a_newline_is_cut_at_the_ceiling(tmp_path: Path) -> None:
    # Field report AGT-012, the variant without any newline.
    flood = "import sys\nwhile True: sys.stdout.write('x' * 65536)"
    ended = start((*PYTHON, flood), tmp_path, max_output_bytes=3_000_001, stderr=tmp_path / "err")
    assert ended.stopped == "output-ceiling"
    assert 2_900_000 < ended.output.stat().st_size <= 3_000_001


def test_errors_count_towards_the_ceiling(tmp_path: Path) -> None:
    flood = "import sys\nwhile True: sys.stderr.write('x' * 65536)"
    ended = start((*PYTHON, flood), tmp_path, max_output_bytes=1_000_000, stderr=tmp_path / "err")
    assert ended.stopped == "output-ceiling"
    assert 900_000 < (tmp_path / "err").stat().st_size <= 1_000_000


@pytest.mark.field_report("DMN-021")
def test_dmn_021_the_log_of_a_flood_keeps_its_head_and_its_end_and_says_what_is_missing(
    tmp_path: Path,
) -> None:
    flood = (
        "import os, signal\n"
        "def last_words(*_):\n"
        "    os.write(1, b'the last words'); os._exit(1)\n"
        "signal.signal(signal.SIGTERM, last_words)\n"
        "os.write(1, b'the first words')\n"
        "while True: os.write(1, b'x' * 65536)"
    )
    ended = start((*PYTHON, flood), tmp_path, max_output_bytes=2_000_000, stderr=tmp_path / "err")
    assert ended.stopped == "output-ceiling"
    log = ended.output.read_bytes()
    assert len(log) <= 2_000_000
    assert log.startswith(b"the first words")
    assert log.endswith(b"the last words")
    assert b"bytes are left out here]" in log


@pytest.mark.parametrize("size", [1, 999_999, 1_000_000])
def test_output_up_to_the_ceiling_is_kept_whole(tmp_path: Path, size: int) -> None:
    shown = "".join(f"{number:07}\n" for number in range(125_000))[:size]
    program = f"import sys; sys.stdout.write(''.join(f'{{n:07}}\\n' for n in range(125_000))[:{size}])"
    ended = start((*PYTHON, program), tmp_path, max_output_bytes=1_000_000)
    assert ended.ok
    assert ended.output.read_text() == shown


@pytest.mark.field_report("AGT-012")
def test_a_line_of_fifty_megabytes_arrives_in_small_chunks_and_the_next_line_whole(tmp_path: Path) -> None:
    # Field report AGT-012: a reader by lines died of a long one, or lost what came after it.
    sizes: list[int] = []
    last = bytearray()

    def on_output(chunk: bytes) -> None:
        sizes.append(len(chunk))
        last.extend(chunk)
        del last[:-64]

    ended = start((*PYTHON, "print('x' * 50_000_000); print('result')"), tmp_path, on_output=on_output)
    assert ended.ok
    assert (sum(sizes), max(sizes) <= 64 * 1024) == (50_000_008, True)
    assert last.endswith(b"x\nresult\n")
    assert len(ended.tail) == 64 * 1024


@pytest.mark.field_report("AGT-034", "AGT-036")
def test_bytes_that_are_no_text_come_through_unchanged(tmp_path: Path) -> None:
    # Field reports AGT-034 and AGT-036: a strict decoder on the way hid the exit code and the result.
    noise = b'{"a":"\xe4[log] x\n\xbb\xb6"}\n\xff\0\r\n\xef\xbb\xbf{"type":"result"}'
    (tmp_path / "noise").write_bytes(noise)
    seen: list[bytes] = []
    ended = start(("sh", "-c", "cat noise; exit 3"), tmp_path, on_output=seen.append)
    assert (ended.code, ended.tail, b"".join(seen)) == (3, noise, noise)


def test_a_callback_may_stop_the_program_and_say_why(tmp_path: Path) -> None:
    ended = start(
        ("sh", "-c", "echo cost; exec sleep 600"),
        tmp_path,
        on_output=lambda chunk: "over-ceiling" if chunk else None,
    )
    assert (ended.stopped, ended.tail) == ("over-ceiling", b"cost\n")


def test_a_program_can_be_stopped_from_outside_and_says_its_last_words(tmp_path: Path) -> None:
    polite = (
        "import os, signal, sys\n"
        "signal.signal(signal.SIGTERM, lambda *_: (os.write(1, b'bye\\n'), sys.exit(0)))\n"
        "os.write(1, b'ready\\n')\nsignal.pause()"
    )
    words: list[bytes] = []
    ended = start(
        (*PYTHON, polite), tmp_path, on_output=words.append, should_stop=lambda: "drain" if words else None
    )
    assert (ended.stopped, ended.code, b"".join(words)) == ("drain", 0, b"ready\nbye\n")


def test_whom_we_started_is_told_at_once(tmp_path: Path) -> None:
    told: list[tuple[proc.ProcessId, bool]] = []
    heard = tmp_path / "heard"
    waits = f"while not os.path.exists({str(heard)!r}): time.sleep(0.01)"

    def hear(who: proc.ProcessId) -> None:
        told.append((who, proc.is_alive(who)))
        heard.touch()

    ended = start(
        (*PYTHON, f"import os, time\n{waits}\nprint(os.getpid())"), tmp_path, on_start=hear, wall_s=60
    )
    ((who, was_alive),) = told
    assert (int(ended.tail), was_alive, proc.is_alive(who)) == (who.pid, True, False)


@pytest.mark.field_report("AGT-013")
@pytest.mark.parametrize("broken", ["on_output", "should_stop", "on_start"])
def test_a_callback_that_breaks_ends_the_program_and_is_heard(tmp_path: Path, broken: str) -> None:
    # Field report AGT-013: the reader died, the child went on, and the run looked alive for ever.
    flood = "import sys\nwhile True: sys.stdout.write('x' * 65536)"
    who: list[proc.ProcessId] = []

    def call(name: str) -> None:
        if name == broken:
            raise RuntimeError("the reader broke")

    def on_start(process: proc.ProcessId) -> None:
        who.append(process)
        call("on_start")

    with pytest.raises(RuntimeError, match="the reader broke"):
        start(
            (*PYTHON, flood),
            tmp_path,
            on_start=on_start,
            on_output=lambda chunk: call("on_output"),
            should_stop=lambda: call("should_stop"),
        )
    assert not proc.is_alive(who[0])
    with pytest.raises(ChildProcessError):
        os.waitpid(who[0].pid, os.WNOHANG)


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no /dev/full on this system")
def test_a_full_disk_ends_the_program_and_is_heard(tmp_path: Path) -> None:
    who: list[proc.ProcessId] = []
    with pytest.raises(OSError, match="No space left on device"):
        start(("sh", "-c", "echo x; exec sleep 600"), tmp_path, output=Path("/dev/full"), on_start=who.append)
    assert not proc.is_alive(who[0])


def test_descriptors_are_given_back(tmp_path: Path) -> None:
    start(("true",), tmp_path)
    before = len(list(Path("/dev/fd").iterdir()))
    for argv in (("true",), ("no-such-program",)):
        start(argv, tmp_path, stderr=tmp_path / "err", stdin=b"x")
    assert len(list(Path("/dev/fd").iterdir())) == before
