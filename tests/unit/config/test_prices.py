"""The price table: the shipped one, and what the operator lays over it."""

import re
from pathlib import Path

import pytest

from autopilot.config.layers import read_prices
from autopilot.config.load import load
from autopilot.config.paths import paths_below
from autopilot.config.settings import Settings
from autopilot.schemas.errors import ConfigError
from autopilot.schemas.price import TokenPrice
from tests.support.tree import ROOT

OWN = """
[prices."claude-opus-5"]
input_usd_per_mtok = 6

[prices."gpt-9.1"]
input_usd_per_mtok = 0.0000001
output_usd_per_mtok = 8
cache_read_usd_per_mtok = 0
cache_write_usd_per_mtok = 1
"""


def loaded(home: Path, text: str) -> Settings:
    paths = paths_below(home)
    paths.config_file.parent.mkdir(parents=True, exist_ok=True)
    paths.config_file.write_text(text)
    return load(paths)


@pytest.mark.covers("F04")
def test_the_operators_prices_are_laid_over_the_shipped_ones_key_by_key(tmp_path: Path) -> None:
    prices = loaded(tmp_path, OWN).agent().prices
    assert prices["claude-opus-5"] == TokenPrice(
        input=6_000_000, output=25_000_000, cache_read=500_000, cache_write=10_000_000
    )
    assert prices["gpt-9.1"].input == 1, "rounded up"


@pytest.mark.parametrize("value", ["-1", "nan", "inf", '"cheap"', "true"])
def test_a_price_that_is_none_is_refused_by_its_key(tmp_path: Path, value: str) -> None:
    with pytest.raises(ConfigError, match=r"prices\.claude-opus-5\.input_usd_per_mtok"):
        loaded(tmp_path, f'[prices."claude-opus-5"]\ninput_usd_per_mtok = {value}\n')


def test_a_price_that_is_not_whole_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="output_usd_per_mtok: is missing"):
        loaded(tmp_path, '[prices."mine"]\ninput_usd_per_mtok = 1\n')


def test_every_shipped_price_is_positive_and_the_table_says_whence_and_when() -> None:
    table = read_prices()["prices"]
    assert all(value > 0 for price in table.values() for value in price.values())
    assert all(price["cache_read_usd_per_mtok"] < price["input_usd_per_mtok"] for price in table.values())
    text = (ROOT / "src/autopilot/config/prices.toml").read_text(encoding="utf-8")
    assert "# Source: https://" in text
    assert re.search(r"as of 20\d\d-\d\d-\d\d", text)
