"""How a background job is run: under the id of the request it follows from, counted, and failing without values."""

from __future__ import annotations

import logging
import traceback
from collections.abc import Callable, Mapping
from pathlib import Path
from time import perf_counter
from typing import TypeVar

from django.conf import settings

from memory.ports.recorder import JobRan, job_ran
from memory.ports.request_id import accepted_request_id, request_id
from memory.ports.statement_limits import statements_limited
from memory.ports.tracing import span
from memory.services.gathering import write_gathered

logger = logging.getLogger(__name__)

T = TypeVar("T")


class JobError(Exception):
    """A job ended with an error; what was done before it stays done, and what is due is tried again."""


def run_job(name: str, job: Callable[[], T], *, follows: str = "") -> T:
    """Run a job, and tell the recorders how it went; let an error out as its class and place only.

    The queue stores the whole traceback of a failed task in a table, and messages can carry what somebody said.

    Args:
        name: what logs and counts call the job.
        job: does the work; a number or numbers by kind that it gives are the rows done.
        follows: the id of the request it follows from; a job that the clock starts gets an id of its own.

    Returns:
        What the job gives.

    Raises:
        JobError: the job failed.
    """
    limited = statements_limited(settings.DATABASE_JOB_STATEMENT_TIMEOUT)
    with request_id(accepted_request_id(follows)), span("job", job=name), limited:
        began, well = perf_counter(), False
        counts: dict[str, int] = {}
        try:
            done = job()
            well, counts = True, _counts(done)
            return done
        except Exception as error:
            place = traceback.extract_tb(error.__traceback__)[-1]
            failure = f"{type(error).__name__} in {Path(place.filename).name}, {place.name}, line {place.lineno}"
            logger.error("a job failed: %s", failure)
            raise JobError(failure) from None
        finally:
            job_ran(JobRan(name=name, seconds=perf_counter() - began, ok=well, counts=counts))
            write_gathered()


def _counts(done: object) -> dict[str, int]:
    if isinstance(done, Mapping):
        return {str(kind): count for kind, count in done.items() if isinstance(count, int)}
    return {"done": done} if isinstance(done, int) else {}
