"""Tokens times a price, where an agent tells no cost; and what is never priced at nothing."""

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from autopilot.runner.agents.adapter import Ending
from autopilot.runner.agents.claude import ClaudeAgent
from autopilot.runner.agents.command import CommandAgent
from autopilot.runner.agents.pricing import Tally
from autopilot.runner.meter import Meter
from autopilot.schemas.price import TokenCount, TokenPrice
from autopilot.schemas.run import AgentSpec, Usage
from tests.support.orders import make_order

PRICE = TokenPrice(input=4_000_000, output=20_000_000, cache_read=200_000, cache_write=8_000_000)
PRICES = {"opus": PRICE}
IN_OUT = {"type": "usage", "input_tokens": 1000, "output_tokens": 100}
DONE = Ending(0, None, "")


def told(tmp_path: Path, *lines: dict[str, Any], model: str | None = "opus") -> Usage:
    """What a command agent is said to have used after these lines."""
    agent = CommandAgent()
    spec = AgentSpec(name="mine", kind="command", argv=("tool",), model=model, prices=PRICES)
    agent.launch(make_order(spec, tmp_path))
    agent.feed("".join(json.dumps(line) + "\n" for line in lines).encode())
    return agent.finish(DONE).usage


@pytest.mark.covers("F04")
@pytest.mark.parametrize(
    ("used", "cost"),
    [
        (TokenCount(), 0),
        (TokenCount(input=1_000_000), 4_000_000),
        (TokenCount(input=1000, output=100), 6000),
        (TokenCount(input=10, output=10, cache_read=10, cache_write=10), 322),
        (TokenCount(cache_read=1), 1),
        (TokenCount(cache_read=5), 1),
        (TokenCount(cache_read=6), 2),
    ],
)
def test_tokens_cost_their_price_and_a_part_of_a_micro_dollar_is_a_whole_one(
    used: TokenCount, cost: int
) -> None:
    assert PRICE.cost_micro_usd(used) == cost


@given(st.lists(st.tuples(*[st.integers(0, 10**9)] * 4), max_size=20))
def test_counters_become_differences_and_the_sum_never_understates_a_reading(
    readings: list[tuple[int, int, int, int]],
) -> None:
    tally, seen = Tally(), 0
    for first, second, third, fourth in readings:
        shown = TokenCount(input=first, output=second, cache_read=third, cache_write=fourth)
        tally.read(shown, "opus")
        cost = tally.cost_micro_usd(PRICES)
        assert cost is not None
        assert cost >= max(seen, PRICE.cost_micro_usd(shown))
        seen = cost


@pytest.mark.covers("F04")
@pytest.mark.parametrize(
    ("lines", "cost"),
    [
        ([IN_OUT], 6000),
        ([IN_OUT, {**IN_OUT, "input_tokens": 3000}], 14_000),
        ([IN_OUT, {**IN_OUT, "input_tokens": 500}], 6000 + 4000),
        ([{**IN_OUT, "model": "opus-20260101"}], 6000),
        ([{**IN_OUT, "cache_read_tokens": 10_000, "cache_write_tokens": 1000}], 16_000),
        ([{**IN_OUT, "cost_usd": 0.5}], 500_000),
        ([IN_OUT, {**IN_OUT, "cost_usd": 0.5}], 500_000),
        ([{**IN_OUT, "model": "what"}, {**IN_OUT, "cost_usd": 0.5}], 500_000),
    ],
    ids=["priced", "grown", "fell", "snapshot", "cached", "own", "own-after-priced", "own-after-unknown"],
)
def test_the_agents_own_total_counts_and_else_its_tokens(
    tmp_path: Path, lines: list[dict[str, Any]], cost: int
) -> None:
    usage = told(tmp_path, *lines)
    assert (usage.cost_micro_usd, usage.known, usage.unpriced) == (cost, True, ())


@pytest.mark.covers("F04")
@pytest.mark.parametrize(
    ("lines", "unpriced"),
    [
        ([{**IN_OUT, "model": "new-model"}], ("new-model",)),
        ([IN_OUT, {**IN_OUT, "input_tokens": 2000, "model": "new\x1b[2J"}], ("new",)),
        ([{"type": "usage", "input_tokens": 1000}], ()),
        ([{**IN_OUT, "output_tokens": -1}], ()),
        ([{**IN_OUT, "output_tokens": float("nan")}], ()),
        ([{**IN_OUT, "cache_read_tokens": "many"}], ()),
        ([{"type": "usage"}], ()),
        ([{**IN_OUT, "cost_usd": -1}], ()),
        ([{**IN_OUT, "cost_usd": float("nan")}], ()),
        ([{**IN_OUT, "cost_usd": float("inf")}], ()),
        ([{**IN_OUT, "cost_usd": 0.5}, IN_OUT], ()),
    ],
)
def test_what_cannot_be_priced_is_unknown_never_free(
    tmp_path: Path, lines: list[dict[str, Any]], unpriced: tuple[str, ...]
) -> None:
    usage = told(tmp_path, *lines)
    assert not usage.known
    assert [name.split()[0] for name in usage.unpriced] == list(unpriced)


def test_an_agent_that_names_no_model_has_no_price(tmp_path: Path) -> None:
    usage = told(tmp_path, IN_OUT, model=None)
    assert (usage.known, usage.unpriced) == (False, ("",))


def test_an_agent_that_names_models_without_end_is_bounded(tmp_path: Path) -> None:
    lines = [{**IN_OUT, "input_tokens": 1000 + number, "model": f"m{number}"} for number in range(200)]
    assert len(told(tmp_path, *lines).unpriced) <= 21


@pytest.mark.parametrize("cost", [{}, {"cost_usd": 1_000_000}])
def test_absurd_counters_are_bounded_and_their_cost_is_unknown_or_at_the_bound(
    tmp_path: Path, cost: dict[str, Any]
) -> None:
    high = {**IN_OUT, **cost, "input_tokens": 10**15, "cache_write_tokens": 10**15}
    usage = told(tmp_path, high, IN_OUT, high, high if cost else IN_OUT)
    assert usage.input_tokens <= 10**15
    assert not usage.known
    meter = Meter(None).read(10**12).read(0).read(10**12)
    assert Usage(cost_micro_usd=meter.total_micro_usd).cost_micro_usd == 10**12


def test_an_own_total_takes_the_place_of_the_priced_one_and_is_no_new_counter() -> None:
    meter = Meter(None).read(520_000, is_priced=True).read(500_000)
    assert meter.total_micro_usd == 500_000
    assert meter.read(100_000).total_micro_usd == 600_000


RESULT = {"type": "result", "subtype": "success", "is_error": False, "result": "Done."}
USED = {"inputTokens": 900, "outputTokens": 100, "cacheReadInputTokens": 5, "cacheCreationInputTokens": 100}


@pytest.mark.parametrize(
    ("models", "cost", "unpriced"),
    [
        ({"opus": USED}, 3600 + 2000 + 1 + 800, ()),
        ({"opus": USED, "other-20260101": USED}, None, ("other-20260101",)),
        ({"opus": {**USED, "outputTokens": None}}, None, ()),
        ({}, None, ()),
    ],
)
def test_claudes_result_without_a_total_is_priced_model_by_model(
    tmp_path: Path, models: dict[str, Any], cost: int | None, unpriced: tuple[str, ...]
) -> None:
    prompt = tmp_path / "prompt.md"
    prompt.write_text("x")
    agent = ClaudeAgent()
    agent.launch(make_order(AgentSpec(name="claude", kind="claude", prices=PRICES), tmp_path))
    agent.feed(json.dumps({**RESULT, "modelUsage": models}).encode() + b"\n")
    usage = agent.finish(DONE).usage
    assert (usage.known, usage.unpriced) == (cost is not None, unpriced)
    assert usage.cost_micro_usd == (cost or 0)
