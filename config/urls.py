"""The routes of the whole server."""

from __future__ import annotations

from django.urls import URLPattern, URLResolver, include, path

urlpatterns: list[URLPattern | URLResolver] = [
    path("api/v1/", include("memory.api.urls")),
    path("", include("memory.palace.urls")),
]
