"""What the lexer makes of a line, and what it refuses to understand."""

from __future__ import annotations

import pytest

from autopilot.runner.guard.grammar import MAX_BYTES, MAX_COMMANDS
from autopilot.runner.guard.lexer import parse
from autopilot.runner.guard.verdict import Refused


def words(line: str) -> list[list[str]]:
    return [[word.text for word in command.argv] for command in parse(line)]


def code(line: str) -> str:
    with pytest.raises(Refused) as refused:
        parse(line)
    return refused.value.code


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("ls -la", [["ls", "-la"]]),
        ("a 'b c' \"d e\" f\\ g", [["a", "b c", "d e", "f g"]]),
        ("""a"b"'c'd '' "" """, [["abcd", "", ""]]),
        (r'''a "\$x \` \\ \" \n"''', [["a", '$x ` \\ " \\n']]),
        ("a && b || c; d | e\nf", [["a"], ["b"], ["c"], ["d"], ["e"], ["f"]]),
        ("a \\\n  b", [["a", "b"]]),
        ("# one\na # two\n\nb", [["a"], ["b"]]),
        ("a |\n b &&\n\n c", [["a"], ["b"], ["c"]]),
        (
            "a x#y HEAD~1 HEAD@{1} HEAD^{tree} {} ! b!",
            [["a", "x#y", "HEAD~1", "HEAD@{1}", "HEAD^{tree}", "{}", "!", "b!"]],
        ),
        ("a >f 2>&1 2>> g <h b", [["a", "b"]]),
        ("a 'é' \"日本\"", [["a", "é", "日本"]]),
        ("g\\it pu's'h", [["git", "push"]]),
    ],
)
def test_words_are_what_bash_would_pass_on(line: str, expected: list[list[str]]) -> None:
    assert words(line) == expected


@pytest.mark.covers("H02")
@pytest.mark.parametrize(
    ("line", "expected"),
    [
        pytest.param("(ls)", "subshell", marks=pytest.mark.covers("H03")),
        pytest.param("a (b)", "subshell", marks=pytest.mark.covers("H03")),
        pytest.param("{ ls; }", "brace", marks=pytest.mark.covers("H04")),
        pytest.param("{ls,-la}", "brace", marks=pytest.mark.covers("H04")),
        pytest.param("echo $(a $(b))", "expansion", marks=pytest.mark.covers("H05")),
        pytest.param("echo `a`", "substitution", marks=pytest.mark.covers("H05")),
        pytest.param('echo "$(a $(b))"', "substitution", marks=pytest.mark.covers("H05")),
        pytest.param("cat <(a)", "redirect", marks=pytest.mark.covers("H05")),
        pytest.param("cat <<EOF\nx\nEOF", "heredoc", marks=pytest.mark.covers("H06")),
        pytest.param('cat <<"EOF"\nx\nEOF', "heredoc", marks=pytest.mark.covers("H06")),
        pytest.param("cat <<-'EOF'\nx\nEOF", "heredoc", marks=pytest.mark.covers("H06")),
        pytest.param("cat <<< x", "heredoc", marks=pytest.mark.covers("H06")),
        pytest.param("ls &", "background", marks=pytest.mark.covers("H07")),
        pytest.param("ls & ls", "background", marks=pytest.mark.covers("H07")),
        pytest.param("ls |& cat", "background", marks=pytest.mark.covers("H07")),
        pytest.param("$x a", "expansion", marks=pytest.mark.covers("H13")),
        pytest.param("${x:-rm} a", "expansion", marks=pytest.mark.covers("H13")),
        pytest.param("r* a", "computed-command", marks=pytest.mark.covers("H13")),
        pytest.param("x$? a", "computed-command", marks=pytest.mark.covers("H13")),
        ("cat <<'EOF'\nx", "heredoc-open"),
        ("cat <<'A' <<'B'\nA\nB", "heredoc-line"),
        ("cat <<'A' \"\n\"\nA", "heredoc-line"),
        ("ls\rrm", "control-character"),
        ("ls\x00", "control-character"),
        ("ls '\u200b'", "hidden-character"),
        ("ls '\u202e'", "hidden-character"),
        ("ls '\U000e0041'", "hidden-character"),
        ("ls\u00a0-la", "not-ascii"),
        ("ls # é", "not-ascii"),
        ("echo 'a", "quote-open"),
        ('echo "a', "quote-open"),
        ("l\\\ns", "line-in-word"),
        ('"a\\\nb"', "line-in-word"),
        ("a \\", "escape"),
        ("ls ~", "character"),
        ("a b=~", "character"),
        ("a >| b", "redirect"),
        ("a &> b", "background"),
        ("a >& b", "redirect"),
        ("a <> b", "redirect"),
        ("a 12> b", "redirect"),
        ("a 3> b", "redirect"),
        ("a > *", "redirect"),
        ("a > $?", "redirect"),
        ("a >", "redirect"),
        ("a 2>&1x", "redirect"),
        ("a &&", "no-command"),
        ("&& a", "no-command"),
        ("a ;; b", "no-command"),
        ("", "no-command"),
        ("# only", "no-command"),
        ("> a", "no-command"),
        ("A=1", "bare-assignment"),
        ("A+=1 a", "assignment"),
        ("A[0]=1 a", "assignment"),
        ("A=* a", "assignment"),
        ("a" * (MAX_BYTES + 1), "too-long"),
        ("; ".join(["a"] * (MAX_COMMANDS + 1)), "too-many-commands"),
    ],
)  # fmt: skip
def test_what_is_outside_the_subset_is_refused(line: str, expected: str) -> None:
    assert code(line) == expected


def test_a_quoted_heredoc_is_kept_and_read_no_further() -> None:
    commands = parse("git commit -F - <<'EOF' && ls\n$x `y`\n EOF\nEOF\npwd")
    assert [command.argv[0].text for command in commands] == ["git", "ls", "pwd"]
    assert commands[0].heredoc == "$x `y`\n EOF\n"
    assert commands[1].heredoc is None


def test_wildcards_are_marked_and_quoted_ones_are_not() -> None:
    (command,) = parse("ls a*b 'c*' \"?\" \\* [ab]c [ x]")
    patterns = [word.pattern is not None for word in command.argv[1:]]
    assert patterns == [True, False, False, False, True, False, False]


def test_assignments_stand_in_front_and_are_literal() -> None:
    (command,) = parse("CI=1 TZ='a b' make A=1")
    assert command.assignments == (("CI", "1"), ("TZ", "a b"))
    assert [word.text for word in command.argv] == ["make", "A=1"]
    (quoted,) = parse('"CI"=1 make')
    assert quoted.argv[0].text == "CI=1"
