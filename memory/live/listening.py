"""Where notices are heard: a connection straight to the database server, since a pooler may not pass them on."""

from __future__ import annotations

from typing import Any, Final

from django.conf import settings
from django.db import DEFAULT_DB_ALIAS, connections

CONNECT_SECONDS: Final = 10
# Half a minute of silence, then three questions: a server that vanished without a word is noticed.
KEEPALIVES: Final = {"keepalives_idle": 30, "keepalives_interval": 10, "keepalives_count": 3}
# Options of Django's connections that the driver itself does not know.
_DJANGO_ONLY: Final = frozenset({"pool", "isolation_level", "server_side_binding", "assume_role"})


def listening_parameters() -> dict[str, Any]:
    """Give the driver's parameters: those of LIVE_DATABASE_URL, else those of the application's own connection."""
    found = settings.LIVE_DATABASE or connections[DEFAULT_DB_ALIAS].settings_dict
    options = {name: value for name, value in found.get("OPTIONS", {}).items() if name not in _DJANGO_ONLY}
    named = {
        "dbname": found["NAME"],
        "user": found["USER"],
        "password": found["PASSWORD"],
        "host": found["HOST"],
        "port": found["PORT"],
    }
    return {
        "connect_timeout": CONNECT_SECONDS,
        "application_name": "loci live",
        **KEEPALIVES,
        **options,
        **{name: value for name, value in named.items() if value},
        "autocommit": True,
    }
