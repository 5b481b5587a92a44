"""The addresses of telemetry's pages, below `/telemetry/`."""

from __future__ import annotations

from django.urls import URLPattern

app_name = "telemetry"
urlpatterns: list[URLPattern] = []
