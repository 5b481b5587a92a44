"""What is added up of calls of models; columns, lines and answers are named after it."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, fields, replace
from decimal import Decimal
from functools import reduce
from typing import Final, Self

from telemetry.services.costs.prices import NOTHING


@dataclass(frozen=True, slots=True)
class Sums:
    """Calls of models, added up.

    Attributes:
        calls: how many.
        failures: of them, those without a usable answer.
        input_tokens, output_tokens: read and written.
        duration_us: how long they took together, in microseconds.
        cost: of those that have a price, in one currency.
        unpriced_calls: those of models elsewhere without a price.
        estimated_calls: those whose tokens nobody has counted.
    """

    calls: int = 0
    failures: int = 0
    input_tokens: int = 0
    output_tokens: int = 0
    duration_us: int = 0
    cost: Decimal = NOTHING
    unpriced_calls: int = 0
    estimated_calls: int = 0

    @property
    def seconds(self) -> float:
        """Give how long the calls took together."""
        return self.duration_us / 1_000_000

    def plus(self, other: Sums) -> Self:
        """Add others, and keep what these are of."""
        return replace(self, **{name: getattr(self, name) + getattr(other, name) for name in NAMES})


NAMES: Final = tuple(field.name for field in fields(Sums))


def together(sums: Iterable[Sums]) -> Sums:
    """Add all up."""
    return reduce(Sums.plus, sums, Sums())
