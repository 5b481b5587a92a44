"""A bound on how long one call may compute, looked at between its batches."""

from __future__ import annotations

import time

from memory.errors import RerankerUnavailable
from memory.providers.misconfigured import ProviderMisconfigured


class Deadline:
    """Begins when it is made."""

    def __init__(self, seconds: float) -> None:
        """Take the seconds from now on, above 0."""
        self._ends = time.monotonic() + seconds

    def check(self) -> None:
        """Raise RerankerUnavailable when the time is over."""
        if time.monotonic() >= self._ends:
            raise RerankerUnavailable("The reranker did not finish in time. Raise RERANKER_TIMEOUT or rerank fewer.")


def checked_seconds(seconds: float) -> float:
    """Give the seconds back; raises ProviderMisconfigured when they are not above 0."""
    if seconds <= 0:
        raise ProviderMisconfigured("RERANKER_TIMEOUT must be above zero.")
    return seconds
