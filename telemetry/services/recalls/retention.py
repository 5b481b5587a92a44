"""How long observations of recalls stay: 30 days, and of each owner the newest 50,000."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Final

from django.db import connection

from memory.models import current_owner
from telemetry.models import RecallFeedback, RecallObservation

KEPT: Final = timedelta(days=30)
MOST_OF_ONE: Final = 50_000
"""Of how many recalls of an owner the newest stay, however young the others are."""
REMOVED_AT_ONCE: Final = 10_000
TABLE: Final = RecallObservation._meta.db_table
# Several processes may write for one owner; the last to do so leaves the newest.
OUTDATED: Final = f"""
    DELETE FROM {TABLE} WHERE owner_id = %(owner)s AND created_at <= (
        SELECT created_at FROM {TABLE} WHERE owner_id = %(owner)s
        ORDER BY created_at DESC OFFSET %(kept)s LIMIT 1
    )
"""


def remove_beyond_newest() -> None:
    """Remove the current owner's observations beyond the newest 50,000."""
    with connection.cursor() as cursor:
        cursor.execute(OUTDATED, {"owner": current_owner(), "kept": MOST_OF_ONE})


def remove_observations(moment: datetime) -> int:
    """Remove the current owner's observations and feedback that are older than 30 days, some thousands at once."""
    removed = 0
    for model in (RecallFeedback, RecallObservation):
        outdated = model.objects.filter(created_at__lte=moment - KEPT).order_by("created_at")
        oldest = list(outdated.values_list("pk", flat=True)[:REMOVED_AT_ONCE])
        removed += model.objects.filter(pk__in=oldest).delete()[0] if oldest else 0
    return removed
