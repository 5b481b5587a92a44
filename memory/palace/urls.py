"""The palace's addresses."""

from __future__ import annotations

from django.urls import path

from memory.palace.views import account, archive, memory, privacy, purges, recall, recent, remember, theme

app_name = "palace"
urlpatterns = [
    path("", recall.page, name="recall"),
    path("suggest/", recall.suggest, name="suggest"),
    path("remember/", remember.page, name="remember"),
    path("recent/", recent.page, name="recent"),
    path("archive/", archive.page, name="archive"),
    path("memories/<uuid:memory_id>/", memory.page, name="memory"),
    path("memories/<uuid:memory_id>/edit/", memory.edit, name="edit"),
    path("memories/<uuid:memory_id>/reveal/", memory.reveal, name="reveal"),
    path("memories/<uuid:memory_id>/archive/", memory.archive, name="archive-memory"),
    path("memories/<uuid:memory_id>/restore/", memory.restore, name="restore-memory"),
    path("memories/<uuid:memory_id>/forget/", memory.forget, name="forget-memory"),
    path("privacy/", privacy.page, name="privacy"),
    path("privacy/access/", privacy.access, name="access-log"),
    path("privacy/outbound/", privacy.outbound, name="outbound"),
    path("privacy/snapshot/", privacy.snapshot, name="snapshot"),
    path("privacy/purge/", purges.ask, name="purge"),
    path("privacy/purges/<uuid:purge_id>/receipt.json", purges.own_receipt, name="own-receipt"),
    path("purges/<uuid:purge_id>/<str:token>/", purges.state, name="purge-state"),
    path("purges/<uuid:purge_id>/<str:token>/receipt.json", purges.receipt, name="purge-receipt"),
    path("theme/", theme.choose, name="theme"),
    path("login/", account.Login.as_view(), name="login"),
    path("logout/", account.Logout.as_view(), name="logout"),
]
