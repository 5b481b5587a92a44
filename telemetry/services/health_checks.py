"""What telemetry hangs into the health of the installation."""

from __future__ import annotations

from typing import Final

from django.conf import settings

from memory.services.findings import Finding
from telemetry.services.turns.buffer import MOST_WAITING
from telemetry.services.turns.recording import recording_counts

NAME: Final = "turn events"
MANY: Final = MOST_WAITING // 2


def writer_finding() -> Finding:
    """Tell how many turn events of this process wait to be written, and whether any were lost since it began."""
    if not settings.TELEMETRY_ENABLED:
        return Finding(NAME, "ok", "Telemetry is switched off by choice.")
    counts = recording_counts()
    waiting = f"{counts.waiting} turn {'event waits' if counts.waiting == 1 else 'events wait'} to be written"
    if counts.stalled:
        return Finding(NAME, "degraded", f"{waiting}; the last attempt failed.", "See the log lines and the database.")
    if counts.waiting > MANY:
        return Finding(NAME, "degraded", f"{waiting}, more than usual.", "Let agents send several in one request.")
    if counts.lost:
        detail = f"{counts.lost} turn events were lost since this process began, for want of room."
        return Finding(NAME, "degraded", detail, "See the log lines; a restart begins to count anew.")
    return Finding(NAME, "ok", f"{waiting}." if counts.waiting else "No turn event waits to be written.")
