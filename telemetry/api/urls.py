"""The addresses of telemetry, below `/api/v1/`."""

from __future__ import annotations

from django.urls import URLPattern, path

from telemetry.api.views import score_card

app_name = "telemetry-api"
urlpatterns: list[URLPattern] = [
    path("telemetry/score-card", score_card.ScoreCardView.as_view(), name="score-card"),
]
