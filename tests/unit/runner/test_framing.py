import json
from collections.abc import Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st

from autopilot.runner.agents.framing import JsonLines, LineFramer

MIB = 1 << 20
RESULT = b'{"type":"result","ok":true}\n'


def read(data: bytes, piece_bytes: int = 65_536) -> tuple[list[object], JsonLines]:
    lines = JsonLines()
    items: list[object] = []
    for start in range(0, len(data), piece_bytes):
        items += lines.feed(data[start : start + piece_bytes])
    return items + lines.end(), lines


def blocks(size_bytes: int) -> Iterator[bytes]:
    block = b"x" * 65_536
    for _ in range(size_bytes // len(block)):
        yield block


@given(data=st.binary(max_size=400), cuts=st.lists(st.integers(1, 40), min_size=1, max_size=20))
def test_lines_are_the_same_however_the_stream_is_cut(data: bytes, cuts: list[int]) -> None:
    framer = LineFramer()
    lines: list[bytes] = []
    rest, turn = data, 0
    while rest:
        size = cuts[turn % len(cuts)]
        lines += framer.feed(rest[:size])
        rest, turn = rest[size:], turn + 1
    lines += framer.end()
    expected = data.split(b"\n")
    assert lines == (expected if expected[-1] else expected[:-1])


@given(data=st.binary(max_size=2000), limit=st.integers(1, 50))
def test_no_bytes_whatever_raise_or_pass_the_limit(data: bytes, limit: int) -> None:
    lines = JsonLines(max_line_bytes=limit)
    for item in [*lines.feed(data), *lines.end()]:
        assert isinstance(item, str | dict)
    assert lines.objects + lines.damaged + lines.dropped <= data.count(b"\n") + 1


@pytest.mark.field_report("AGT-012")
def test_a_line_of_fifty_mebibytes_is_dropped_with_a_note_and_the_result_is_seen() -> None:
    lines = JsonLines()
    lines.feed(b'{"type":"assistant","text":"')
    for block in blocks(50 * MIB):
        assert lines.feed(block) == []
    seen = lines.feed(b'"}\n' + RESULT)
    assert seen == [json.loads(RESULT)]
    assert lines.dropped == 1
    assert lines.notes() == ("0 lines were not JSON and 1 were too long to read",)


@pytest.mark.field_report("AGT-012")
def test_a_flood_without_a_newline_holds_no_memory() -> None:
    framer = LineFramer(max_line_bytes=MIB)
    for block in blocks(200 * MIB):
        framer.feed(block)
        assert sum(len(part) for part in framer._parts) <= MIB  # noqa: SLF001 - the bound is the point
    assert framer.end() == []
    assert framer.dropped == 1


@pytest.mark.field_report("AGT-034")
@pytest.mark.parametrize("piece_bytes", [1, 7, 65_536])
def test_broken_bytes_are_counted_and_later_events_are_still_found(piece_bytes: int) -> None:
    event = '{"type":"assistant","text":"世"}'.encode()
    cut = event.index(b"\xe4") + 1
    data = b"".join(
        (
            b"\xef\xbb\xbf" + b'{"type":"system"}\r\n',
            event[:cut] + b"[log] x\n",
            event[cut:] + b"\n",
            b"\xff\n",
            b'{"type":"with\x00nul"}\n',
            b'["a list"]\n',
            b"\n\r\n",
            RESULT,
            b'{"type":"cut at the e',
        )
    )
    items, lines = read(data, piece_bytes)
    objects = [item["type"] for item in items if isinstance(item, dict)]
    assert objects == ["system", "withnul", "result"]
    assert (lines.objects, lines.damaged, lines.dropped) == (3, 5, 0)


@pytest.mark.field_report("AGT-034")
@pytest.mark.parametrize(
    "nested", [b'{"a":' * 50_000, b'{"a":' + b"[" * 100_000 + b"}", b'{"a":' + b"9" * 5000 + b"}"]
)
def test_json_that_is_hard_on_a_parser_is_only_counted(nested: bytes) -> None:
    items, lines = read(nested + b"\n" + RESULT)
    assert [item for item in items if isinstance(item, dict)] == [json.loads(RESULT)]
    assert lines.damaged == 1


def test_a_line_beyond_the_limit_inside_one_piece_is_dropped_alone() -> None:
    framer = LineFramer(max_line_bytes=5)
    assert framer.feed(b"short\nmuch too long\nok\n") == [b"short", b"ok"]
    assert framer.dropped == 1


@given(
    value=st.dictionaries(
        st.text(max_size=5),
        st.recursive(
            st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
            lambda inner: (
                st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3)
            ),
            max_leaves=8,
        ),
        max_size=4,
    ),
    is_ascii=st.booleans(),
)
def test_a_line_is_read_as_pythons_own_reader_reads_it(value: dict[str, object], is_ascii: bool) -> None:
    line = json.dumps(value, ensure_ascii=is_ascii).encode()
    (seen,) = JsonLines().feed(line + b"\n")
    assert json.dumps(seen) == json.dumps(json.loads(line))  # as texts: NaN is not equal to itself


@pytest.mark.parametrize(
    "line",
    [
        b'{"a": 1, "a": 2}',
        b'{"a": 123456789012345678901234567890, "b": -0, "c": 1E400}',
        b'{"a": "\\ud800 half a character"}',
        b'{"a": ' + b"[" * 900 + b"]" * 900 + b"}",
        b'{"a": NaN, "b": -Infinity}',
    ],
)
def test_odd_json_means_what_it_always_meant(line: bytes) -> None:
    (seen,) = JsonLines().feed(line + b"\n")
    assert json.dumps(seen) == json.dumps(json.loads(line))
