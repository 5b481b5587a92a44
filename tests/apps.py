"""The routes and models of all our apps, for tests that walk them."""

from __future__ import annotations

from django.apps import apps
from django.db import models
from django.urls import URLPattern

import memory.api.urls
import memory.palace.urls
import telemetry.api.urls
import telemetry.palace.urls

API: list[URLPattern] = [*telemetry.api.urls.urlpatterns, *memory.api.urls.urlpatterns]
PALACE: list[URLPattern] = memory.palace.urls.urlpatterns
TELEMETRY: list[URLPattern] = telemetry.palace.urls.urlpatterns
APPS = ("memory", "telemetry")


def ours() -> list[type[models.Model]]:
    """List the models of our apps."""
    return [model for name in APPS for model in apps.get_app_config(name).get_models()]
