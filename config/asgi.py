"""The ASGI entry point that the web server loads."""

from __future__ import annotations

import os

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")

from django.conf import settings
from django.core.asgi import get_asgi_application

from config.body_limit import BodyLimit

application = BodyLimit(get_asgi_application(), settings.MOST_BODY_BYTES)

if settings.USE_POOL:
    # The web process as `up` starts it, which lives long and may not be the one that works on a purge.
    from memory.services.purge.caches import watch_closed_owners

    watch_closed_owners()
