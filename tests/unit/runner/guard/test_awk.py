"""awk and jq: what is a text in a program is not taken for a part of it, nor the other way round."""

from __future__ import annotations

import pytest

from autopilot.runner.guard.judge import Guard
from autopilot.runner.guard.verdict import GuardContext, GuardRequest

GUARD = Guard(GuardContext("/w/T-1", "/t/T-1"))
WRITES = '{ print > "x" }'
HIDES = (
    '/"/ X /"/', '{ a = "}" } X', 'BEGIN { s = "\\"" } X', '# "\nX # "', '/[/]"/ X /"/', "/\\//\nX",
    "a { n++ / 2 } X", '{ if (x) /"/ } X /"/', '{ return /"/ } X /"/', '{ y = $/"/ } X /"/', "x { print } X",
)  # fmt: skip

FRAMES = ("X", ".a | X", "[X]", '"\\(X)"', '"a\\("x")b" | X | "c"', '"\\\\" | X', '# "\nX # "', '."a" | X')


def allowed(*words: str) -> bool:
    quoted = " ".join("'" + word.replace("'", "'\\''") + "'" for word in words)
    return GUARD.decide(GuardRequest("Bash", {"command": quoted})).allowed


@pytest.mark.parametrize("frame", HIDES)
@pytest.mark.parametrize(
    "act", [WRITES, '{ print "}" > 1 }', '{ print | "sh" }', '{ printf("%s", $1) > $2 }']
)
def test_nothing_hides_what_a_program_writes(frame: str, act: str) -> None:
    assert not allowed("awk", frame.replace("X", act), "a")


@pytest.mark.parametrize(
    "program",
    [
        "$3 > $4", "{ if ($1 > max) max = $1 } END { print max }", "/a>b/", "/a|b/ { print $1 }",
        '{ n = split($0, p, "|"); print p[n] }', "$2 / $3 > 0.5", '$1 == ">" { print "a > b" }',
        "NR > 1 # > x",
        "$1 ~ /^[0-9]+$/ && a[$1]++ > 1",
    ],
)  # fmt: skip
def test_what_compares_is_no_file(program: str) -> None:
    assert allowed("awk", program, "a")


@pytest.mark.parametrize(
    "word", ["env", "input_filename", "$ENV.HOME", 'import "x" as y; .', 'include "x"; .']
)
def test_no_text_hides_what_a_filter_reads(word: str) -> None:
    for frame in (
        "X",
        ".a | X",
        "[X]",
        '"\\(X)"',
        '"a\\("x")b" | X | "c"',
        '"\\\\" | X',
        '# "\nX # "',
        '."a" | X',
    ):
        assert not allowed("jq", frame.replace("X", word), "a.json"), frame
    assert allowed("jq", ".env | .include", "src/import.json")
    assert allowed("jq", '.["env"]', "a.json")
