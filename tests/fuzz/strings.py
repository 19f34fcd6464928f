"""Makes random command lines, by seed: wild ones, ones aimed at the accepted subset, and those changed."""

from __future__ import annotations

import random
from collections.abc import Iterator

# Three letters: no program and no builtin can be spelled, whatever bash makes of a line.
_WILD = "aaabbx  ;;&&||<>>'''\"\"\"\\\\$`(){}[]*?!#~=-+.,:/@^%12\n\t\r\x0b\x0c\u00a0\u00e9"
_NAMES = (
    "aa",
    "bb",
    "git",
    "ls",
    "echo",
    "cd",
    "test",
    "[",
    "true",
    "exit",
    ":",
    "x.y",
    "a=b",
    "-x",
    "%1",
    "!",
)
_WORDS = (
    "push", "-la", "--opt=val", "--opt", "-", "--", "src/a.py", "../x", "a b", "$HOME", "`id`", "$(id)",
    ";", "&&", "|", "#x", "x#y", "HEAD~1", "~", "a~b", "a=~", "@{1}", "HEAD^{tree}", "{}", "{a,b}", "!",
    "a!b", "*", "a*", "[ab]", "?x", "", "é日", "\\", "'", '"', "\n", "2", "12", "$?", "EOF", "if",
    "a$", "a$ b", "^(a|b)$", "5$.", "$|x", "a$)", "$$", "$", "done", "a,b", "a:b", "%", "^", "+x", "]", "[",
)  # fmt: skip
_PLAIN = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_@%+=:,./^-~#!*?[]{}")
_LITERAL = _PLAIN - frozenset("~#!*?[]{}")
_GAPS = (" ", " ", " ", "  ", "\t", " \\\n ")
_JOINTS = (" && ", " || ", " | ", "; ", "\n", ";", "&&", "|", " |\n", " &&\n", " # note\n", "\n\n")
_REDIRECTS = (
    " > f",
    " >> f",
    " >f",
    " 2>&1",
    " 2> g",
    " < /dev/null",
    " 2>/dev/null",
    " >&2",
    " 1>f",
    " > 'f g'",
    "2>h",
    " 12>k",
)


def lines(seed: int, count: int) -> Iterator[str]:
    """Give that many command lines."""
    chance = random.Random(seed)
    for index in range(count):
        match index % 4:
            case 0:
                yield _wild(chance)
            case 1 | 2:
                yield _aimed(chance)
            case _:
                yield _changed(chance, _aimed(chance))


def _wild(chance: random.Random) -> str:
    return "".join(chance.choices(_WILD, k=chance.randint(1, 18)))


def _aimed(chance: random.Random) -> str:
    count = chance.choice((1, 1, 2, 2, 3, 4))
    text = ""
    for index in range(count):
        text += _command(chance) + (chance.choice(_JOINTS) if index < count - 1 else "")
    return text + chance.choice(("", "", "", "\n", ";", " # end"))


def _command(chance: random.Random) -> str:
    words = [_quoted(chance, chance.choice(_NAMES))]
    words += [_quoted(chance, chance.choice(_WORDS)) for _ in range(chance.randint(0, 4))]
    text = "".join(word + chance.choice(_GAPS) for word in words).rstrip(" \t")
    if chance.random() < 0.1:
        text = chance.choice(("CI=1 ", "A='x y' ", 'B="" ', "A=a~b ", "A+=1 ")) + text
    if chance.random() < 0.25:
        text += chance.choice(_REDIRECTS)
    if chance.random() < 0.08:
        body = "".join(
            chance.choice(("git push\n", "x `id`\n", "EOF \n", " EOF\n", "\n", "'\n")) for _ in range(2)
        )
        mark = chance.choice(
            ("<<'EOF'", "<<'EOF'", "<< 'EOF'", '<<"EOF"', "<<EOF", "<<-'EOF'", "<<\\EOF", "<<'EO'F")
        )
        text += f" {mark}{chance.choice(('', ' | aa', ' && bb', '; aa', ' > f'))}\n{body}EOF"
    return text


def in_other_words(chance: random.Random, word: str, plain: frozenset[str] = _LITERAL) -> str:
    """Write a word down in a way that means the same; characters of `plain` may stand by themselves."""
    pieces = (_piece(chance, part, plain) for part in _parts(chance, word))
    return "".join(pieces) or chance.choice(("''", '""'))


def _quoted(chance: random.Random, word: str) -> str:
    """Write a word down in one of the ways that mean the same, or, now and then, as it is."""
    if chance.random() < 0.03:
        return word
    return in_other_words(chance, word, _PLAIN)


def _parts(chance: random.Random, word: str) -> list[str]:
    if len(word) < 2 or chance.random() < 0.6:
        return [word] if word else []
    cut = chance.randint(1, len(word) - 1)
    return [word[:cut], word[cut:]]


def _piece(chance: random.Random, part: str, plain: frozenset[str]) -> str:
    ways = ["'" + part.replace("'", "'\\''") + "'"]
    ways.append('"' + "".join("\\" + char if char in '"\\$`' else char for char in part) + '"')
    if "$" in part and plain is _PLAIN:
        ways.append('"' + "".join("\\" + char if char in '"\\`' else char for char in part) + '"')
    if part.isascii() and part.isprintable():
        ways.append("".join(char if char.isalnum() else "\\" + char for char in part))
    if set(part) <= plain or (part == "$?" and plain is _PLAIN):
        ways += [part] * 4
    return chance.choice(ways)


def _changed(chance: random.Random, text: str) -> str:
    for _ in range(chance.choice((1, 1, 2))):
        at = chance.randint(0, len(text))
        how = chance.random()
        if how < 0.45:
            text = text[:at] + chance.choice(_WILD) + text[at:]
        elif how < 0.8:
            text = text[:at] + text[at + 1 :]
        else:
            text = text[:at] + chance.choice(_WILD) + text[at + 1 :]
    return text
