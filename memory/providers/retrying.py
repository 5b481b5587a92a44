"""When a request to a provider is tried again, and after which pause."""

from __future__ import annotations

import email.utils
import random
from datetime import UTC, datetime
from typing import Final

MOST_RETRIES: Final = 2
FIRST_PAUSE_SECONDS: Final = 0.2
LONGEST_RETRY_AFTER_SECONDS: Final = 10.0


def pause_before(attempt: int, asked: float | None) -> float:
    """Give the seconds before the next attempt, with jitter, so that many that failed together do not come together.

    Args:
        attempt: how many were made before the one that failed, from 0.
        asked: the seconds that the server asked to wait; they are kept, and a little is added. Without them the
            pause is 0.1 to 0.2 seconds at first and doubles.
    """
    spread = random.uniform(0.5, 1.0)  # noqa: S311 - spreads load, protects nothing
    if asked is not None:
        return asked + spread * FIRST_PAUSE_SECONDS
    return FIRST_PAUSE_SECONDS * 2.0**attempt * spread


def asked_wait(header: str | None) -> float | None:
    """Read Retry-After, seconds or a date (RFC 9110, 10.2.3), capped at 10 seconds; None when absent or unreadable."""
    if header is None:
        return None
    text = header.strip()
    if text.isascii() and text.isdigit():
        seconds = float(text[:9])
    else:
        try:
            seconds = (email.utils.parsedate_to_datetime(text) - datetime.now(UTC)).total_seconds()
        except (ValueError, TypeError):
            return None
    return min(max(seconds, 0.0), LONGEST_RETRY_AFTER_SECONDS)
