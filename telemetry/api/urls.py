"""The addresses of telemetry, below `/api/v1/`."""

from __future__ import annotations

from django.urls import URLPattern, path

from telemetry.api.views import costs, coverage, events, experiments, feedback, recall_quality, score_card

app_name = "telemetry-api"
urlpatterns: list[URLPattern] = [
    path("telemetry/usage", costs.UsageView.as_view(), name="usage"),
    path("telemetry/budgets", costs.BudgetsView.as_view(), name="budgets"),
    path("telemetry/budgets/<str:period>", costs.BudgetView.as_view(), name="budget"),
    path("telemetry/budgets/<str:period>/agents/<str:agent_id>", costs.AgentBudgetView.as_view(), name="agent-budget"),
    path("telemetry/score-card", score_card.ScoreCardView.as_view(), name="score-card"),
    path("telemetry/pipeline-coverage", coverage.CoverageView.as_view(), name="pipeline-coverage"),
    path(
        "telemetry/pipeline-coverage/clusters/<str:cluster_key>", coverage.ClusterView.as_view(), name="cluster-events"
    ),
    path("telemetry/pipeline-coverage/events", events.EventsView.as_view(), name="turn-events"),
    path("telemetry/pipeline-coverage/test-mode", events.TestModeView.as_view(), name="test-mode"),
    path("recalls/<str:recall_id>/feedback", feedback.FeedbackView.as_view(), name="feedback"),
    path("telemetry/recall", recall_quality.RecallQualityView.as_view(), name="recall-quality"),
    path("telemetry/recall/slow", recall_quality.SlowRecallsView.as_view(), name="slow-recalls"),
    path("telemetry/recall/<str:recall_id>/explain", recall_quality.ExplainRecallView.as_view(), name="explain-recall"),
    path("telemetry/experiments", experiments.ExperimentsView.as_view(), name="experiments"),
    path("telemetry/experiments/<str:experiment_id>", experiments.ExperimentView.as_view(), name="experiment"),
    path(
        "telemetry/experiments/<str:experiment_id>/end", experiments.EndExperimentView.as_view(), name="end-experiment"
    ),
    path("telemetry/tuner/changes", recall_quality.TunerChangesView.as_view(), name="tuner-changes"),
    path(
        "telemetry/tuner/changes/<str:change_id>/undo",
        recall_quality.UndoTunerChangeView.as_view(),
        name="undo-tuner-change",
    ),
]
