"""Where notices are heard: a connection straight to the database server, since a pooler may not pass them on."""

from __future__ import annotations

from typing import Any, Final

from django.conf import settings

from memory.services.direct_connections import driver_parameters

CONNECT_SECONDS: Final = 10
# Half a minute of silence, then three questions: a server that vanished without a word is noticed.
KEEPALIVES: Final = {"keepalives_idle": 30, "keepalives_interval": 10, "keepalives_count": 3}


def listening_parameters() -> dict[str, Any]:
    """Give the driver's parameters: those of LIVE_DATABASE_URL, else those of the application's own connection."""
    return {
        "connect_timeout": CONNECT_SECONDS,
        "application_name": "loci live",
        **KEEPALIVES,
        **driver_parameters(settings.LIVE_DATABASE or None),
        "autocommit": True,
    }
