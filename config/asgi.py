"""The ASGI entry point that the web server loads."""

from __future__ import annotations

import os

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")

from django.conf import settings
from django.core.asgi import get_asgi_application

from config.body_limit import BodyLimit

application = BodyLimit(get_asgi_application(), settings.MOST_BODY_BYTES)
