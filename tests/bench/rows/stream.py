"""How fast an agent's output is understood, and what a line without an end costs in memory."""

from __future__ import annotations

import tracemalloc
from collections.abc import Iterator

import orjson

from autopilot.runner.agents.claude_stream import ClaudeStream
from autopilot.runner.agents.framing import MAX_LINE_BYTES
from tests.bench.measure import Bench, Finding, Row, Scale, interleaved, ratio
from tests.support.captures import NEWEST, capture, names

_MIB = 1024 * 1024
_CHUNK_BYTES = 64 * 1024
_LONG_LINE_MIB = 50
_MB_PER_S = 100
_SPEED, _LONG = "stream", "stream, 50 MB line"


def _measure(scale: Scale) -> Iterator[Finding]:
    data = _session(scale.stream_mib * _MIB)

    def ours() -> None:
        stream = ClaudeStream()
        for start in range(0, len(data), _CHUNK_BYTES):
            stream.feed(data[start : start + _CHUNK_BYTES])
        stream.end()

    def yardstick() -> None:
        for line in data.split(b"\n"):
            if line:
                orjson.loads(line)

    spent = interleaved({"ours": ours, "orjson": yardstick}, scale.rounds)
    found, mb = ratio(_SPEED, spent["ours"], spent["orjson"]), len(data) / 1e6
    notes = {"orjson_ratio": found.value, "mb_per_s": 1000 * mb / found.notes["ours_ms"]}
    limits_s = [max(2 * took.wall_s, mb / _MB_PER_S) for took in spent["orjson"]]
    values = (took.wall_s / limit_s for took, limit_s in zip(spent["ours"], limits_s, strict=True))
    yield Finding(_SPEED, tuple(values), {**found.notes, **notes})
    yield Finding(
        _LONG, tuple(_peak_mib() for _ in range(scale.few)), {"line_limit_mib": MAX_LINE_BYTES / _MIB}
    )


def _session(size_bytes: int) -> bytes:
    """A long session out of lines that real agents wrote: all but their ends, many times, and one end."""
    newest = [capture("claude", name) for name, version in names("claude") if version == NEWEST["claude"]]
    lines = [line for each in newest for line in each.stdout.split(b"\n") if line.startswith(b"{")]
    ends = [line for line in lines if orjson.loads(line).get("type") == "result"]
    once = b"".join(line + b"\n" for line in lines if line not in ends)
    return once * max(1, size_bytes // len(once)) + ends[0] + b"\n"


def _peak_mib() -> float:
    stream = ClaudeStream()
    tracemalloc.start()
    stream.feed(b'{"type":"assistant","text":"')
    for _ in range(_LONG_LINE_MIB * _MIB // _CHUNK_BYTES):
        stream.feed(bytes(bytearray(b"x" * _CHUNK_BYTES)))  # a new one each time, as a pipe gives them
    stream.feed(b'"}\n{"type":"result"}\n')
    peak = tracemalloc.get_traced_memory()[1] / _MIB
    tracemalloc.stop()
    assert stream.facts.result is not None, "the line after it was not read"
    return peak


BENCH = Bench(
    (
        Row(
            _SPEED,
            "a long session of recorded Claude Code lines, to our events",
            "twice orjson.loads per line, or 100 MB/s",
            "x",
            1.0,
        ),
        Row(_LONG, "peak memory while a line of 50 MB passes", "twice the longest line kept", "MiB", 32.0),
    ),
    _measure,
)
