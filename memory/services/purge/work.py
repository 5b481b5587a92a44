"""What a purge's stages share: the purge, its lease, and when to make room for other work."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from memory.models import Purge
from memory.services.purge.lease import Lease


class TimeUp(Exception):
    """The time of this turn is over; the purge goes on in the next one."""


@dataclass(slots=True)
class Work:
    """One turn of work on a purge.

    Attributes:
        purge: the row, as this turn sees it.
        lease: keeps others away.
        moment: when the turn has begun.
        until: on the monotonic clock, when it ends.
        most: rows of one step, about.
        after_step: called after each step with its name.
        position: what later turns need; stands in the row.
    """

    purge: Purge
    lease: Lease
    moment: datetime
    until: float
    most: int
    after_step: Callable[[str], None] | None = None
    position: dict[str, Any] = field(default_factory=dict)

    def save(self, **changes: Any) -> None:
        """Change the purge's row, in the caller's transaction; raises LeaseLost."""
        self.lease.save(position=self.position, **changes)
        for name, value in changes.items():
            setattr(self.purge, name, value)

    def enter(self, stage: str) -> None:
        """Say which stage begins, outside transactions."""
        self.save(stage=stage)
        self._tell(stage)

    def stepped(self, step: str, *, progress: bool = True) -> None:
        """End a step: tell the observer, and raise TimeUp when the turn is over.

        Args:
            step: its name.
            progress: whether the next turn would not have to do this step again. A turn that has made none is not over,
                or the purge would never end where turns are short.
        """
        self._tell(step)
        if progress:
            self.rest()

    def rest(self) -> None:
        """Raise TimeUp when the turn is over; called when what was done is saved."""
        if time.monotonic() >= self.until:
            raise TimeUp

    def beat(self) -> None:
        """Say that the worker lives; raises LeaseLost."""
        self.lease.beat()

    def _tell(self, step: str) -> None:
        if self.after_step is not None:
            self.after_step(step)
