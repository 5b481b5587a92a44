"""The addresses of telemetry's pages, below `/telemetry/`."""

from __future__ import annotations

from django.urls import URLPattern, path

from telemetry.palace.views import front, test_mode

app_name = "telemetry"
urlpatterns: list[URLPattern] = [
    path("", front.page, name="index"),
    path("test-mode/", test_mode.page, name="test-mode"),
]
