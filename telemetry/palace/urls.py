"""The addresses of telemetry's pages, below `/telemetry/`."""

from __future__ import annotations

from django.urls import URLPattern, path

from telemetry.palace.views import costs, coverage, front, health, recall_quality, test_mode

app_name = "telemetry"
urlpatterns: list[URLPattern] = [
    path("", front.page, name="index"),
    path("coverage/", coverage.page, name="coverage"),
    path("coverage/requests/", coverage.requests, name="requests"),
    path("costs/", costs.page, name="costs"),
    path("costs/budget/", costs.save_budget, name="save-budget"),
    path("costs/budget/remove/", costs.drop_budget, name="remove-budget"),
    path("health/", health.page, name="health"),
    path("test-mode/", test_mode.page, name="test-mode"),
    path("recall/", recall_quality.page, name="recall"),
    path("recall/<uuid:recall_id>/explain/", recall_quality.explain, name="explain-recall"),
    path("recall/experiments/", recall_quality.start, name="start-experiment"),
    path("recall/experiments/<uuid:experiment_id>/end/", recall_quality.end, name="end-experiment"),
    path("recall/tuner/", recall_quality.switch_tuner, name="switch-tuner"),
    path("recall/tuner/changes/<uuid:change_id>/undo/", recall_quality.undo, name="undo-tuner"),
    path("recalls/<uuid:recall_id>/hits/<uuid:memory_id>/", recall_quality.feedback, name="feedback"),
]
