"""The addresses of the admin's own pages, below `/admin/`."""

from __future__ import annotations

from django.urls import URLPattern, path

from memory.admin import models
from memory.admin.views import installation, logins, operations, owners, review, spaces

__all__ = ["app_name", "models", "urlpatterns"]

app_name = "loci-admin"
urlpatterns: list[URLPattern] = [
    path("owners/", owners.owners, name="owners"),
    path("owners/own/", owners.own, name="own"),
    path("storage/", owners.storage, name="storage"),
    path("storage/largest/", owners.largest, name="largest"),
    path("logins/", logins.logins, name="logins"),
    path("spaces/", spaces.spaces, name="spaces"),
    path("spaces/<int:space_id>/", spaces.space, name="space"),
    *review.review_addresses,
    path("consolidation/", operations.consolidation, name="consolidation"),
    path("keys/", operations.keys, name="keys"),
    path("purge/", operations.purge, name="purge"),
    path("jobs/", installation.jobs, name="jobs"),
    path("settings/", installation.settings, name="settings"),
]
