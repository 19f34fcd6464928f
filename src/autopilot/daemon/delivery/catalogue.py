"""The texts of what is delivered, by language, with numbers and money as that language writes them.

Must not look at a locale: the language is a setting. One that is not known gets English.
"""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from importlib import resources
from typing import TYPE_CHECKING

from autopilot.schemas.units import format_usd

if TYPE_CHECKING:
    from collections.abc import Mapping

LANGUAGES = ("en", "tr", "de")
_GROUP = 3


@dataclass(frozen=True, slots=True)
class Catalogue:
    """The texts of one language."""

    language: str
    texts: Mapping[str, str]
    """By table and key: `digest.title`."""

    def say(self, key: str, **values: str) -> str:
        """Give a text with its places filled."""
        return self.texts[key].format_map(values)

    def word(self, table: str, name: str) -> str:
        """Give the word for a name of ours; a newer one, which no language knows yet, as it is."""
        return self.texts.get(f"{table}.{name}", name)

    def number(self, value: int) -> str:
        """Write a whole number."""
        return self._written(str(value))

    def usd(self, cost_micro_usd: int) -> str:
        """Write an amount of dollars, to the same digits as everywhere else."""
        sign, _, amount = format_usd(cost_micro_usd).rpartition("$")
        return sign + self.say("number.usd", amount=self._written(amount))

    def _written(self, digits: str) -> str:
        whole, _, decimals = digits.partition(".")
        head = len(whole) % _GROUP
        groups = [whole[:head], *(whole[at : at + _GROUP] for at in range(head, len(whole), _GROUP))]
        shown = self.texts["number.group"].join(filter(None, groups))
        return shown + (self.texts["number.decimal"] + decimals if decimals else "")


def is_spoken(language: str) -> bool:
    """Tell whether there are texts in a language, whatever its country."""
    return language.partition("-")[0] in LANGUAGES


def catalogue(language: str) -> Catalogue:
    """Read the texts of a language such as `de` or `pt-BR`."""
    spoken = language.partition("-")[0] if is_spoken(language) else LANGUAGES[0]
    file = resources.files("autopilot.daemon.delivery").joinpath("texts", f"{spoken}.toml")
    tables = tomllib.loads(file.read_text(encoding="utf-8"))
    texts = {f"{table}.{key}": text for table, rows in tables.items() for key, text in rows.items()}
    return Catalogue(spoken, texts)
