"""What workers run: thin entries into services. The queue keeps what they return and how they failed."""

from __future__ import annotations

import logging
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

from django.core.management import call_command

from memory.services import due_work, missing_tokens, retention
from memory.services.audit import sealing
from memory.services.consolidation import due as due_runs
from memory.services.consolidation import triggers
from memory.services.gathering import write_gathered
from memory.services.keys import rotation
from memory.services.purge import runner as purges
from memory.services.purge.caches import forget_closed_owners

logger = logging.getLogger(__name__)

T = TypeVar("T")


class JobError(Exception):
    """A job ended with an error; what was done before it stays done, and what is due is tried again."""


def run_due_work() -> dict[str, int]:
    """Do all work that is due now; gives the number of rows done by kind of work."""
    return _without_values(due_work.run_due_work)


def consolidate_due() -> dict[str, int]:
    """Run consolidation for whom it is due; gives the number of runs."""
    return _without_values(due_runs.consolidate_due)


def call_for_consolidation() -> int:
    """Let a worker look at owners of whom nothing is noted; gives their number."""
    return _without_values(triggers.call_for_consolidation)


def remove_outdated() -> dict[str, int]:
    """Remove what is kept for a while only; gives the number of rows removed by kind."""
    return _without_values(retention.remove_outdated)


def seal_audit() -> dict[str, int]:
    """Put what was recorded under seals; gives the number of owners, seals and events."""
    return _without_values(sealing.seal_all)


def run_purges() -> int:
    """Work on purges that wait; gives how many came to their end."""

    def run() -> int:
        # This process may have worked for an owner whom another one is purging.
        forget_closed_owners()
        return purges.run_due()

    return _without_values(run)


def call_for_missing_tokens() -> int:
    """Call for work where token vectors are missing; gives the number of owners."""
    return _without_values(missing_tokens.call_for_missing_tokens)


def call_for_rotation() -> int:
    """Call for work where a text key is to be rotated; gives the number of owners."""
    return _without_values(rotation.call_for_rotation)


def clear_sessions() -> None:
    """Remove the logins of browsers that have expired."""
    _without_values(lambda: call_command("clearsessions"))


def _without_values(job: Callable[[], T]) -> T:
    """Run a job; let an error out as its class and place only.

    The queue stores the whole traceback of a failed task in a table, and messages can carry what somebody said.
    """
    try:
        return job()
    except Exception as error:
        place = traceback.extract_tb(error.__traceback__)[-1]
        failure = f"{type(error).__name__} in {Path(place.filename).name}, {place.name}, line {place.lineno}"
        logger.error("a job failed: %s", failure)
        raise JobError(failure) from None
    finally:
        write_gathered()
