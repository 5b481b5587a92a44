"""One turn of work on a projection: how much it did, whom it tells, and when it is over."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass

Tell = Callable[[str, int], None]


@dataclass(slots=True)
class Turn:
    """What a turn counts.

    Attributes:
        until: on the monotonic clock, when no further step is begun; infinite for a command.
        tell: called after each step with what was worked on and how many rows the turn has done.
        done: rows written or deleted in Neo4j.
    """

    until: float = float("inf")
    tell: Tell | None = None
    done: int = 0

    def count(self, rows: int, what: str = "changes") -> None:
        """Count rows, and tell of them."""
        self.done += rows
        if rows and self.tell is not None:
            self.tell(what, self.done)

    def over(self) -> bool:
        """Tell whether the turn is over."""
        return time.monotonic() >= self.until
