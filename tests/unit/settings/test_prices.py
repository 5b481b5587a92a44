"""The price table and the budget settings: exact figures, and clear refusals at start."""

from __future__ import annotations

import json
from decimal import Decimal
from typing import Any

import pytest

from config.settings.env import Environment, SettingError
from config.settings.prices import Price, amount, currency, default_budget, model_prices


def table(text: str) -> dict[str, Price]:
    return model_prices(Environment({"MODEL_PRICES": text}).mapping("MODEL_PRICES", meaning="Prices."))


class TestExactFigures:
    def test_numbers_and_texts_are_read_as_they_were_written(self) -> None:
        read = table(
            '{"small": {"input": 0.15, "output": "0.60"}, "openai/embed": {"input": 0.02}, "rank": {"call": 2}}'
        )
        assert read == {
            "small": Price(input=Decimal("0.15"), output=Decimal("0.60")),
            "openai/embed": Price(input=Decimal("0.02")),
            "rank": Price(call=Decimal(2)),
        }

    @pytest.mark.parametrize(
        ("price", "tokens", "cost"),
        [
            (Price(input=Decimal("0.15"), output=Decimal("0.60")), (1_000, 500), "0.00045"),
            (Price(input=Decimal("0.02")), (5, 0), "0.0000001"),
            (Price(input=Decimal("0.000001")), (1, 0), "0.000000000001"),
            (Price(call=Decimal("0.002")), (700, 0), "0.002"),
            (Price(input=Decimal(1_000_000_000)), (1_000_000_000, 0), "1000000000000"),
        ],
    )
    def test_what_a_call_costs_is_exact(self, price: Price, tokens: tuple[int, int], cost: str) -> None:
        assert price.of(input_tokens=tokens[0], output_tokens=tokens[1]) == Decimal(cost)

    def test_many_small_calls_cost_what_they_cost_together(self) -> None:
        price = Price(input=Decimal("0.07"))
        apart = sum((price.of(input_tokens=7, output_tokens=0) for _ in range(100_000)), Decimal(0))
        assert apart == price.of(input_tokens=700_000, output_tokens=0) == Decimal("0.049")

    def test_a_price_of_nothing_is_a_price(self) -> None:
        assert table('{"mine": {"input": 0}}')["mine"].free


class TestRefusals:
    @pytest.mark.parametrize(
        ("values", "reason"),
        [
            ({"m": 3}, r"\['m'\] cannot be used: not an object"),
            ({"m": {}}, "not an object with input, output or call"),
            ({"m": {"in": 1}}, "'in' is none of input, output, call"),
            ({"m": {"input": -1}}, r"\['input'\] cannot be used: not between 0"),
            ({"m": {"input": "much"}}, "not a number"),
            ({"m": {"input": True}}, "not a number"),
            ({"m": {"input": None}}, "not a number"),
            ({"m": {"input": []}}, "not a number"),
            ({"m": {"input": 1e30}}, "not between 0"),
            ({"m": {"input": 0.1234567}}, "more than 6 decimal places"),
            ({"": {"input": 1}}, "a model's name"),
            ({"m" * 300: {"input": 1}}, "a model's name"),
            ({f"m{n}": {"input": 1} for n in range(1_001)}, "more than 1000 models"),
        ],
    )
    def test_a_table_that_cannot_be_used_is_refused(self, values: Any, reason: str) -> None:
        with pytest.raises(SettingError, match=reason):
            table(json.dumps(values))

    @pytest.mark.parametrize("text", ['{"m": {"input": NaN}}', '{"m": {"input": Infinity}}'])
    def test_what_is_no_number_is_refused(self, text: str) -> None:
        with pytest.raises(SettingError, match="not a number"):
            table(text)

    @pytest.mark.parametrize("text", ["", "usd", "EURO", "€", "US1"])
    def test_a_currency_is_three_capital_letters(self, text: str) -> None:
        with pytest.raises(SettingError, match="PRICE_CURRENCY"):
            currency(text)
        assert currency(" EUR ") == "EUR"

    def test_budgets_are_amounts_and_in_order(self) -> None:
        assert default_budget(soft="1.50", hard="2") == (Decimal("1.5"), Decimal(2))
        assert default_budget(soft="5", hard="0") == (Decimal(5), Decimal(0))
        with pytest.raises(SettingError, match="BUDGET_SOFT is above BUDGET_HARD"):
            default_budget(soft="3", hard="2")
        for text in ("", "-1", "nan", "ten", "0.0000001"):
            with pytest.raises(SettingError, match="BUDGET_HARD cannot be used"):
                default_budget(soft="0", hard=text)
        assert amount("12", name="X") == 12
