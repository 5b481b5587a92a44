"""What each part of a recall may use: rows and time, in one table."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Final


@dataclass(frozen=True, slots=True)
class Budget:
    """The bounds of one part of a recall.

    Attributes:
        timeout_ms: most milliseconds of each of its statements.
        rows: most rows that an arm is asked for; 0 for a part that is given its rows.
    """

    timeout_ms: int
    rows: int = 0


# An arm's time-out is some thirty times what it was measured to take at 100,000 rows.
BUDGETS: Final[Mapping[str, Budget]] = {
    "dense": Budget(1_500, rows=1_000),
    "lexical": Budget(2_000, rows=2_000),
    # What happened at the time asked about need not be about what is asked.
    "time": Budget(1_500, rows=50),
    "graph": Budget(1_000, rows=200),
    "links": Budget(500),
    "neighbours": Budget(750),
    "late_interaction": Budget(750),
}
# Of any other part, and of the statements without which there is no answer.
OTHERS: Final = Budget(3_000)
# A part that would begin later is left out.
TOTAL_MS: Final = 5_000


def budget_of(part: str) -> Budget:
    """Give the budget of a part of a recall."""
    return BUDGETS.get(part, OTHERS)


@dataclass(slots=True)
class TotalBudget:
    """The time of a whole recall, which begins when this is made; `monotonic` gives seconds."""

    monotonic: Callable[[], float] = time.monotonic
    _begun: float = field(init=False)

    def __post_init__(self) -> None:
        """Begin to count."""
        self._begun = self.monotonic()

    def timeout_ms(self, part: str) -> int:
        """Give how long each statement of a part may take: its own time-out, or what is left if that is less.

        Returns:
            Milliseconds; 0 when nothing is left and the part must not begin.
        """
        left = TOTAL_MS - round((self.monotonic() - self._begun) * 1000)
        return max(0, min(budget_of(part).timeout_ms, left))
