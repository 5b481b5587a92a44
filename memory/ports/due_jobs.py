"""Kinds of background work that apps add to those of the memory; the workers run them owner by owner."""

from __future__ import annotations

from datetime import datetime
from typing import Final, Protocol
from uuid import UUID

Done = tuple[int, datetime | None]
"""How many rows a job did, and when there is more to do for the owner."""


class Job(Protocol):
    """Does an owner's waiting work of one kind, outside of transactions; repeating it has no further effect."""

    def __call__(self, *, owner_id: UUID, at: datetime) -> Done:
        """Do the work.

        Args:
            owner_id: whose.
            at: the moment that counts as now.

        Raises:
            LociError: it failed, and is tried again after some minutes.
        """


added: Final[dict[str, Job]] = {}


def add_job(kind: str, job: Job) -> None:
    """Have the workers run another kind of work; for `AppConfig.ready`, so `job` imports late what it needs.

    Args:
        kind: its name, as `call_for_work` notes it, at most 32 characters; it is also the component on whose behalf
            models are asked.
        job: does the work.
    """
    added[kind] = job
