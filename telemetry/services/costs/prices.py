"""What a call costs by the price table of the installation."""

from __future__ import annotations

from decimal import Decimal
from typing import Final

from django.conf import settings

from config.settings.prices import Price
from memory.ports.recorder import ModelCalled

NOTHING: Final = Decimal(0)


def price_of(provider: str, model: str) -> Price | None:
    """Give the price of a model; None where it has none. `provider/model` comes before `model`."""
    prices: dict[str, Price] = settings.MODEL_PRICES
    return prices.get(f"{provider}/{model}") or prices.get(model)


def costs_something(provider: str, model: str) -> bool:
    """Tell whether calls of a model are known to cost something."""
    price = price_of(provider, model)
    return price is not None and not price.free


def cost_of(call: ModelCalled) -> Decimal | None:
    """Give what a call cost; None for a model elsewhere that has no price.

    A call that failed costs the tokens that the server has counted all the same, and not what each call costs. A model
    on this machine costs nothing, unless it has a price: a gateway here may lead to one elsewhere.
    """
    price = price_of(call.provider, call.model)
    if price is None:
        return NOTHING if call.local else None
    cost = price.of(input_tokens=call.input_tokens, output_tokens=call.output_tokens)
    return cost if call.ok else cost - price.call


def shown(value: Decimal) -> str:
    """Write an amount without losing a digit, and without zeros at its end."""
    return format(value.normalize(), "f") if value else "0"
