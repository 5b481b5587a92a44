"""The addresses of telemetry's pages in the admin, below `/admin/telemetry/`."""

from __future__ import annotations

from django.urls import URLPattern, path

from telemetry.admin import views

app_name = "telemetry-admin"
urlpatterns: list[URLPattern] = [
    path("coverage/", views.coverage, name="coverage"),
    path("coverage/requests/", views.requests, name="requests"),
]
