"""The addresses of telemetry, below `/api/v1/`."""

from __future__ import annotations

from django.urls import URLPattern

app_name = "telemetry-api"
urlpatterns: list[URLPattern] = []
