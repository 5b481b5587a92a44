"""How long counts of model calls are kept."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Final

from telemetry.models import ModelUsage

KEPT: Final = timedelta(days=400)
"""A year, and a month to compare it with."""


def remove_usage(at: datetime) -> int:
    """Remove the current owner's counts that are older than 400 days, and give how many rows."""
    return int(ModelUsage.objects.filter(hour__lt=at - KEPT).delete()[0])
