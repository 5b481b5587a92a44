"""The addresses of the interface, below `/api/v1/`."""

from __future__ import annotations

from django.urls import path, re_path

from memory.api.views import agents, choices, documentation, memories, memory, recall, system, transfer, turns

app_name = "api"
urlpatterns = [
    path("memories", memories.MemoriesView.as_view(), name="memories"),
    path("memories/batch", memories.BatchView.as_view(), name="batch"),
    path("memories/<str:memory_id>", memory.MemoryView.as_view(), name="memory"),
    path("memories/<str:memory_id>/archive", memory.ArchiveView.as_view(), name="archive"),
    path("memories/<str:memory_id>/restore", memory.RestoreView.as_view(), name="restore"),
    path("memories/<str:memory_id>/history", memory.HistoryView.as_view(), name="history"),
    path("memories/<str:memory_id>/sources", memory.SourcesView.as_view(), name="sources"),
    path("turns", turns.TurnsView.as_view(), name="turns"),
    path("sessions", turns.SessionsView.as_view(), name="sessions"),
    path("sessions/<str:session_id>", turns.SessionView.as_view(), name="session"),
    path("sessions/<str:session_id>/close", turns.CloseSessionView.as_view(), name="close-session"),
    path("recall", recall.RecallView.as_view(), name="recall"),
    path("recalls/<str:recall_id>", recall.ExplanationView.as_view(), name="explanation"),
    path("context", recall.ContextView.as_view(), name="context"),
    path("settings", choices.SettingsView.as_view(), name="settings"),
    path("profiles", choices.ProfilesView.as_view(), name="profiles"),
    path("profiles/<str:name>", choices.ProfileView.as_view(), name="profile"),
    path("stats", system.StatsView.as_view(), name="stats"),
    path("export", transfer.ExportView.as_view(), name="export"),
    path("import", transfer.ImportView.as_view(), name="import"),
    path("health", system.HealthView.as_view(), name="health"),
    path("agents", agents.AgentsView.as_view(), name="agents"),
    path("agents/<str:agent_id>/pause", agents.PauseView.as_view(), name="pause-agent"),
    path("agents/<str:agent_id>/resume", agents.ResumeView.as_view(), name="resume-agent"),
    path("agents/<str:agent_id>/keys", agents.KeysView.as_view(), name="keys"),
    path("keys/<str:key_id>", agents.KeyView.as_view(), name="key"),
    path("groups", agents.GroupsView.as_view(), name="groups"),
    path("groups/<str:group_id>/members/<str:agent_id>", agents.MembershipView.as_view(), name="membership"),
    path("schema", documentation.SchemaView.as_view(), name="schema"),
    path("docs", documentation.DocsView.as_view(), name="docs"),
    re_path("", system.UnknownAddressView.as_view(), name="unknown"),
]
