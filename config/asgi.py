"""The ASGI entry point that the web server loads."""

from __future__ import annotations

import os

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")

from channels.routing import ProtocolTypeRouter
from django.conf import settings
from django.core.asgi import get_asgi_application
from django.urls import get_resolver


def _end() -> None:
    from django.db import connections

    from memory.services.gathering import write_gathered

    try:
        write_gathered()
    finally:
        connections.close_all()


def _application() -> ProtocolTypeRouter:
    pages = get_asgi_application()
    # Seconds of importing, for which the first who comes would wait.
    _ = get_resolver().url_patterns
    # Only now, since they need the apps.
    from config.body_limit import BodyLimit
    from config.lifespan import Lifespan
    from memory.live.doors import LiveDoor

    return ProtocolTypeRouter(
        {
            "http": BodyLimit(pages, settings.MOST_BODY_BYTES),
            "websocket": LiveDoor(),
            "lifespan": Lifespan(at_end=_end),
        }
    )


application = _application()

if settings.USE_POOL:
    # The web process as `up` starts it, which lives long and may not be the one that works on a purge.
    from memory.services.purge.caches import watch_closed_owners

    watch_closed_owners()
