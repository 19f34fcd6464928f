"""How a program may be called, as a readable row: its options with the kind of their value, and its operands.

`-la` flags, `-n:number` with a value, `-j[:number]` with one attached or none, `-NUM` a bare number,
`--all`, `--lines=number`, `--color[={auto|never}]`. Operands: `read`, `text read*`, `write+`, `read?`.
In the single style (go, find) `-run=text` is one option. What a row does not name is refused, also as an
abbreviation. Must not know a program.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import TYPE_CHECKING, NamedTuple

from autopilot.runner.guard.policy.kinds import kind
from autopilot.runner.guard.verdict import Refused

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from autopilot.runner.guard.act import Act
    from autopilot.runner.guard.grammar import Word
    from autopilot.runner.guard.policy.kinds import Kind


class Call(NamedTuple):
    """One program with its arguments, its act and the here-document it reads."""

    name: str
    args: tuple[Word, ...]
    act: Act
    heredoc: str | None = None

    def after(self, count: int, name: str = "") -> Call:
        """Give the call that begins `count` arguments later."""
        return Call(name or self.name, self.args[count:], self.act, self.heredoc)


Policy = Callable[[Call], None]


class Option(NamedTuple):
    """An option: None for a flag, else the kind of its value."""

    value: Kind | None
    is_optional: bool


class Given(NamedTuple):
    """What a call gave."""

    options: tuple[tuple[str, Word | None], ...]
    operands: tuple[Word, ...]

    def has(self, *names: str) -> bool:
        """Whether one of these options was given."""
        return any(name in names for name, _ in self.options)

    def values(self, *names: str) -> list[Word]:
        """List the values given to these options."""
        return [value for name, value in self.options if name in names and value is not None]


_TOKEN = re.compile(r"(?P<dashes>--?)(?P<name>[^:=\[]+)(?P<value>\[?[:=](?P<kind>[^\]]+)\]?)?")
_NUMBER = re.compile(r"-[0-9]+")
_NEGATIVE = re.compile(r"-[0-9]")
_TAKES_DASHES = frozenset({"-e", "--regexp", "-S", "-G", "--grep", "-m", "--message"})
_BARE_NUMBER = "-NUM"


class Form:
    """A way to call a program."""

    def __init__(
        self, options: str, operands: str = "", *, is_single: bool = False, stops: bool = False
    ) -> None:
        self._shown = " ".join(options.split())
        self._options: Mapping[str, Option] = dict(_row(options, is_single=is_single))
        self._operands = operands.split()
        self._is_single = is_single
        self._stops = stops

    def __call__(self, call: Call) -> None:
        self.read(call)

    def read(self, call: Call) -> Given:
        """Judge a call word by word.

        Raises:
            Refused: an option that the row does not name, or a value of another kind.
        """
        reader = _Reader(self._options, call, self._shown)
        operands = reader.run(is_single=self._is_single, stops=self._stops)
        self._judge_operands(call, operands)
        return Given(tuple(reader.found), tuple(operands))

    def _judge_operands(self, call: Call, operands: Sequence[Word]) -> None:
        rest = list(operands)
        for spec in self._operands:
            name, many = (spec[:-1], spec[-1]) if spec[-1] in "*+?" else (spec, "")
            count = len(rest) if many in {"*", "+"} else min(1, len(rest))
            if not count and many in {"", "+"}:
                raise Refused("operand-missing", f"{call.name}: name the file or text it is about")
            for word in rest[:count]:
                kind(name)(call.act, word)
            rest = rest[count:]
        if rest:
            raise Refused("operand", f"{call.name} does not take {rest[0].text!r} here")


class _Reader:
    def __init__(self, options: Mapping[str, Option], call: Call, shown: str) -> None:
        self._options = options
        self._call = call
        self._shown = shown
        self._waiting = list(call.args)
        self.found: list[tuple[str, Word | None]] = []

    def run(self, *, is_single: bool, stops: bool) -> list[Word]:
        operands: list[Word] = []
        while self._waiting:
            word = self._waiting.pop(0)
            text = word.text
            if text == "--":
                return operands + self._waiting
            if text == "-" or not text.startswith("-"):
                operands.append(word)
                if stops:
                    return operands + self._waiting
            elif _BARE_NUMBER in self._options and _NUMBER.fullmatch(text):
                self.found.append((_BARE_NUMBER, word))
            elif is_single or text.startswith("--"):
                self._long(word, is_single=is_single)
            else:
                self._bundle(word)
        return operands

    def _long(self, word: Word, *, is_single: bool) -> None:
        name, equals, value = word.text.partition("=")
        if is_single and name.startswith("--"):
            name = name[1:]
        option = self._option(name)
        if equals:
            if option.value is None:
                raise self._refusal(word.text)
            self._take(name, option, word.tail(len(word.text) - len(value)))
        elif option.value is None or option.is_optional:
            self.found.append((name, None))
        else:
            self._take(name, option, self._next(name))

    def _bundle(self, word: Word) -> None:
        for index in range(1, len(word.text)):
            name = f"-{word.text[index]}"
            option = self._option(name, shown=word.text)
            if option.value is None:
                self.found.append((name, None))
                continue
            attached = word.tail(index + 1)
            if attached.text:
                self._take(name, option, attached)
            elif option.is_optional:
                self.found.append((name, None))
            else:
                self._take(name, option, self._next(name))
            return

    def _next(self, name: str) -> Word:
        if not self._waiting:
            raise Refused("value-missing", f"{self._call.name} {name} needs a value")
        word = self._waiting.pop(0)
        is_option_like = len(word.text) > 1 and word.text.startswith("-") and not _NEGATIVE.match(word.text)
        if is_option_like and name not in _TAKES_DASHES:
            # Should a row be wrong about a value, this word would be an option that nobody judged.
            raise Refused(
                "value", f"{self._call.name} {name} {word.text}: a value does not begin with a dash"
            )
        return word

    def _take(self, name: str, option: Option, value: Word) -> None:
        if option.value is not None:
            option.value(self._call.act, value)
        self.found.append((name, value))

    def _option(self, name: str, shown: str | None = None) -> Option:
        found = self._options.get(name)
        if found is None:
            raise self._refusal(shown or name)
        return found

    def _refusal(self, shown: str) -> Refused:
        accepted = f"accepted: {self._shown}" if self._shown else "it takes no options"
        return Refused("option", f"{self._call.name} does not take {shown!r} here; {accepted}")


def _row(options: str, *, is_single: bool) -> list[tuple[str, Option]]:
    row: list[tuple[str, Option]] = []
    for token in options.split():
        if token == _BARE_NUMBER:
            row.append((token, Option(None, is_optional=False)))
            continue
        found = _TOKEN.fullmatch(token)
        letters = 0 if is_single or token.startswith("--") else len(found["name"]) if found else 0
        if found is None or (found["kind"] and letters > 1):
            raise ValueError(token)
        value = None if found["kind"] is None else kind(found["kind"])
        option = Option(value, is_optional=(found["value"] or "").startswith("["))
        if found["dashes"] == "-" and not is_single:
            row.extend((f"-{letter}", option) for letter in found["name"])
        else:
            row.append((found["dashes"] + found["name"], option))
    return row


def one_of(choices: Mapping[str, Policy], what: str) -> Policy:
    """Judge by the first argument, a subcommand."""

    def judge(call: Call) -> None:
        name = call.args[0].text if call.args else ""
        if name not in choices or call.args[0].pattern is not None:
            listed = ", ".join(sorted(choices))
            raise Refused("subcommand", f"{call.name} {name} is not a part of {what}; accepted: {listed}")
        choices[name](call.after(1, f"{call.name} {name}"))

    return judge


def refuse(code: str, reason: str) -> Policy:
    """Refuse whatever the arguments are."""

    def judge(call: Call) -> None:
        raise Refused(code, f"{call.name}: {reason}")

    return judge


def same(policy: Policy, *names: str) -> dict[str, Policy]:
    """Give several names one policy."""
    return dict.fromkeys(names, policy)
