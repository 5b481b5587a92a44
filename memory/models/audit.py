"""The record of what was done to an owner's memories, without content; rows are added and never changed."""

from __future__ import annotations

from django.db import models

from memory.models.tenancy import TenantModel


class AuditEvent(TenantModel):
    """Who did what to which row, and why. A trigger refuses updates and deletes by the application role."""

    actor = models.CharField(max_length=64)
    verb = models.CharField(max_length=32)
    object_kind = models.CharField(max_length=32)
    object_id = models.UUIDField(null=True)
    reason = models.CharField(max_length=64, blank=True, default="")
    count = models.PositiveIntegerField(default=1)
    created_at = models.DateTimeField()

    class Meta:
        indexes = [
            models.Index(fields=["owner", "-created_at"], name="audit_by_time"),
            models.Index(fields=["owner", "object_id"], name="audit_by_object"),
        ]
