"""What models cost: the price table, the currency and the default budget, read exactly."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation
from typing import Any, Final

from config.settings.env import SettingError

PARTS: Final = ("input", "output", "call")
MOST_MODELS: Final = 1_000
# A model's name with its provider's before it; what is longer can be no call's.
LONGEST_NAME: Final = 233
HIGHEST: Final = Decimal(1_000_000_000)
PLACES: Final = 6
CURRENCY: Final = re.compile(r"[A-Z]{3}")


@dataclass(frozen=True, slots=True)
class Price:
    """What a model costs: `input` and `output` per million tokens, `call` for each call."""

    input: Decimal = Decimal(0)
    output: Decimal = Decimal(0)
    call: Decimal = Decimal(0)

    def of(self, *, input_tokens: int, output_tokens: int) -> Decimal:
        """Give the exact price of a call with so many tokens."""
        return (self.input * input_tokens + self.output * output_tokens) / 1_000_000 + self.call

    @property
    def free(self) -> bool:
        """Tell whether calls cost nothing."""
        return not (self.input or self.output or self.call)


def model_prices(values: Mapping[str, Any], *, name: str = "MODEL_PRICES") -> dict[str, Price]:
    """Read a price table.

    Args:
        values: prices by model, or by `provider/model`.
        name: of the setting, for messages.

    Raises:
        SettingError: too many models, or one whose prices cannot be read; it says which.
    """
    if len(values) > MOST_MODELS:
        raise SettingError(f"{name} cannot be used: more than {MOST_MODELS} models.")
    return {model.strip(): _price(model, prices, name) for model, prices in values.items()}


def amount(text: str, *, name: str) -> Decimal:
    """Read an amount of money.

    Raises:
        SettingError: not a number from 0 to a milliard with at most six decimal places.
    """
    return _number(text, name)


def default_budget(*, soft: str, hard: str) -> tuple[Decimal, Decimal]:
    """Read the default budget of a month.

    Raises:
        SettingError: one of the two cannot be read, or the soft one is above the hard one.
    """
    least, most = amount(soft, name="BUDGET_SOFT"), amount(hard, name="BUDGET_HARD")
    if least and most and least > most:
        raise SettingError("BUDGET_SOFT is above BUDGET_HARD. Lower it, or set one of them to 0.")
    return least, most


def currency(text: str) -> str:
    """Read the code of a currency; raises SettingError for anything but three capital letters."""
    if not CURRENCY.fullmatch(text.strip()):
        raise SettingError("PRICE_CURRENCY cannot be used: not three capital letters, as USD or EUR.")
    return text.strip()


def _price(model: str, prices: Any, name: str) -> Price:
    if not model.strip() or len(model) > LONGEST_NAME:
        raise SettingError(f"{name} cannot be used: a model's name has 1 to {LONGEST_NAME} characters.")
    where = f"{name}[{model[:80]!r}]"
    if not isinstance(prices, Mapping) or not prices:
        raise SettingError(f"{where} cannot be used: not an object with input, output or call.")
    unknown = sorted(set(prices) - set(PARTS))
    if unknown:
        raise SettingError(f"{where} cannot be used: {unknown[0][:40]!r} is none of {', '.join(PARTS)}.")
    return Price(**{part: _number(value, f"{where}[{part!r}]") for part, value in prices.items()})


def _number(value: Any, name: str) -> Decimal:
    """Read a number exactly as it was written; a float of JSON is written with the digits that it came with."""
    written = value.strip() if isinstance(value, str) else repr(value)
    try:
        found = Decimal(written)
    except InvalidOperation:
        raise SettingError(f"{name} cannot be used: not a number.") from None
    if isinstance(value, bool) or not found.is_finite():
        raise SettingError(f"{name} cannot be used: not a number.")
    if not 0 <= found <= HIGHEST:
        raise SettingError(f"{name} cannot be used: not between 0 and {HIGHEST}.")
    if found != round(found, PLACES):
        raise SettingError(f"{name} cannot be used: more than {PLACES} decimal places.")
    return round(found, PLACES)
