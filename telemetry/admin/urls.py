"""The addresses of telemetry's pages in the admin, below `/admin/telemetry/`."""

from __future__ import annotations

from django.urls import URLPattern, path

from telemetry.admin import models, views

__all__ = ["app_name", "models", "urlpatterns"]

app_name = "telemetry-admin"
urlpatterns: list[URLPattern] = [
    path("coverage/", views.coverage, name="coverage"),
    path("coverage/front/", views.front, name="front"),
    path("coverage/requests/", views.requests, name="requests"),
]
